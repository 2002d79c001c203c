# SPDX-License-Identifier: Apache-2.0
"""Controllers: from the state of a simulation to commands for its actuation.

A controller is anything that is called as ``controller(t, state)`` and answers with a
command; a function is one. :class:`~humans_sim.dynamics.simulation.Simulation` alone
calls it, and hands the command to the actuation, which lets it act after its delay.

Calls come at exact times, which are events of the simulation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.system import System
from humans_sim.models import Model
from humans_sim.results.records import Sample, Signal

_NO_STATES = np.zeros(0)


class ControlState:
    """The state of a simulated system as a controller sees it at one time.

    Args:
        q: configuration (nq,).
        v: velocity (nv,).
        z: states of the actuation (nz,).
        sample: function that gives the whole sample, or None where there is none.
        acceleration: function that gives the acceleration, or None where a method
            does not know it.

    Attributes:
        sensors: the newest reading of each sensor, by its name; None before the first
            one is known. Empty where the simulation has no sensors.
    """

    __slots__ = ("_acceleration", "_sample", "q", "sensors", "v", "z")

    def __init__(
        self,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray = _NO_STATES,
        sample: Callable[[], Sample] | None = None,
        acceleration: Callable[[], np.ndarray | None] | None = None,
    ) -> None:
        self.q, self.v, self.z, self._sample = q, v, z, sample
        self._acceleration = acceleration
        self.sensors: Mapping[str, Any] = {}

    @property
    def acceleration(self) -> np.ndarray | None:
        """Rates of v (nv,), from the left at jumps; None with time stepping."""
        return None if self._acceleration is None else self._acceleration()

    @property
    def sample(self) -> Sample:
        """Contacts, their forces, gaps, torques and energies, too.

        It is computed at each call: in the event-driven method it costs an evaluation
        of the equations of motion. At the start of a run no contact has a force yet.
        """
        if self._sample is None:
            raise ParameterError(
                "this state has no contacts and forces: only a simulation of the "
                "controlled system alone gives them"
            )
        return self._sample()


ControlFunction = Callable[[float, ControlState], Any]
"""The protocol of controllers: (t, state) to a command of the actuation.

None leaves the last command as it is; :class:`CommandWithNextCall` chooses the time of
the next call.
"""


class CommandWithNextCall(NamedTuple):
    """A command of a controller that chooses when it is called again.

    Attributes:
        command: the command, or None to leave things as they are.
        wait: time until the next call [s].
    """

    command: Any
    wait: float


class Controller(ABC):
    """A parent for controllers that bring more than their command.

    Attributes:
        period: time between two calls [s], or None: whenever a sample is taken; known
            once it is attached.
    """

    period: float | None = None

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Arguments of a simulation that hold where it is given none.

        Of ``ground``, ``method``, ``time_step``, ``integrator`` and ``contacts``; none
        unless a child says otherwise.
        """
        return {}

    def start(self) -> np.ndarray | None:
        """The configuration in which it wants to start, or None for any."""
        return None

    def attach(self, system: System) -> None:
        """Prepare for a system; called once by the simulation that is controlled."""
        return None

    def signals(self) -> tuple[Signal, ...]:
        """Its signals in a run, number by number; nothing unless a child has some."""
        return ()

    def signal_values(self) -> np.ndarray:
        """The numbers of :meth:`signals` after the last call; NaN before the first."""
        return _NO_STATES

    @abstractmethod
    def __call__(self, t: float, state: ControlState) -> Any:
        """The command for the actuation at time t [s]."""


def check_control_period(period: float) -> float:
    """A time between two calls of a controller [s], refused where it is none."""
    if not (math.isfinite(period) and period > 0):
        raise ParameterError(f"the control period must be above zero, not {period}")
    return period


class ControlClock:
    """Calls a controller every period, or when it asked for it.

    Attributes:
        next_call: time of the next call [s]; infinite before :meth:`start`.
    """

    def __init__(self, controller: ControlFunction, period: float) -> None:
        self._controller, self._period = controller, check_control_period(period)
        self._start, self._calls = 0.0, 0
        self.next_call = math.inf

    @property
    def next_control_call(self) -> float:
        """When the controller, and nothing beside it, is called next [s]."""
        return self.next_call

    def start(self, t: float) -> None:
        """Call the controller first at t."""
        self._start, self._calls = t, 0
        self.next_call = t

    def tick(
        self, t: float, state: ControlState, send: Callable[[float, Any], None]
    ) -> None:
        """Call the controller where its time has come, and send what it commands."""
        while self.next_call <= t:
            command = self._ask(t, state)
            if command is not None:
                send(t, command)

    def show(self, t: float, state: ControlState) -> None:
        """Let a state hold what is known beside it at t; nothing here."""

    def _ask(self, t: float, state: ControlState) -> Any:
        """Call the controller; returns its command."""
        command = self._controller(t, state)
        if not isinstance(command, CommandWithNextCall):
            # Multiples of the period, not sums of it: no drift.
            self._calls += 1
            self.next_call = self._start + self._calls * self._period
            return command
        if not (math.isfinite(command.wait) and command.wait > 0):
            raise ParameterError(
                f"a controller asked to be called again after {command.wait} s"
            )
        self._start, self._calls = t + command.wait, 0
        self.next_call = self._start
        return command.command
