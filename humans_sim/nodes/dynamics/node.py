# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics``: simulates a model, and is the clock of its graph.

With ``publish_clock: false`` another node is: it integrates up to ``/clock``, and
begins anew where that goes back.

Takes ``joint_torques`` (sensor_msgs/JointState, ``effort``) or, with servos,
``joint_commands`` (``position``), ``joint_trajectory`` and the action
``follow_joint_trajectory``. Gives ``/clock``, ``joint_states``, ``imu``,
``ground_contacts``, ``events``, ``<sole>/wrench``, ``ground_truth/odom``, ``/tf`` from
``world_frame`` to ``base_frame``, and ``/diagnostics``; with a ``scene``, its bodies as
frames of ``/tf`` and as markers on ``scene``; on a ground that gives way
``ground/heights``, ``ground/picture`` and ``ground/depth``; with ``record``, a run
file. Services: ``reset``, ``pause``, ``step``, ``push``.

With ``sync: lockstep`` the state at t_k is published and nothing moves until the
command stamped t_k has come, or is overdue; with ``sync: free`` the simulation runs on
the wall clock with the newest command. All callbacks run in one thread, and each
integrates one sampling period at most.

With ``robots`` several robots share the scene: each has what is its own, topics and the
services ``reset`` and ``push``, in the namespace of its name; ``/clock``, ``scene``,
``ground`` and further services are the node's. A period is integrated when the commands
of all have come.

Services of simulation_interfaces and the action ``follow_joint_trajectory`` are there
where simulation_interfaces and control_msgs are installed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from humans_msgs.msg import SimulationEvent
from rosgraph_msgs.msg import Clock

from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.dynamics.joints import dissipation_text
from humans_sim.dynamics.model_system import ModelSystem, scene_record
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.stepper import Stepper
from humans_sim.nodes.common.conversions import nanoseconds_of, time_of
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.model_node import Alarm, ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.scene_robots import declare_robots
from humans_sim.nodes.dynamics.own_services import Recording, WaitingPushes
from humans_sim.nodes.dynamics.robot import SimulatedRobot
from humans_sim.nodes.dynamics.settings import DynamicsSettings, RobotState
from humans_sim.nodes.dynamics.topics import DEPTH, GroundTopics, SceneTopics
from humans_sim.results.records import FAILURE, RESET, Event
from humans_sim.soft.ground.deformable_ground import DeformableGround


def make_standard_services(node: Dynamics) -> None:
    """Serve them, or say why not."""
    try:
        from humans_sim.nodes.dynamics.entity_services import EntityServices
        from humans_sim.nodes.dynamics.simulation_services import SimulationServices
    except ImportError as error:
        node.get_logger().warning(
            f"the standard services are left out, simulation_interfaces is not "
            f"installed: {error}"
        )
        return
    SimulationServices(node, EntityServices(node).remove_spawned)


def command_robots(run: Stepper, commands: Sequence[np.ndarray | None]) -> None:
    """Command the robots of a run; None: as before."""
    if all(command is None for command in commands):
        return
    # Among other robots the actuation takes a list.
    command: Any = commands if len(commands) > 1 else commands[0]
    run.command(command)


_CATCH_UP = 0.1
"""Wall time that the simulation may be late and still catch up [s]."""
_REFUSED = "refused_commands"
_FAILED = "the run has failed, reset it"
_AS_USUAL: Mapping[str, RobotState] = {}
StepsTold = Callable[[int, str], None]
"""Called after each step with those that are left; at the end with what went wrong."""


