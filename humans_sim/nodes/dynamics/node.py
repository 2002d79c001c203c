# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics``: simulates a model, and is the clock of its graph.

Takes ``joint_torques`` (sensor_msgs/JointState, ``effort``) or, with servos,
``joint_commands`` (``position``). Gives ``/clock``, ``joint_states``, ``imu``,
``ground_contacts``, ``events``, ``<sole>/wrench``, ``ground_truth/odom``, ``/tf`` from
world to base_link, and ``/diagnostics``; with a ``scene``, its bodies as frames of
``/tf`` and as markers on ``scene``; on a ground that gives way ``ground/heights``,
``ground/picture`` and ``ground/depth``; with ``record``, a run file. Services:
``reset``, ``pause``, ``step``, ``push``.

With ``sync: lockstep`` the state at t_k is published and nothing moves until the
command stamped t_k has come, or is overdue; with ``sync: free`` the simulation runs on
the wall clock with the newest command. All callbacks run in one thread, and each
integrates one sampling period at most.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from humans_msgs.msg import SimulationEvent
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.joint_dissipation import dissipation_text
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_record import scene_record
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.soles import Soles
from humans_sim.dynamics.stepper import Stepper
from humans_sim.nodes.common.conversions import joint_values, nanoseconds_of
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.refusals import warn_refused
from humans_sim.nodes.common.run_diagnostics import RunDiagnostics
from humans_sim.nodes.dynamics.ground_topics import GroundTopics
from humans_sim.nodes.dynamics.own_services import OwnServices
from humans_sim.nodes.dynamics.pushes import WaitingPushes
from humans_sim.nodes.dynamics.recording import Recording
from humans_sim.nodes.dynamics.scene_topics import SceneTopics
from humans_sim.nodes.dynamics.settings import DynamicsSettings
from humans_sim.nodes.dynamics.standard_services import make_standard_services
from humans_sim.nodes.dynamics.topics import DEPTH, DynamicsTopics, State
from humans_sim.results.events import FAILURE, RESET, Event
from humans_sim.soft.ground.deformable_ground import DeformableGround

_COMMANDS = {False: ("joint_torques", "effort"), True: ("joint_commands", "position")}
"""Topic of the commands and field of the message, without servos and with them."""
_BEAT = 1.0
"""Wall time between diagnostics [s]."""
_CATCH_UP = 0.1
"""Wall time that the simulation may be late and still catch up [s]."""
_FAILED = "the run has failed, reset it"
StepsTold = Callable[[int, str], None]
"""Called after each step with those that are left; at the end with what went wrong."""


