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
from typing import Any

import numpy as np
import pinocchio as pin
from humans_msgs.msg import SimulationEvent
from humans_msgs.srv import Push, Reset, Step
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from humans_sim.core.errors import (
    ConfigurationError,
    FileWriteError,
    HumansError,
    ParameterError,
)
from humans_sim.dynamics.joint_dissipation import dissipation_text
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_record import scene_record
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.nodes.common.conversions import (
    base_of,
    joint_values,
    nanoseconds_of,
    time_of,
    velocity_of,
)
from humans_sim.nodes.common.deferred_service import Reply, create_deferred_service
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.refusals import warn_refused
from humans_sim.nodes.common.run_diagnostics import RunDiagnostics
from humans_sim.nodes.common.run_recorder import RunRecorder
from humans_sim.nodes.dynamics.ground_topics import GroundTopics
from humans_sim.nodes.dynamics.pushes import WaitingPushes
from humans_sim.nodes.dynamics.scene_topics import SceneTopics
from humans_sim.nodes.dynamics.settings import DynamicsSettings
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
        self._step_reply: Reply | None = None
        scene = self._settings.scene
        bodies = [] if scene is None else [body.name for body in scene.bodies]
        self._pushes = WaitingPushes(self.model, self._settings.world, bodies)
        self._recorder: RunRecorder | None = None
        if self._settings.record is not None:
            self._recorder = RunRecorder(
                self._settings.record, self._settings.record_samples
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
            self._scene_topics = SceneTopics(
                self,
                settings.world,
                settings.tf,
                () if settings.scene is None else settings.scene.bodies,
                settings.ground,
            )
        self._ground_topics: GroundTopics | None = None
        surface = settings.ground.surface
        if isinstance(surface, DeformableGround):
            self._ground_topics = GroundTopics(
                self, settings.world, surface, settings.ground_period
            )
        self.create_service(Reset, "reset", self._on_reset)
        self.create_service(SetBool, "pause", self._on_pause)
        self.create_service(Push, "push", self._on_push)
        create_deferred_service(self, Step, "step", self._on_step)

    # -- the run ---------------------------------------------------------------------

    def _begin(self, q: np.ndarray, v: np.ndarray) -> None:
        """Begin a run at time zero; the old one is kept where that fails."""
        simulation, run = self._settings.begin(self.model, q, v)
        assert isinstance(simulation.system, ModelSystem | SceneSystem)
        soles = Soles(simulation.system)
        sensors = self._settings.sensors
        sensors.start(simulation.system)
        if self._recorder is not None:
            self._write_record(self._recorder)
            self._recorder.begin(simulation)
        self._state = State.of(run, soles, sensors)
        self._run, self._soles, self._system = run, soles, simulation.system
        self._k, self._failure = 0, ""
        self._pushes.clear()
        self._record()
        self._command: np.ndarray | None = None
        joints = run.q[7 : self.model.nq].copy()
        self._last = joints if self._settings.servos else np.zeros_like(joints)
        self._newest, self._heard = 0, False
        self._end_steps("the simulation was reset")
        self._wait_anew()

    def _start(self) -> None:
        self._starter.cancel()
        self._wait_anew()
        self._publish_run()
        self._go()

    @property
    def _now(self) -> int:
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
        """Answer a step request that waits."""
        self._steps = 0
        if self._step_reply is not None:
            reply, self._step_reply = self._step_reply, None
            self._answer_steps(reply, problem)

    def _answer_steps(self, reply: Reply, problem: str) -> None:
        reply.message.success, reply.message.message = not problem, problem
        reply.message.stamp = time_of(self._now)
        reply.send()

    # -- what is published -----------------------------------------------------------

    def _publish_run(self) -> None:
        """Publish the events up to now and the state."""
        self._publish_events()
        sample = self._state.sample
        effort = self._run.actuation.dynamics(*sample[:4])[0][6 : self.model.nv]
        self._topics.publish(self._now, self._state, self._soles, effort)
        if self._scene_topics is not None:
            self._scene_topics.publish(self._now, self._body_poses(sample.q))
        if self._ground_topics is not None:
            self._ground_topics.publish(self._now)

    def _body_poses(self, q: np.ndarray) -> list[pin.SE3]:
        system = self._system
        if not isinstance(system, SceneSystem):
            return []
        return [system.pose(q, body.name) for body in system.bodies]

    def _publish_events(self) -> None:
        self._topics.publish_events(self._run.events)
        self._run.events.clear()

    def _record(self) -> None:
        """Keep the sample; a disk that is full ends the recording, not the node."""
        if self._recorder is None:
            return
        try:
            self._recorder.keep(self._state.sample, self._run.events)
        except FileWriteError as error:
            self._recorder = None
            self.get_logger().error(f"runs are no longer recorded: {error}")

    def _write_record(self, recorder: RunRecorder) -> None:
        """Write what was recorded; a disk that is full does not end the node."""
        try:
            path = recorder.write()
        except (OSError, HumansError) as error:
            self.get_logger().error(f"the run was not written: {error}")
            return
        if path is not None:
            self.get_logger().info(f"the run is in {path}")

    def close(self) -> None:
        """Write the run."""
        if self._recorder is not None:
            self._write_record(self._recorder)

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
        now = self._now
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

    # -- services --------------------------------------------------------------------

    def _on_reset(self, request: Any, response: Any) -> Any:
        try:
            q, v = self._settings.start(self.model, request.posture)
            if request.use_state:
                q, v = self._state_of(request, q, v)
            self._begin(q, v)
        except Exception as error:  # whatever it is, the old run stands
            response.success, response.message = False, str(error)
            response.stamp = time_of(self._now)
            return response
        response.success, response.stamp = True, time_of(self._now)
        self._topics.publish_events([Event(0.0, RESET)])
        self._publish_run()
        self._go()
        return response

    def _state_of(
        self, request: Any, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        joints, model = request.joint_state, self.model
        q[:7] = base_of(request.base_pose)
        v[:6] = velocity_of(request.base_twist)
        q[7:] = joint_values(model, joints.name, joints.position, q[7:], "position")
        if len(joints.velocity):
            v[6:] = joint_values(model, joints.name, joints.velocity, v[6:], "velocity")
        return q, v

    def _on_pause(self, request: Any, response: Any) -> Any:
        if self._failure:
            response.success, response.message = False, _FAILED
            return response
        self._paused = request.data
        response.success = True
        done = "paused at" if self._paused else "runs from"
        response.message = f"{done} {self._k * self._period:.9g} s"
        self._end_steps("pause was called")
        self._wait_anew()
        self._go()
        return response

    def _on_step(self, request: Any, reply: Reply) -> None:
        if self._failure:
            problem = _FAILED
        elif not self._paused:
            problem = "the simulation is not paused"
        elif request.steps < 1:
            problem = "steps must be at least 1"
        elif self._step_reply is not None:
            problem = f"{self._steps} steps of another request are still to be made"
        else:
            self._steps, self._step_reply = request.steps, reply
            self._wait_anew()
            self._go()
            return
        self._answer_steps(reply, problem)

    def _on_push(self, request: Any, response: Any) -> Any:
        try:
            if self._failure:
                raise ParameterError(_FAILED)
            stamp = self._pushes.add(request, self._now, self._run.q)
        except HumansError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = f"begins at {stamp * 1e-9:.9g} s"
        return response

    def _on_factor(self, factor: float) -> None:
        """Another speed, from now on."""
        self._pace = self._settings.pace(factor)
        self._due = min(self._due, time.monotonic() + self._pace)
        self._go()
