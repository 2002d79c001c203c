# SPDX-License-Identifier: Apache-2.0
"""A walker that leads the servos of a simulated biped, call by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.footsteps import Velocity
from humans_sim.control.walking.listed_footsteps import ListedStep
from humans_sim.control.walking.walk_sensors import SoleWrench, WalkSensors
from humans_sim.control.walking.walker import WalkCommand, Walker
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.dynamics.system import TIME_STEPPING, System
from humans_sim.models import Model
from humans_sim.results.sample import Sample

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

    It is called every period of the walker. Time stepping is its method
    unless a simulation is given another: on both feet the legs are a closed chain that
    slips by micrometres all the time, and events would be countless.

    Attributes:
        walker: the walker.
        commands: what it commanded at every call of the last run.
    """

    def __init__(
        self,
        walker: Walker,
        schedule: Sequence[ScheduledCommand] = (),
        lag: float = 0.0,
    ) -> None:
        """Prepare.

        Args:
            walker: the walker; it is reset at the first call.
            schedule: commands to the walker, in the order of time.
            lag: of servos that follow positions alone: they are commanded so far ahead
                along the planned speeds [s].
        """
        times = [command.time for command in schedule]
        if times != sorted(times):
            raise ParameterError("the scheduled commands must be in the order of time")
        self.walker, self._schedule, self._lag = walker, tuple(schedule), lag
        self.period = walker.period
        self._soles: Soles | None = None
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
        self._soles = Soles(system)

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
        """What the robot measures in a sample of the simulation it is attached to."""
        if self._soles is None:
            raise ParameterError("the walk is not attached to a simulation")
        loads = {
            load.name: SoleWrench(load.force, load.moment)
            for load in self._soles.loads(sample, self._soles.points(sample))
        }
        settings = self.walker.settings
        return WalkSensors(
            pin.Quaternion(sample.q[3:7]).matrix(),
            sample.v[3:6],
            loads[settings.left],
            loads[settings.right],
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
