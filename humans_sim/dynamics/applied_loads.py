# SPDX-License-Identifier: Apache-2.0
"""Everything but contacts that acts on a system: its actuation, and pushes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.drive_kernels import DriveTable
from humans_sim.dynamics.pushes import Pushes
from humans_sim.dynamics.state import State
from humans_sim.dynamics.system import System
from humans_sim.results import events as kinds
from humans_sim.results.events import Event


class Loads(NamedTuple):
    """What acts at one state.

    Attributes:
        torques: of the actuation (nv,) [N m, N].
        applied: the same with pushes (nv,) [N m, N].
        rates: of the states of the actuation (nz,).
    """

    torques: np.ndarray
    applied: np.ndarray
    rates: np.ndarray


class AppliedLoads:
    """The actuation of a system together with pushes from outside.

    Args:
        system: what they act on.
        actuation: its states are those of :class:`~humans_sim.dynamics.state.State`.
    """

    def __init__(self, system: System, actuation: Actuation) -> None:
        """No push yet."""
        self._system, self.actuation = system, actuation
        self.pushes = Pushes(system)

    def at(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> Loads:
        """The loads at a state.

        What acts along a locked velocity is supported by the lock.
        """
        torques, rates = self.actuation.dynamics(t, q, v, z)
        locked = self._system.locked
        if locked.size:
            torques = torques.copy()
            torques[locked] = 0.0
        if self.pushes.active:
            return Loads(torques, torques + self.pushes.force(t, q), rates)
        return Loads(torques, torques, rates)

    def drives(self) -> DriveTable | None:
        """The same until the next event, for kernels; None where that is no table."""
        return None if self.pushes.active else self.actuation.drives()

    def signals(self, state: State) -> np.ndarray:
        """Functions of the actuation whose change of sign is an event."""
        return self.actuation.detect(state.t, state.q, state.v, state.z)

    def handle_events(self, state: State, fired: np.ndarray | None = None) -> None:
        """Let the actuation handle its events.

        Args:
            state: its z and events change.
            fired: which of its signals fired; none where only a time has come.
        """
        if fired is None:
            fired = np.zeros(len(self.signals(state)), dtype=bool)
        state.z, happened = self.actuation.handle(
            state.t, state.q, state.v, state.z, fired
        )
        state.events.extend(happened)

    def add_push(
        self,
        state: State,
        link: str,
        point: np.ndarray,
        impulse: np.ndarray,
        duration: float,
    ) -> None:
        """Push a link from now on by a constant force over a duration [s]."""
        force, end = impulse / duration, state.t + duration
        self.pushes.add(link, point, force, state.t, end)
        record_push(state, link, impulse, duration)


def record_push(state: State, link: str, impulse: np.ndarray, duration: float) -> None:
    """Add the event of a push."""
    text = f"{np.linalg.norm(impulse):g} N s in {duration:g} s"
    state.events.append(Event(state.t, kinds.PUSH, link, {"text": text}))