class Dynamics(ModelNode):
    """Integrates a model from sampling time to sampling time."""

    def __init__(self, name: str = "dynamics", **options: Any) -> None:
        """Declare everything, and begin at the start posture."""
        super().__init__(name, **options)
        parameters = Parameters(self)
        self._settings = DynamicsSettings.declare(parameters, self.model)
        self._pace = self._settings.pace(
            parameters.changeable_number(
                "real_time_factor",
                1.0,
                "largest speed, simulated over wall time; 0: as fast as it can",
                self._on_factor,
                low=0.0,
            )
        )
        self._period, self._lockstep = self._settings.period, self._settings.lockstep
        self._paused = self._settings.paused
        self._told: StepsTold | None = None
        scene = self._settings.scene
        self._pushes = WaitingPushes(self.model, self._settings.world)
        if scene is not None:
            self._pushes.set_bodies([body.name for body in scene.bodies])
        self._recording = Recording(
            self._settings.record, self._settings.record_samples, self.get_logger()
        )
        # First a trial: it may have to compile, and services should answer at once.
        start = self._settings.start(self.model)
        self._settings.begin(self.model, *start)[1].advance(self._period)
        self._begin(*start)
        used = dissipation_text(scene_record(self._run.system))
        if used:
            self.get_logger().info(used)
        self._make_topics()
        self._diagnostics = RunDiagnostics(self, self.model.name, self._period)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(1.0, self._go, clock=steady, autostart=False)
        self.create_timer(_BEAT, self._beat, clock=steady)
        # Time runs from the first callback on: other nodes may take long to make.
        self._starter = self.create_timer(0.0, self._start, clock=steady)

    def _make_topics(self) -> None:
        topic, self._field = _COMMANDS[self._settings.servos]
        self.create_subscription(JointState, topic, self._on_command, DEPTH)
        settings = self._settings
        self._topics = DynamicsTopics(
            self, settings.world, settings.tf, settings.sensors
        )
        self._scene_topics: SceneTopics | None = None
        if settings.shows_scene:
            self._scene_topics = self._make_scene_topics()
        self._ground_topics: GroundTopics | None = None
        surface = settings.ground.surface
        if isinstance(surface, DeformableGround):
            self._ground_topics = GroundTopics(
                self, settings.world, surface, settings.ground_period
            )
        OwnServices(self, self._pushes)
        make_standard_services(self)

    def _make_scene_topics(self) -> SceneTopics:
        settings = self._settings
        bodies = () if settings.scene is None else settings.scene.bodies
        world, ground = settings.world, settings.ground
        return SceneTopics(self, world, settings.tf, bodies, ground)

    # -- the run ---------------------------------------------------------------------

    def _begin(self, q: np.ndarray, v: np.ndarray) -> None:
        """Begin a run at time zero; the old one is kept where that fails."""
        self._take(*self._settings.begin(self.model, q, v))
        self._k, self._failure = 0, ""
        self._pushes.clear()
        self._record()
        joints = self._run.q[7 : self.model.nq].copy()
        self._last = joints if self._settings.servos else np.zeros_like(joints)
        self._newest, self._heard = 0, False
        self._end_steps("the simulation was reset")
        self._wait_anew()

    def _take(self, simulation: Simulation, run: Stepper) -> None:
        """Go on with a run."""
        assert isinstance(simulation.system, ModelSystem | SceneSystem)
        soles = Soles(simulation.system)
        sensors = self._settings.sensors
        sensors.start(simulation.system)
        self._recording.begin(simulation)
        self._state = State.of(run, soles, sensors)
        self._run, self._soles, self._system = run, soles, simulation.system
        self._command: np.ndarray | None = None

    def _start(self) -> None:
        self._starter.cancel()
        self._wait_anew()
        self._publish_run()
        self._go()

    @property
    def stamp(self) -> int:
        """Simulation time of the published state [ns]."""
        return round(self._k * self._period * 1e9)

    @property
    def _runs(self) -> bool:
        return not self._failure and (not self._paused or self._steps > 0)

    def _wait_anew(self) -> None:
        self._due = time.monotonic()
        self._deadline = self._due + self._settings.timeout

    def _wait(self) -> float:
        """Wall time until the next period is due [s]."""
        now = time.monotonic()
        wait = 0.0 if self._steps else self._due - now
        if self._lockstep and self._command is None:
            wait = max(wait, self._deadline - now)
        return wait

    def _go(self) -> None:
        """Integrate one period if it is due, and look again when the next one is."""
        self._timer.cancel()
        if self._runs and self._wait() <= 0.0:
            self._integrate()
        if self._runs and (wait := self._wait()) < math.inf:
            self._timer.timer_period_ns = max(1, int(wait * 1e9))
            self._timer.reset()

    def _integrate(self) -> None:
        if self._lockstep and self._command is None:
            self._hold()
        try:
            if self._command is not None:
                self._run.command(self._command)
            self._pushes.advance(self._run, (self._k + 1) * self._period)
            self._state = State.of(self._run, self._soles, self._settings.sensors)
        except Exception as error:  # the node lives on for a reset, whatever it is
            self._fail(error)
            return
        self._command = None
        self._k += 1
        self._diagnostics.periods += 1
        self._record()
        self._publish_run()
        now = time.monotonic()
        self._due = max(self._due + self._pace, now - _CATCH_UP)
        self._deadline = now + self._settings.timeout
        if self._steps:
            self._steps -= 1
            if not self._steps:
                self._end_steps("")
            elif self._told is not None:
                self._told(self._steps, "")

    def _hold(self) -> None:
        self._diagnostics.held += 1
        text = f"no command came in {self._settings.timeout:g} s, the last one is held"
        event = Event(self._run.t, SimulationEvent.TIMEOUT, "", {"text": text})
        self._topics.publish_events([event])

    def _fail(self, error: Exception) -> None:
        self._failure = f"at {self._run.t:.9g} s: {error}"
        self._run.events.append(Event(self._run.t, FAILURE, "", {"text": str(error)}))
        self._record()
        self._publish_events()
        self.get_logger().error(f"the run failed {self._failure}")
        self._end_steps(self._failure)
        self._diagnose()

    def _end_steps(self, problem: str) -> None:
        """Tell who asked for steps that none is made any more."""
        self._steps = 0
        told, self._told = self._told, None
        if told is not None:
            told(0, problem)

    # -- what is published -----------------------------------------------------------

    def _publish_run(self) -> None:
        """Publish the events up to now and the state."""
        self._publish_events()
        sample = self._state.sample
        effort = self._run.actuation.dynamics(*sample[:4])[0][6 : self.model.nv]
        self._topics.publish(self.stamp, self._state, self._soles, effort)
        if self._scene_topics is not None:
            self._scene_topics.publish(self.stamp, self._body_poses(sample.q))
        if self._ground_topics is not None:
            self._ground_topics.publish(self.stamp)

    def _body_poses(self, q: np.ndarray) -> list[pin.SE3]:
        system = self._system
        if not isinstance(system, SceneSystem):
            return []
        return [system.pose(q, body.name) for body in system.bodies]

    def _publish_events(self) -> None:
        self._topics.publish_events(self._run.events)
        self._run.events.clear()

    def _record(self) -> None:
        self._recording.keep(self._state.sample, self._run.events)

    def close(self) -> None:
        """Write the run."""
        self._recording.write()

    def _beat(self) -> None:
        """Each second: diagnostics, and the first state again for who came late."""
        if not self._heard and not self._diagnostics.advanced and not self._failure:
            self._publish_run()
        self._diagnose()

    def _diagnose(self) -> None:
        state = "running"
        if self._failure:
            state = "failed"
        elif self._paused:
            state = "paused"
        elif self._lockstep and self._command is None:
            state = "waiting for a command"
        self._diagnostics.publish(state, self._failure, self._k * self._period)

    # -- commands --------------------------------------------------------------------

    def _on_command(self, message: JointState) -> None:
        try:
            stamp = nanoseconds_of(message.header.stamp)
            self._check_stamp(stamp)
            if not message.name:
                raise ConfigurationError("no joint is named")
            values = getattr(message, self._field)
            command = joint_values(
                self.model, message.name, values, self._last, self._field
            )
        except ConfigurationError as error:
            self._diagnostics.refuse(str(error))
            warn_refused(self, "command", error)
            return
        self._command = self._last = command
        self._newest, self._heard = stamp, True
        self._go()

    def _check_stamp(self, stamp: int) -> None:
        """Refuse a command that is not for the published state.

        In lockstep the stamps must be equal. On the wall clock a command must not be
        older than the last one, nor from the future; a zero stamp is taken as now.
        """
        now = self.stamp
        if self._failure:
            raise ConfigurationError(_FAILED)
        least = now if self._lockstep else self._newest
        if stamp < least and (self._lockstep or stamp != 0):
            self._diagnostics.late += 1
            raise ConfigurationError(
                f"its stamp {stamp * 1e-9:.9f} s is late, the time is {now * 1e-9:.9f}"
            )
        if stamp > now:
            raise ConfigurationError(
                f"its stamp {stamp * 1e-9:.9f} s is in the future, the time is "
                f"{now * 1e-9:.9f} (use_sim_time?)"
            )
        if self._lockstep and self._command is not None:
            raise ConfigurationError(f"a second one is stamped {stamp * 1e-9:.9f} s")

    # -- what services ask for -------------------------------------------------------

    @property
    def settings(self) -> DynamicsSettings:
        """How the run is made."""
        return self._settings

    @property
    def run(self) -> Stepper:
        """The run, where it is."""
        return self._run

    @property
    def system(self) -> ModelSystem | SceneSystem:
        """What moves."""
        return self._system

    @property
    def failure(self) -> str:
        """Why the run cannot go on; empty: it can."""
        return self._failure and _FAILED

    @property
    def paused(self) -> bool:
        """Whether time stands still between steps."""
        return self._paused

    def restart(self, q: np.ndarray, v: np.ndarray) -> None:
        """Begin at time zero; the old run stands where that fails."""
        self._begin(q, v)
        self._topics.publish_events([Event(0.0, RESET)])
        self._publish_run()
        self._go()

    def place(self, q: np.ndarray, v: np.ndarray) -> None:
        """Go on from another state; the old one stands where that fails."""
        self._run.set_state(self._run.t, q, v)
        self._settings.sensors.start(self._system)
        self._state = State.of(self._run, self._soles, self._settings.sensors)
        self._command = None
        self._record()
        self._publish_run()
        self._wait_anew()
        self._go()

    def change_scene(
        self, settings: DynamicsSettings, q: np.ndarray, v: np.ndarray
    ) -> None:
        """Go on with other bodies; the old ones stand where that fails.

        Args:
            settings: with the bodies.
            q: configuration of all of them.
            v: velocity.
        """
        simulation = settings.simulation(self.model)
        run = simulation.start(q, v, self._run.t)
        if self._heard:
            run.command(self._last)
        self._take(simulation, run)
        self._settings = settings
        bodies = () if settings.scene is None else settings.scene.bodies
        self._pushes.set_bodies([body.name for body in bodies])
        if self._scene_topics is None:
            self._scene_topics = self._make_scene_topics()
        self._scene_topics.show(bodies)
        self._record()
        self._publish_run()
        self._wait_anew()
        self._go()

    def let_run(self, runs: bool) -> None:
        """Pause, or let time pass."""
        self._paused = not runs
        self._end_steps("pause was called")
        self._wait_anew()
        self._go()

    def make_steps(self, count: int, told: StepsTold) -> None:
        """Integrate some periods while paused.

        Raises:
            ConfigurationError: the run has failed, is not paused, or makes steps.
        """
        if self._failure:
            raise ConfigurationError(_FAILED)
        if not self._paused:
            raise ConfigurationError("the simulation is not paused")
        if count < 1:
            raise ConfigurationError("steps must be at least 1")
        if self._steps:
            raise ConfigurationError(
                f"{self._steps} steps of another request are still to be made"
            )
        self._steps, self._told = count, told
        self._wait_anew()
        self._go()

    def break_steps(self, why: str) -> None:
        """Make no more steps."""
        self._end_steps(why)

    def _on_factor(self, factor: float) -> None:
        """Another speed, from now on."""
        self._pace = self._settings.pace(factor)
        self._due = min(self._due, time.monotonic() + self._pace)
        self._go()
