# SPDX-License-Identifier: Apache-2.0
"""The closed contacts between two events, and what each of them does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.contact.problem.force_distribution import (
    ContactForceSplit,
    best_split,
    margins,
)
from humans_sim.contact.problem.modes import SLIDE, STICK, idle_forces
from humans_sim.dynamics.event_driven.creep_kernels import CreepingContacts
from humans_sim.dynamics.system import TouchingBodies

_SLIPS, _RESTS = 10.0, 3.0
"""Speeds, in creep speeds, above and below which a creeping contact is said to slide
and to stick."""
_TURNED = 0.999
"""Cosine of the angle between a direction and the remembered one that is too large."""
_STEPS = 8
"""Steps after which the forces without effect are determined anew."""


@dataclass
class ContactModes:
    """The closed contacts (k of them) while smooth motion lasts.

    Attributes:
        which: their indices among all contacts (k,).
        mode: STICK or SLIDE (k,).
        tangents: number of tangential directions (k,).
        friction: Coulomb's coefficients (k,).
        direction: unit directions of sliding (k, 2).
        reference: forces that redundant contacts stay near to (k, 3) [N].
        idle: projector on forces without effect, by
            :func:`~humans_sim.contact.problem.modes.idle_forces`.
        age: steps since that projector was determined.
        creeps: contacts whose friction follows their velocity; their mode is SLIDE
            (k,).
        sticks: which of these hardly move (k,).
    """

    which: np.ndarray
    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    direction: np.ndarray
    reference: np.ndarray
    idle: np.ndarray
    creeps: np.ndarray
    sticks: np.ndarray
    age: int = 0

    @classmethod
    def all_open(cls) -> ContactModes:
        """No contact is closed."""
        none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
        vectors = np.zeros((0, 2)), np.zeros((0, 3)), np.zeros((0, 0))
        return cls(none, none, none, numbers, *vectors, none > 0, none > 0)

    @classmethod
    def at(
        cls,
        system: TouchingBodies,
        q: np.ndarray,
        which: np.ndarray,
        mode: np.ndarray,
        direction: np.ndarray,
        reference: np.ndarray,
        creep: bool = False,
    ) -> ContactModes:
        """Contacts that are closed at a configuration.

        Args:
            system: what moves.
            q: configuration.
            which: their indices (k,).
            mode: STICK or SLIDE (k,).
            direction: of sliding (k, 2).
            reference: forces to stay near to (k, 3) [N].
            creep: whether contacts with friction creep, whatever their mode.
        """
        table = system.contacts
        tangents, friction = table.tangents[which], table.friction[which]
        creeps = np.zeros(len(which), dtype=bool)
        if creep:
            creeps = (tangents > 0) & np.isfinite(friction)
        modes = cls(
            which,
            np.where(creeps, SLIDE, mode),
            tangents,
            friction,
            direction,
            reference,
            np.zeros((0, 0)),
            creeps,
            creeps & (mode == STICK),
        )
        modes.determine_idle_forces(system, q)
        return modes

    def arrays(self, direction: np.ndarray) -> tuple[np.ndarray, ...]:
        """What :func:`acceleration_in_modes` takes of them.

        Args:
            direction: of sliding (k, 2).
        """
        return (
            self.mode,
            self.tangents,
            self.friction,
            direction,
            self.reference,
            self.idle,
        )

    def creeping(self, rate: float, creep_speed: float) -> tuple[Any, ...]:
        """Fields of a :class:`CreepingContacts`, as a plain tuple.

        Args:
            rate: at which drift decays [1/s].
            creep_speed: [m/s].
        """
        return tuple(
            CreepingContacts(
                self.mode, self.tangents, self.friction, self.idle, rate, creep_speed
            )
        )

    def closed(self, rate: float, creep_speed: float | None) -> tuple[Any, ...]:
        """Fields of a :class:`ClosedContacts`, as a plain tuple.

        Args:
            rate: at which drift decays [1/s].
            creep_speed: of contacts that creep [m/s]; None where none does.
        """
        own = self.arrays(self.direction)
        return (self.which, *own, rate, creep_speed or 0.0)

    @property
    def any_closed(self) -> bool:
        """Whether there is a closed contact at all."""
        return self.which.size > 0

    def of_all(self, count: int) -> np.ndarray:
        """Modes of all ``count`` contacts, the open ones among them."""
        mode = np.zeros(count, dtype=np.int64)
        mode[self.which] = np.where(self.sticks, STICK, self.mode)
        return mode

    def determine_idle_forces(self, system: TouchingBodies, q: np.ndarray) -> None:
        """Which parts of the contact forces do nothing, in this posture."""
        terms = system.terms(q, np.zeros(system.nv), self.which)
        self.idle = idle_forces(terms.mass, terms.jacobian, self.mode, self.tangents)
        self.age = 0

    def continue_after_step(
        self, system: TouchingBodies, q: np.ndarray, direction: np.ndarray
    ) -> bool:
        """Follow a step without events to its end.

        Args:
            system: what moves.
            q: configuration at the end.
            direction: of sliding there (k, 2).

        Returns:
            whether the right-hand side is another one from here on.
        """
        any_turned = False
        if not self.creeps.all():
            turned = (self.direction * direction).sum(axis=1) < _TURNED
            turned &= (self.mode == SLIDE) & ~self.creeps
            any_turned = bool(turned.any())
            if any_turned:
                self.direction = np.where(turned[:, None], direction, self.direction)
        self.age += 1
        renewed = self.any_closed and self.age >= _STEPS
        if renewed:
            before = self.idle
            self.determine_idle_forces(system, q)
            renewed = bool(before.any() or self.idle.any())
        return renewed or any_turned

    def sticking_of_creeping(
        self, motion: np.ndarray, creep_speed: float
    ) -> np.ndarray:
        """Which of the creeping contacts are said to stick, not to slide (k,).

        Args:
            motion: velocities of the contacts (k, 3) [m/s].
            creep_speed: [m/s].
        """
        square = motion[:, 1] ** 2 + motion[:, 2] ** 2
        bound = np.where(self.sticks, _SLIPS, _RESTS) * creep_speed
        sticks: np.ndarray = self.creeps & (square < bound**2)
        return sticks

    def margins(self, forces: np.ndarray) -> np.ndarray:
        """How far each contact is from lifting or slipping (k,) [N]."""
        return margins(forces, self.mode, self.tangents, self.friction)

    def least_margin(self, forces: np.ndarray) -> float:
        """The least of the margins [N]; infinite where no contact is closed."""
        return float(self.margins(forces).min(initial=math.inf))

    def best_distribution(
        self, forces: np.ndarray, jacobian: np.ndarray, direction: np.ndarray
    ) -> ContactForceSplit:
        """The forces of largest margin with the effect of ``forces``.

        Args:
            forces: (k, 3) [N].
            jacobian: of the contacts (k, 3, nv).
            direction: of sliding, now (k, 2).
        """
        if self.creeps.any():
            return ContactForceSplit(forces, self.least_margin(forces))
        return best_split(
            forces, jacobian, self.mode, self.tangents, self.friction, direction
        )
