# SPDX-License-Identifier: Apache-2.0
"""Walking by velocity: a controller for a simulated biped with position servos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo_set import has_robot_file
from humans_sim.control.walking.com_estimator import SoleWrench, WalkSensors
from humans_sim.control.walking.footsteps import Velocity
from humans_sim.control.walking.listed_footsteps import ListedStep
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.walker import PERIOD, WalkCommand, Walker
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.integrators import ROSENBROCK
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.sensors import SoleWrenches
from humans_sim.dynamics.system import TIME_STEPPING, System
from humans_sim.models import Model
from humans_sim.results.records import Sample

_LATE = 1e-9
"""Time that a call may be early or late [s]."""


class ScheduledCommand(NamedTuple):
    """A command to a walker, and when it is given.

    Attributes:
        time: when [s].
        velocity: to walk with; None stops.
        steps: how many, the closing one included; None: until the next command.
        footsteps: that are made instead, where there are some.
    """

    time: float
    velocity: Velocity | None
    steps: int | None = None
    footsteps: tuple[ListedStep, ...] = ()


class ServoWalk(Controller):
    """Gives what a robot measures to a walker, and the walker's angles to the servos.

    It is called every period of the walker, and reset at the first call. Time stepping
    is its method unless a simulation is given another: on both feet the legs are a
    closed chain that slips by micrometres all the time, and events would be countless.

    Args:
        walker: that leads.
        schedule: commands to the walker, in the order of time.
        lag: of servos that follow positions alone: they are commanded so far ahead
            along the planned speeds [s].

    Attributes:
        commands: what it commanded at every call of the last run.
    """

    def __init__(
        self,
        walker: Walker,
        schedule: Sequence[ScheduledCommand] = (),
        lag: float = 0.0,
    ) -> None:
        times = [command.time for command in schedule]
        if times != sorted(times):
            raise ParameterError("the scheduled commands must be in the order of time")
        self.walker, self._schedule, self._lag = walker, tuple(schedule), lag
        self.period = walker.period
        self._soles: SoleWrenches | None = None
        self.commands: list[WalkCommand] = []
        self._given, self._due = 0, -np.inf

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Time stepping."""
        return {"method": TIME_STEPPING}

    def start(self) -> np.ndarray:
        """Standing, knees bent, at the origin."""
        return self.walker.start()

    def attach(self, system: System) -> None:
        """Note where the soles are."""
        if not isinstance(system, ModelSystem) or system.model is not self.walker.model:
            raise ParameterError("the walker must be of the model that is simulated")
        self._soles = SoleWrenches(system)

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Angles that the servos shall have reached one period later (njoints,)."""
        period = self.walker.period
        if not self.commands or t < self._due - period - _LATE:
            self._begin(t)
            self.commands, self._given = [], 0
        elif abs(t - self._due) > _LATE:
            raise ParameterError(
                f"the walker needs a call every {period:g} s: there is one at "
                f"{t:g} s instead of {self._due:g} s"
            )
        self._due = t + period
        for command in self._schedule[self._given :]:
            if command.time > t:
                break
            self._give(command)
            self._given += 1
        return self._tick(t, state.sample)

    def _begin(self, t: float) -> None:
        """Stand still from a time on."""
        self.walker.reset(t)

    def _tick(self, t: float, sample: Sample) -> np.ndarray:
        """The walker's angles for the servos, by what was measured."""
        self.commands.append(self.walker.tick(t, self.sensors(sample)))
        return self._ahead(self.commands[-1].joints)

    def _ahead(self, joints: np.ndarray) -> np.ndarray:
        """Angles to command so that servos with a lag are at given ones in time."""
        command = self.commands[-1]
        if not self._lag or command.fallen:
            return joints
        model = self.walker.model
        ahead = joints + self._lag * command.plan.joint_speeds
        return np.clip(ahead, model.lower_limits, model.upper_limits)

    def sensors(self, sample: Sample) -> WalkSensors:
        """Measurements of the robot in a sample of its simulation."""
        if self._soles is None:
            raise ParameterError("the walk is not attached to a simulation")
        names, wrenches = self._soles.names, self._soles.measure(sample)
        settings = self.walker.settings
        return WalkSensors(
            pin.Quaternion(sample.q[3:7]).matrix(),
            sample.v[3:6],
            SoleWrench(*wrenches[names.index(settings.left)]),
            SoleWrench(*wrenches[names.index(settings.right)]),
            sample.q[7:],
            sample.v[6:],
        )

    def _give(self, command: ScheduledCommand) -> None:
        pattern = self.walker.pattern
        if command.footsteps:
            pattern.follow(command.footsteps)
        elif command.velocity is None:
            pattern.stop()
        elif command.steps is None:
            pattern.command(*command.velocity)
        else:
            pattern.walk(command.steps, *command.velocity)


