# SPDX-License-Identifier: Apache-2.0
"""Commands that wait for a delay, and then act.

Also the state of one actuator, in the form of the message ActuatorState.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import nan
from typing import Any, ClassVar, NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.results.records import Event, Signal

_NOTHING = np.zeros(0)


class StateSignal(NamedTuple):
    """A field of actuators' states that runs keep, its word there and its unit."""

    word: str
    field: str
    unit: str


def numbers(command: Any) -> np.ndarray:
    """A command as a new array of numbers."""
    try:
        return np.array(command, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"a command is of numbers, not {command!r}") from None


class DelayedActuation(Actuation, ABC):
    """An actuation with commands, which act after a delay; a parent for others.

    A command that is given at t acts at t + delay [s]; any number may be on the way.

    Attributes:
        KIND: word before the names of its signals in runs.
        SIGNALS: what runs keep of each actuator.
        actuator_names: in the order of :meth:`states`; of all that a command has a
            number for.
    """

    KIND: ClassVar[str] = "actuation"
    SIGNALS: ClassVar[tuple[StateSignal, ...]] = ()

    def __init__(
        self, names: tuple[str, ...], meaning: str, delay: float = 0.0
    ) -> None:
        if not (math.isfinite(delay) and delay >= 0):
            raise ParameterError(f"the control delay must be 0 or more, not {delay}")
        self.actuator_names, self._meaning, self.delay = names, meaning, delay
        self._queue: deque[tuple[float, np.ndarray]] = deque()

    @property
    def pending(self) -> tuple[tuple[float, np.ndarray], ...]:
        """Commands on the way: (when they act, command), the next one first."""
        return tuple(self._queue)

    @abstractmethod
    def apply(self, t: float, command: np.ndarray) -> None:
        """Let a command act from now on."""

    def check(self, command: Any) -> np.ndarray:
        """A command as an array, refused where it is not one."""
        values = numbers(command)
        size = len(self.actuator_names)
        if values.shape != (size,) or not np.isfinite(values).all():
            raise ParameterError(
                f"must be {size} finite {self._meaning}, not {command}"
            )
        return values

    def states(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[Any, ...]:
        """The state of every actuator that has a name."""
        return ()

    def state_columns(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The fields of ``SIGNALS``, each of all actuators (n,)."""
        states = self.states(t, q, v, z)
        return tuple(
            np.array([float(getattr(state, kept.field)) for state in states])
            for kept in self.SIGNALS
        )

    def signals(self) -> tuple[Signal, ...]:
        """The queue of commands, then each actuator's own (manual, section 6.1.3)."""
        return (
            Signal(f"{self.KIND}/waiting_commands", "1"),
            Signal(f"{self.KIND}/next_effect", "s"),
            *(
                Signal(f"{self.KIND}/{name}/{kept.word}", kept.unit)
                for name in self.actuator_names
                for kept in self.SIGNALS
            ),
        )

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals`; NaN for times that are not known."""
        queue = [len(self._queue), self._queue[0][0] if self._queue else math.nan]
        columns = self.state_columns(t, q, v, z)
        rows = np.column_stack(columns).ravel() if columns else _NOTHING
        numbers = np.concatenate([queue, rows])
        numbers[np.isinf(numbers)] = math.nan
        return numbers

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Forget what was on the way."""
        self._queue.clear()
        return np.zeros(self.nz)

    def command(self, t: float, command: Any) -> None:
        """Send a command on its way; without a delay it acts now."""
        checked = self.check(command)
        if self.delay == 0.0:
            self.apply(t, checked)
        else:
            self._queue.append((t + self.delay, checked))

    def next_time(self, t: float) -> float:
        """When the next command arrives [s]."""
        return self._queue[0][0] if self._queue else math.inf

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Let commands act whose time has come."""
        while self._queue and self._queue[0][0] <= t:
            self.apply(t, self._queue.popleft()[1])
        return z, ()


class CommandKind(IntEnum):
    """The meaning of a command; numbers are those of the message."""

    TORQUE = 0
    POSITION = 1
    VOLTAGE = 2


@dataclass(frozen=True)
class ActuatorState:
    """State of one actuator; NaN for what it does not model.

    Attributes:
        name: the actuator's; its joint's where it drives one joint alone.
        kind: what its command means.
        command: last command received [N m, rad or V].
        applied: command in effect, after delay and limits [N m, rad or V].
        position: of the actuator's shaft [rad].
        velocity: of the shaft [rad/s].
        torque: on the shaft [N m].
        saturated: whether a limit acts.
        gear_ratio: shaft speed over joint speed in this posture; NaN where the actuator
            drives several joints.
        current: [A].
        voltage: [V].
        electrical_power: taken from the supply, negative when given back [W].
    """

    name: str
    kind: CommandKind
    command: float
    applied: float
    position: float
    velocity: float
    torque: float
    saturated: bool = False
    gear_ratio: float = 1.0
    current: float = nan
    voltage: float = nan
    electrical_power: float = nan