class Dynamics(ModelNode):
    """Integrates a model from sampling time to sampling time.

    Attributes:
        settings: how the run is made.
        robots: that are simulated.
        run: where it is.
        system: what moves.
        paused: whether time stands still between steps.
    """

    def __init__(self, name: str = "dynamics", **options: Any) -> None:
        super().__init__(name, **options)
        parameters = Parameters(self)
        named = declare_robots(self, parameters)
        self.settings = DynamicsSettings.declare(parameters, named)
        if problem := self.settings.servo_problem():
            self.get_logger().warning(problem)
        self._pace = self.settings.pace(
            parameters.changeable_number(
                "real_time_factor",
                1.0,
                "largest speed, simulated over wall time; 0: as fast as it can",
                self._on_factor,
                low=0.0,
            )
        )
        self._period, self._lockstep = self.settings.period, self.settings.lockstep
        self.paused = self.settings.paused
        about = ", ".join(robot.entity for robot in self.settings.robots)
        self._diagnostics = Diagnostics(self, "simulation", about)
        self._reported_at, counts = time.monotonic(), self._diagnostics.counts
        self.robots = [
            SimulatedRobot(self, robot, counts) for robot in self.settings.robots
        ]
        self._allowed = 0  # what /clock said, where another node publishes it [ns]
        self._told: StepsTold | None = None
        scene = self.settings.scene
        self._pushes = WaitingPushes(self.settings.world)
        if scene is not None:
            self._pushes.set_bodies([body.name for body in scene.bodies])
        self._recording = Recording(
            self.settings.record, self.settings.record_samples, self.get_logger()
        )
        # First a trial: it may have to compile, and services should answer at once.
        self.settings.begin({})[1].advance(self._period)
        self._begin({})
        used = dissipation_text(scene_record(self.run.system))
        if used:
            self.get_logger().info(used)
        self._alarm = Alarm(self, self.go)
        self._make_topics()
        self.every(BEAT, self._beat)
        # Time runs from the first callback on: other nodes may take long to make.
        self._starter = self.every(0.0, self._start)

    def _make_topics(self) -> None:
        settings = self.settings
        self._clock_topic = None
        if settings.is_clock:
            self._clock_topic = self.create_publisher(Clock, "/clock", DEPTH)
        else:
            self.create_subscription(Clock, "/clock", self._on_clock, DEPTH)
        for robot in self.robots:
            robot.make_topics(self._pushes)
        self._scene_topics: SceneTopics | None = None
        if settings.shows_scene:
            self._scene_topics = self._make_scene_topics()
        self._ground_topics: GroundTopics | None = None
        surface = settings.ground.surface
        if isinstance(surface, DeformableGround):
            self._ground_topics = GroundTopics(
                self, settings.world, surface, settings.ground_period
            )
        make_standard_services(self)

    def _make_scene_topics(self) -> SceneTopics:
        settings = self.settings
        bodies = () if settings.scene is None else settings.scene.bodies
        world, ground = settings.world, settings.ground
        return SceneTopics(self, world, settings.tf, bodies, ground)

    # -- the run ---------------------------------------------------------------------

    def _begin(self, states: Mapping[str, RobotState]) -> None:
        """Begin a run at time zero; the old one is kept where that fails."""
        self._take(*self.settings.begin(states))
        self._k, self._failure = 0, ""
        self._pushes.clear()
        self._record()
        self._give_up("the simulation was reset")
        for robot in self.robots:
            robot.commands.begin(robot.configuration[7:].copy())
        self._wait_anew()

    def _take(self, simulation: Simulation, run: Stepper) -> None:
        """Go on with a run."""
        assert isinstance(simulation.system, ModelSystem)
        self.run, self.system = run, simulation.system
        for number, robot in enumerate(self.robots):
            robot.take(self.system, number, self.settings.robots[0])
        self._recording.begin(simulation)
        self._measure()

    def _measure(self) -> None:
        """Look at all robots where the run is."""
        self._sample = self.run.sample()
        for robot in self.robots:
            robot.measure(self.run, self._sample)

    def _start(self) -> None:
        self._starter.cancel()
        self._wait_anew()
        self._publish_run()
        self.go()

    @property
    def stamp(self) -> int:
        """Simulation time of the published state [ns]."""
        return self._stamp_of(self._k)

    def _stamp_of(self, k: int) -> int:
        return round(k * self._period * 1e9)

    @property
    def _runs(self) -> bool:
        return not self._failure and (not self.paused or self._steps > 0)

    @property
    def _waits_for_command(self) -> bool:
        return self._lockstep and bool(self._silent)

    @property
    def _silent(self) -> list[SimulatedRobot]:
        """Robots without a command for the published state."""
        return [robot for robot in self.robots if robot.commands.command is None]

    @property
    def _waits_for_clock(self) -> bool:
        return (
            not self.settings.is_clock and self._stamp_of(self._k + 1) > self._allowed
        )

    def _wait_anew(self) -> None:
        self._due = time.monotonic()
        self._deadline = self._due + self.settings.timeout

    def _wait(self) -> float:
        """Wall time until the next period is due [s]; infinite: a message is due."""
        if self._waits_for_clock:
            return math.inf
        now = time.monotonic()
        wait = 0.0 if self._steps else self._due - now
        if self._waits_for_command:
            wait = max(wait, self._deadline - now)
        return wait

    def wake(self) -> None:
        """Look soon whether a period is due."""
        self._alarm.set(0.0)

    def go(self) -> None:
        """Integrate one period if it is due, and look again when the next one is."""
        self._alarm.cancel()
        if self._runs and self._wait() <= 0.0:
            self._integrate()
        if self._runs and (wait := self._wait()) < math.inf:
            self._alarm.set(wait)

    def _integrate(self) -> None:
        if self._waits_for_command:
            self._hold()
        try:
            commands = [robot.commands.command for robot in self.robots]
            command_robots(self.run, commands)
            self._pushes.advance(self.run, (self._k + 1) * self._period)
            self._measure()
        except Exception as error:  # the node lives on for a reset, whatever it is
            self._fail(error)
            return
        for robot in self.robots:
            robot.commands.forget()
        self._k += 1
        self._diagnostics.counts["periods"] += 1
        self._record()
        self._publish_run()
        now = time.monotonic()
        self._due = max(self._due + self._pace, now - _CATCH_UP)
        self._deadline = now + self.settings.timeout
        for robot in self.robots:
            if robot.trajectories is not None:
                robot.trajectories.tick()
        if self._steps:
            self._steps -= 1
            if not self._steps:
                self.end_steps("")
            elif self._told is not None:
                self._told(self._steps, "")

    def _hold(self) -> None:
        text = f"no command came in {self.settings.timeout:g} s, the last one is held"
        event = Event(self.run.t, SimulationEvent.TIMEOUT, "", {"text": text})
        for robot in self._silent:
            self._diagnostics.counts["held_commands"] += 1
            robot.publish_events([event])

    def _fail(self, error: Exception) -> None:
        self._failure = f"at {self.run.t:.9g} s: {error}"
        self.run.events.append(Event(self.run.t, FAILURE, "", {"text": str(error)}))
        self._record()
        self._publish_events(self.run.events)
        self.run.events.clear()
        self.get_logger().error(f"the run failed {self._failure}")
        self._give_up(self._failure)
        self._diagnose()

    def _give_up(self, why: str) -> None:
        """Make no more steps, and follow no trajectory."""
        self.end_steps(why)
        for robot in self.robots:
            if robot.trajectories is not None:
                robot.trajectories.abort(why)

    def end_steps(self, problem: str) -> None:
        """Make no more steps, and tell who asked for them."""
        self._steps = 0
        callback, self._told = self._told, None
        if callback is not None:
            callback(0, problem)

    # -- what is published -----------------------------------------------------------

    def _publish_run(self) -> None:
        """Publish the events up to now and the state."""
        self._publish_events(self.run.events)
        self.run.events.clear()
        if self._clock_topic is not None:
            self._clock_topic.publish(Clock(clock=time_of(self.stamp)))
        for robot in self.robots:
            robot.topics.publish(self.stamp, robot.state, robot.soles)
        if self._scene_topics is not None:
            system, poses = self.system, []
            if isinstance(system, SceneSystem):
                q = self._sample.q
                poses = [system.pose(q, body.name) for body in system.bodies]
            self._scene_topics.publish(self.stamp, poses)
        if self._ground_topics is not None:
            self._ground_topics.publish(self.stamp)

    def _publish_events(self, events: Sequence[Event]) -> None:
        """Publish events with their robots: of bodies the first, of the run all."""
        first, *others = self.robots
        named = {robot.settings.name: robot for robot in others}
        for robot in self.robots:
            robot.publish_events(
                event
                for event in events
                if not event.subject
                or named.get(event.subject.partition("/")[0], first) is robot
            )

    def _record(self) -> None:
        self._recording.keep(self._sample, self.run.events)

    def close(self) -> None:
        """Write the run."""
        self._recording.write()

    def _beat(self) -> None:
        """Each second: diagnostics, and the first state again for who came late."""
        heard = all(robot.commands.heard for robot in self.robots)
        heard = heard or bool(self._diagnostics.new("periods"))
        if not heard and not self._failure:
            self._publish_run()
        self._diagnose()

    def _diagnose(self) -> None:
        state = "running"
        if self._failure:
            state = "failed"
        elif self.paused:
            state = "paused"
        elif self._waits_for_clock:
            state = "waiting for /clock"
        elif self._waits_for_command:
            state = "waiting for a command"
        diagnostics, now = self._diagnostics, time.monotonic()
        simulated = diagnostics.new("periods") * self._period
        spent = max(now - self._reported_at, 1e-9)
        values = {
            "simulation_time [s]": f"{self._k * self._period:.9g}",
            "real_time_factor": f"{simulated / spent:.3g}",
            **diagnostics.refusals("held_commands", "late_commands", _REFUSED),
        }
        worse = diagnostics.new("held_commands", _REFUSED)
        warning = "commands were held or refused" if worse else ""
        diagnostics.publish(state, self._failure, warning, values)
        self._reported_at = now

    # -- commands --------------------------------------------------------------------

    def _on_clock(self, message: Clock) -> None:
        """Integrate up to the clock, or begin anew where it went back."""
        before, self._allowed = self._allowed, nanoseconds_of(message.clock)
        if self._allowed >= before:
            self.go()
            return
        try:
            self.restart()
        except HumansError as error:
            self.refuse("/clock", error)

    def refuse(self, topic: str, error: HumansError) -> None:
        """Count that a message is not taken, and warn."""
        self._diagnostics.refuse(topic, error, _REFUSED)

    # -- what services ask for -------------------------------------------------------

    @property
    def failure(self) -> str:
        """Why the run cannot go on; empty: it can."""
        return self._failure and _FAILED

    def restart(self, states: Mapping[str, RobotState] = _AS_USUAL) -> None:
        """Begin at time zero, with states of some robots by their names.

        The old run stands where that fails.
        """
        self._begin(states)
        self._publish_events([Event(0.0, RESET)])
        self._publish_run()
        self.go()

    def place(self, q: np.ndarray, v: np.ndarray) -> None:
        """Go on from another state; the old one stands where that fails."""
        self.run.set_state(self.run.t, q, v)
        for number, robot in enumerate(self.robots):
            robot.take(self.system, number, self.settings.robots[0])
        self._measure()
        self._record()
        self._publish_run()
        self._wait_anew()
        self.go()

    def change_scene(
        self, settings: DynamicsSettings, q: np.ndarray, v: np.ndarray
    ) -> None:
        """Go on with other bodies; the old ones stand where that fails."""
        simulation = settings.simulation()
        run = simulation.start(q, v, self.run.t)
        inboxes = [robot.commands for robot in self.robots]
        command_robots(run, [own.last if own.heard else None for own in inboxes])
        self._take(simulation, run)
        self.settings = settings
        bodies = () if settings.scene is None else settings.scene.bodies
        self._pushes.set_bodies([body.name for body in bodies])
        if self._scene_topics is None:
            self._scene_topics = self._make_scene_topics()
        self._scene_topics.show(bodies)
        self._record()
        self._publish_run()
        self._wait_anew()
        self.go()

    def let_run(self, runs: bool) -> None:
        """Pause, or let time pass."""
        self.paused = not runs
        self.end_steps("the simulation was let run" if runs else "it was paused")
        self._wait_anew()
        self.go()

    def make_steps(self, count: int, told: StepsTold) -> None:
        """Integrate some periods while paused."""
        if self._failure:
            raise ConfigurationError(_FAILED)
        if not self.paused:
            raise ConfigurationError("the simulation is not paused")
        if count < 1:
            raise ConfigurationError("steps must be at least 1")
        if self._steps:
            raise ConfigurationError(
                f"{self._steps} steps of another request are still to be made"
            )
        self._steps, self._told = count, told
        self._wait_anew()
        self.go()

    def _on_factor(self, factor: float) -> None:
        """Another speed, from now on."""
        self._pace = self.settings.pace(factor)
        self._due = min(self._due, time.monotonic() + self._pace)
        self.go()