class Walk(Controller):
    """Walks with a velocity, by the servos of the model that is simulated.

    ``Simulation(model, Servo(model), Walk(forward=0.05)).run(t_end=5.0)`` is a whole
    walk: the run starts in the posture of :meth:`start`, by time stepping. Floor, what
    of the body touches, steps and period are those of the model's file in
    ``config/robots``, where it has one, so that it is the robot of the scenarios and of
    the viewer; what the simulation is given takes their place.

    Args:
        forward: velocity forwards [m/s].
        sideways: velocity to the left [m/s].
        turn: angular velocity to the left [rad/s].
        begin: when the walk begins; until then it stands [s].
        end: when it is asked to stop, or None: never [s].
        settings: how the biped walks; by default the package's for the model.
        period: time between two commands [s]; by default that of the robot's file,
            or 0.02.

    Attributes:
        velocity: forwards, to the left, turning.
        period: time between two commands [s]; None until a model is known.
    """

    def __init__(
        self,
        forward: float = 0.0,
        sideways: float = 0.0,
        turn: float = 0.0,
        *,
        begin: float = 0.5,
        end: float | None = None,
        settings: WalkSettings | None = None,
        period: float | None = None,
    ) -> None:
        finite_array([forward, sideways, turn], (3,), "velocity", ParameterError)
        if end is not None and end < begin:
            raise ParameterError(f"the walk ends at {end} s, before it begins: {begin}")
        self.velocity = Velocity(forward, sideways, turn)
        self.period = self._given_period = period
        self._settings = settings
        self._schedule = [ScheduledCommand(begin, self.velocity)]
        if end is not None:
            self._schedule.append(ScheduledCommand(end, None))
        self._servo_walk: ServoWalk | None = None

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Those of the robot's file, where it has one; time stepping in any case.

        Where the event-driven method is asked for, it takes the integrator for soles.
        """
        robot: dict[str, Any] = {}
        if has_robot_file(model):
            robot = RobotSetup.of_model(model).simulation_arguments()
        return {**robot, "method": TIME_STEPPING, "integrator": ROSENBROCK}

    def start(self, model: Model | None = None) -> np.ndarray:
        """The configuration in which the walk starts: standing, knees bent.

        Args:
            model: the biped; by default that of the simulation.

        Raises:
            ParameterError: no model is known, or there are no settings for it.
        """
        if model is not None:
            return self._walker(model).start()
        return self._attached().start()

    def attach(self, system: System) -> None:
        """Plan for the model of a simulation."""
        if not isinstance(system, ModelSystem):
            raise ParameterError(f"{system.name} is no biped model: it cannot walk")
        gravity = float(np.linalg.norm(system.gravity))
        walker = self._walker(system.model, gravity)
        self.period = walker.period
        lag = RobotSetup.of_model(system.model).lag
        self._servo_walk = ServoWalk(walker, self._schedule, lag)
        self._servo_walk.attach(system)

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Angles that the servos shall have reached one period later (njoints,)."""
        return self._attached()(t, state)

    def _walker(self, model: Model, gravity: float | None = None) -> Walker:
        """Plans for a model, with the period that was given or that of its robot."""
        period = self._given_period
        if period is None:
            period = PERIOD
            if has_robot_file(model):
                period = RobotSetup.of_model(model).sampling_period
        return Walker(model, self._settings, period=period, gravity=gravity)

    @property
    def walker(self) -> Walker:
        """The walker; known once a simulation has this controller."""
        return self._attached().walker

    def _attached(self) -> ServoWalk:
        if self._servo_walk is None:
            raise ParameterError(
                "the walk has no model yet: give it to a Simulation, or call "
                "start(model)"
            )
        return self._servo_walk
