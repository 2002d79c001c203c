# SPDX-License-Identifier: Apache-2.0
"""Several actuations of one model at once: muscles here, motors there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.results.records import Event, Signal


class CompositeActuation(Actuation):
    """The sum of several actuations; their states stand one after the other in z.

    A command is a sequence of one command for each part, None for a part that keeps its
    own. Each part delays its commands as it does alone.

    Args:
        parts: the actuations.
    """

    def __init__(self, parts: Sequence[Actuation]) -> None:
        if not parts:
            raise ParameterError("there is nothing to put together")
        self.parts = tuple(parts)
        self.nz, self._owners = 0, list[tuple[Actuation, slice]]()
        for part in parts:
            self._owners.append((part, slice(self.nz, self.nz + part.nz)))
            self.nz += part.nz
        self.z_names = tuple(name for part in parts for name in part.z_names)
        inertias = [part.armature for part in parts if part.armature is not None]
        self.armature = np.sum(inertias, axis=0) if inertias else None
        self.frictional_joints = tuple(
            dict.fromkeys(name for part in parts for name in part.frictional_joints)
        )
        self._signals = [0] * len(parts)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Start all of them."""
        return np.concatenate([part.initialise(t, q, v) for part in self.parts])

    def command(self, t: float, command: Sequence[np.ndarray | None]) -> None:
        """Give each part its command; None leaves a part alone."""
        if len(command) != len(self.parts):
            raise ParameterError(
                f"{len(self.parts)} commands must be given, one for each actuation, "
                f"not {len(command)}"
            )
        for part, own in zip(self.parts, command, strict=True):
            if own is not None:
                part.command(t, own)

    def expect_commands_every(self, period: float) -> None:
        """Let every part know the time between two commands [s]."""
        for part in self.parts:
            part.expect_commands_every(period)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the forces, and all rates."""
        force, rates = np.zeros(len(v)), np.empty(self.nz)
        for part, own in self._owners:
            added, rates[own] = part.dynamics(t, q, v, z[own])
            force += added
        return force, rates

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The signals of all of them."""
        signals = [part.detect(t, q, v, z[own]) for part, own in self._owners]
        self._signals = [len(own) for own in signals]
        return np.concatenate(signals)

    def next_time(self, t: float) -> float:
        """The earliest of all events that are known in advance [s]."""
        return min(part.next_time(t) for part in self.parts)

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Each part handles its own events."""
        z, happened, first = z.copy(), list[Event](), 0
        for (part, own), count in zip(self._owners, self._signals, strict=True):
            mine = fired[first : first + count]
            first += count
            if mine.any() or part.next_time(t) <= t:
                z[own], events = part.handle(t, q, v, z[own], mine)
                happened += events
        return z, happened

    def signals(self) -> tuple[Signal, ...]:
        """Those of all of them."""
        return tuple(signal for part in self.parts for signal in part.signals())

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals`."""
        values = [part.signal_values(t, q, v, z[own]) for part, own in self._owners]
        return np.concatenate(values)

    def record(self) -> dict[str, dict[str, Any]]:
        """That of all of them."""
        whole: dict[str, dict[str, Any]] = {}
        for part in self.parts:
            for key, entries in part.record().items():
                whole.setdefault(key, {}).update(entries)
        return whole

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Each part adapts to a jump of the mechanics."""
        states = [part.reset(t, q, v, z[own]) for part, own in self._owners]
        return np.concatenate(states)
