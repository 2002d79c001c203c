# SPDX-License-Identifier: Apache-2.0
"""When a controller is called: at exact times, which are events of the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import (
    CommandWithNextCall,
    ControlFunction,
    ControlState,
)


def check_control_period(period: float) -> float:
    """A time between two calls of a controller [s], refused where it is none.

    Raises:
        ParameterError: it is not above zero, or not finite.
    """
    if not (math.isfinite(period) and period > 0):
        raise ParameterError(f"the control period must be above zero, not {period}")
    return period


class ControlClock:
    """Calls a controller every period, or when it asked for it.

    Args:
        controller: what is called.
        period: time between calls [s].

    Attributes:
        next_call: time of the next call [s]; infinite before :meth:`start`.
    """

    def __init__(self, controller: ControlFunction, period: float) -> None:
        """Nothing is due yet."""
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
