# SPDX-License-Identifier: Apache-2.0
"""Commands that come from a control law, wait for a delay, and then act."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.results.events import Event

Law = Callable[[float, np.ndarray, np.ndarray, np.ndarray], Any]
"""A control law: (t, q, v, z) to a command, or to a :class:`CommandWithNextCall`."""


class CommandWithNextCall(NamedTuple):
    """A command of a law that chooses when it is called again.

    Attributes:
        command: the command, or None to leave things as they are.
        wait: time until the next call [s].
    """

    command: Any
    wait: float


def numbers(command: Any) -> np.ndarray:
    """A command as a new array of numbers.

    Raises:
        ParameterError: it holds something else.
    """
    try:
        return np.array(command, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"a command is of numbers, not {command!r}") from None


class ControlClock:
    """When a control law is called: every period, or when it asked for it.

    Args:
        law: the control law, or None.
        period: time between calls [s].
    """

    def __init__(self, law: Law | None, period: float) -> None:
        """Nothing is due before :meth:`start`."""
        if law is not None and not (math.isfinite(period) and period > 0):
            raise ParameterError(f"the control period must be above zero, not {period}")
        self._law, self._period = law, period
        self._start, self._calls = 0.0, 0
        self.next_call = math.inf

    def start(self, t: float) -> None:
        """Call the law first at t."""
        self._start, self._calls = t, 0
        self.next_call = math.inf if self._law is None else t

    def tick(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray,
        send: Callable[[float, Any], None],
    ) -> None:
        """Call the law where its time has come, and send what it commands."""
        while self.next_call <= t:
            answer = self._ask(t, q, v, z)
            if answer is not None:
                send(t, answer)

    def _ask(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> Any:
        """Call the law; returns its command."""
        assert self._law is not None
        answer = self._law(t, q, v, z)
        if not isinstance(answer, CommandWithNextCall):
            # Multiples of the period, not sums of it: no drift.
            self._calls += 1
            self.next_call = self._start + self._calls * self._period
            return answer
        if not (math.isfinite(answer.wait) and answer.wait > 0):
            raise ParameterError(
                f"a control law asked to be called again after {answer.wait} s"
            )
        self._start, self._calls = t + answer.wait, 0
        self.next_call = self._start
        return answer.command


class DelayedActuation(Actuation, ABC):
    """An actuation with commands, which act after a delay; a parent for others.

    Commands come from the simulation's controller by :meth:`command`, or from a control
    law of the actuation's own, called at exact times of its own. A command computed at
    t acts at t + delay; any number may be on the way.

    Args:
        size: entries of a command.
        meaning: what they are, for messages.
        law: control law called by the actuation itself, or None.
        period: time between its calls [s].
        delay: from the law's answer to its effect [s].

    Attributes:
        delay: the same.
    """

    def __init__(
        self,
        size: int,
        meaning: str,
        law: Law | None = None,
        period: float = 0.005,
        delay: float = 0.0,
    ) -> None:
        """Nothing on the way yet."""
        if not (math.isfinite(delay) and delay >= 0):
            raise ParameterError(f"the control delay must be 0 or more, not {delay}")
        self._size, self._meaning, self.delay = size, meaning, delay
        self._clock = ControlClock(law, period)
        self._queue: deque[tuple[float, np.ndarray]] = deque()

    @property
    def pending(self) -> tuple[tuple[float, np.ndarray], ...]:
        """Commands on the way: (when they act, command), the next one first."""
        return tuple(self._queue)

    @abstractmethod
    def apply(self, t: float, command: np.ndarray) -> None:
        """Let a command act from now on."""

    def check(self, command: Any) -> np.ndarray:
        """A command as an array, refused where it is not one.

        Raises:
            ParameterError: wrong size, or not finite.
        """
        values = numbers(command)
        if values.shape != (self._size,) or not np.isfinite(values).all():
            raise ParameterError(
                f"{self._size} finite {self._meaning} are wanted, not {command}"
            )
        return values

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Forget what was on the way; the law is called at once."""
        self._queue.clear()
        self._clock.start(t)
        return np.zeros(self.nz)

    def command(self, t: float, command: Any) -> None:
        """Send a command on its way; without a delay it acts now."""
        checked = self.check(command)
        if self.delay == 0.0:
            self.apply(t, checked)
        else:
            self._queue.append((t + self.delay, checked))

    def next_time(self, t: float) -> float:
        """When the law is called or a command arrives, whichever is first [s]."""
        arrival = self._queue[0][0] if self._queue else math.inf
        return min(self._clock.next_call, arrival)

    def handle(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray,
        fired: np.ndarray,
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Call the law and let commands act, where their time has come."""
        self._clock.tick(t, q, v, z, self.command)
        while self._queue and self._queue[0][0] <= t:
            self.apply(t, self._queue.popleft()[1])
        return z, ()
