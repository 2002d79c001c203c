# SPDX-License-Identifier: Apache-2.0
r"""Dry friction of joints as contacts: a brake shoe on each joint.

A shoe of mass m rests on the joint by its weight, which is the dry friction c of the
joint: :math:`m g = c`, with a coefficient of friction of one. It can lift off the joint
by a coordinate of its own, but nothing ever makes it: its normal force is c, so the
joint is held by anything up to c and slides against c. That is the set-valued law
:math:`r \in c \operatorname{Sgn}(\dot q)` without rounding off, and events of sticking
and sliding come with it. In an impact the shoe gives no impulse, as a friction torque
of finite size must not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.core.constants import GRAVITY
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import EVENT_DRIVEN, SLOW, Terms
from humans_sim.results.contact_table import ContactTable
from humans_sim.results.events import Event

SHOE = "shoe"
"""Kind of the contact of a shoe with its joint."""


class BrakedChart:
    """Coordinates of the model, then the heights of the shoes."""

    def __init__(self, chart: Chart, heights: np.ndarray) -> None:
        """Coordinates around a configuration."""
        self._chart, self._heights = chart, heights

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(x) - len(self._heights)
        return x[:n], x[n:]

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        own, lifted = self._split(x)
        return np.concatenate([self._chart.configuration(own), self._heights + lifted])

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        own, lifting = self._split(v)
        return np.concatenate([self._chart.rates(self._split(x)[0], own), lifting])

    def worn(self, x: np.ndarray) -> bool:
        """Whether the model's coordinates are."""
        return self._chart.worn(self._split(x)[0])


class BrakedSystem:
    """A model whose joints with dry friction have brake shoes.

    Contacts are those of the model, then a shoe for each joint; configurations and
    velocities likewise.

    Args:
        inner: the model in its scene.

    Attributes:
        inner: the same.
    """

    methods: tuple[str, ...] = (EVENT_DRIVEN,)

    def __init__(self, inner: ModelSystem) -> None:
        """Put shoes on its joints."""
        self.inner, self._joints = inner, inner.rubbing_joints
        self._weight = inner.dissipation.friction[self._joints]
        names = [inner.velocity_names[j] for j in self._joints]
        shoes = len(names)
        self.name = inner.name
        self.nq, self.nv = inner.nq + shoes, inner.nv + shoes
        lifts = tuple(f"{name}/shoe" for name in names)
        self.position_names = (*inner.position_names, *lifts)
        self.velocity_names = (*inner.velocity_names, *lifts)
        self.locked, self.thinnest = inner.locked, inner.thinnest
        table = inner.contacts
        self._count = len(table)
        self.contacts = ContactTable.of(
            names=(*table.names, *(f"{name}/friction" for name in names)),
            kinds=(*table.kinds, *(SHOE,) * shoes),
            tangents=np.concatenate([table.tangents, np.ones(shoes, dtype=np.int64)]),
            friction=np.concatenate([table.friction, np.ones(shoes)]),
            restitution=np.concatenate([table.restitution, np.zeros(shoes)]),
        )

    def inner_state(
        self, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity of the model alone."""
        return q[: self.inner.nq], v[: self.inner.nv]

    def with_shoes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity with all shoes at rest on their joints."""
        rest = np.zeros(len(self._joints))
        return np.concatenate([q, rest]), np.concatenate([v, rest])

    def largest_deceleration(self, q: np.ndarray) -> float:
        """What dry friction alone does to the joints, at most [rad/s^2]."""
        terms = self.terms(q, np.zeros(self.nv), np.zeros(0, dtype=np.int64))
        mobility = np.diag(np.linalg.inv(terms.mass))[self._joints]
        return float((self._weight * mobility).max())

    def chart(self, q: np.ndarray) -> BrakedChart:
        """Coordinates around a configuration."""
        n = self.inner.nq
        return BrakedChart(self.inner.chart(q[:n]), np.array(q[n:]))

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""
        self.inner.check_state(*self.inner_state(q, v))

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        own = which < self._count
        terms = self.inner.terms(*self.inner_state(q, v), which[own])
        n = self.inner.nv
        mass = np.zeros((self.nv, self.nv))
        mass[:n, :n] = terms.mass
        mass[range(n, self.nv), range(n, self.nv)] = self._weight / GRAVITY
        gap, drift = np.zeros(len(which)), np.zeros((len(which), 3))
        rows = np.zeros((len(which), 3, self.nv))
        gap[own], drift[own] = terms.gap, terms.drift
        rows[own, :, :n] = terms.jacobian
        mine, shoe = np.flatnonzero(~own), which[~own] - self._count
        rows[mine, 0, n + shoe] = 1.0
        rows[mine, 1, self._joints[shoe]] = 1.0
        gap[mine] = q[self.inner.nq + shoe]
        return Terms(mass, np.concatenate([terms.bias, self._weight]), gap, rows, drift)

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        gap, rate = self.gap_rates(q, v)
        near = (gap <= time * np.maximum(-rate, SLOW)) | (closed != 0)
        which = np.flatnonzero(near)
        return which, self.terms(q, v, which)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        n = self.inner.nq
        return np.concatenate([self.inner.gaps(q[:n]), q[n:]])

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates [m, m/s; rad, rad/s]."""
        gap, rate = self.inner.gap_rates(*self.inner_state(q, v))
        heights, lifting = q[self.inner.nq :], v[self.inner.nv :]
        return np.concatenate([gap, heights]), np.concatenate([rate, lifting])

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy of the model [J]."""
        return self.inner.energies(*self.inner_state(q, v))

    def point_force(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link (nv,)."""
        own = self.inner.point_force(q[: self.inner.nq], link, point, force)
        return np.concatenate([own, np.zeros(len(self._joints))])


class BrakedActuation(Actuation):
    """An actuation that sees the model without the shoes.

    Args:
        system: the model with shoes.
        inner: the actuation.
    """

    def __init__(self, system: BrakedSystem, inner: Actuation) -> None:
        """Hand everything on."""
        self._system, self._inner = system, inner
        self.nz, self.z_names = inner.nz, inner.z_names
        self._rest = np.zeros(system.nv - system.inner.nv)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Start the actuation."""
        return self._inner.initialise(t, *self._system.inner_state(q, v))

    def command(self, t: float, command: Any) -> None:
        """Hand a command on."""
        self._inner.command(t, command)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Its forces; none act on the shoes."""
        own = self._system.inner_state(q, v)
        force, rates = self._inner.dynamics(t, *own, z)
        return np.concatenate([force, self._rest]), rates

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Its signals."""
        return self._inner.detect(t, *self._system.inner_state(q, v), z)

    def next_time(self, t: float) -> float:
        """Its next event [s]."""
        return self._inner.next_time(t)

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Let it handle its events."""
        return self._inner.handle(t, *self._system.inner_state(q, v), z, fired)

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Let it adapt to a jump of the mechanics."""
        return self._inner.reset(t, *self._system.inner_state(q, v), z)
