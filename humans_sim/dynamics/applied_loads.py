# SPDX-License-Identifier: Apache-2.0
"""Applied loads of a system: actuation, pushes, a soft surface.

*Soft surface.* It has samples of its own. At each it finds the forces of its contacts,
which then are held up to the next one: both methods see a generalised force that is
constant from sample to sample, so that neither is stiff.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation, DriveTable
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.pushes import Pushes
from humans_sim.dynamics.system import State, System
from humans_sim.results import records as kinds
from humans_sim.results.records import Event, Sample


class SurfaceReaction(Protocol):
    """The reaction of a surface on a system.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
    """

    held: np.ndarray
    due: float

    def start(self, t: float) -> None:
        """Begin at a time [s], the surface at rest."""

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample; ``applied``: all that acts but this (nv,) [N m, N]."""

    def complete(self, sample: Sample) -> Sample:
        """A sample of the system with the contacts and the energy of the surface."""


class Loads(NamedTuple):
    """Loads at one state.

    Attributes:
        torques: of the actuation (nv,) [N m, N].
        applied: the same with pushes and the surface (nv,) [N m, N].
        rates: of the states of the actuation (nz,).
    """

    torques: np.ndarray
    applied: np.ndarray
    rates: np.ndarray


class AppliedLoads:
    """The actuation of a system together with pushes from outside.

    Attributes:
        reaction: of a surface that gives way; None where there is none.
    """

    def __init__(self, system: System, actuation: Actuation) -> None:
        self._system, self.actuation = system, actuation
        self.pushes = Pushes(system)
        surface = getattr(getattr(system, "ground", None), "surface", None)
        if surface is not None and not isinstance(system, ModelSystem):
            raise ParameterError("a ground that gives way carries a biped alone")
        self.reaction: SurfaceReaction | None = (
            None if surface is None else surface.reaction(system)
        )

    def at(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> Loads:
        """The loads at a state; a lock supports what acts along a locked velocity."""
        torques, rates = self.actuation.dynamics(t, q, v, z)
        locked = self._system.locked
        if locked.size:
            torques = torques.copy()
            torques[locked] = 0.0
        applied = torques
        if self.reaction is not None:
            applied = applied + self.reaction.held
        if self.pushes.active:
            applied = applied + self.pushes.force(t, q)
        return Loads(torques, applied, rates)

    def drives(self) -> DriveTable | None:
        """The same until the next event, for kernels; None where that is no table."""
        table = None if self.pushes.active else self.actuation.drives()
        if table is None or self.reaction is None:
            return table
        held = self.reaction.held
        return table._replace(held=held + table.held if table.held.size else held)

    def signals(self, state: State) -> np.ndarray:
        """Functions of the actuation whose change of sign is an event."""
        return self.actuation.detect(state.t, state.q, state.v, state.z)

    def handle_events(self, state: State, fired: np.ndarray | None = None) -> None:
        """Let the actuation handle its events; none fired: only a time has come."""
        if fired is None:
            fired = np.zeros(len(self.signals(state)), dtype=bool)
        state.z, happened = self.actuation.handle(
            state.t, state.q, state.v, state.z, fired
        )
        state.events.extend(happened)

    def update_surface(self, state: State) -> None:
        """Make a sample of the surface where one is due."""
        reaction = self.reaction
        if reaction is not None and reaction.due <= state.t:
            applied = self.at(state.t, state.q, state.v, state.z).applied
            held = reaction.held
            reaction.update(state.t, state.q, state.v, applied - held)

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
