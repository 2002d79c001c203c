# SPDX-License-Identifier: Apache-2.0
r"""The interface of a mechanical system, its state and local coordinates.

Two kinds fulfil it: a biped model in its scene
(:class:`~humans_sim.dynamics.model_system.ModelSystem`) and any system given by its
mass matrix, forces and gaps in general coordinates
(:class:`~humans_sim.dynamics.problems.GeneralSystem`).

The parts of a stepper share one state.

*Local coordinates* integrate a manifold. A configuration with a quaternion is no
vector: adding to it leaves the unit sphere, and normalising afterwards hides an error.
Here the integrator works on plain coordinates x around a centre, q = centre [+] x,
whose rates follow exactly from the velocity:

.. math:: \dot\varphi = \left(I + \tfrac12 [\varphi] +
   \left(\frac{1}{\theta^2} - \frac{1 + \cos\theta}{2\theta\sin\theta}\right)
   [\varphi]^2\right)\omega

for the rotation vector phi of a free base. Near a half turn the coordinates end; the
simulation takes a new centre long before (:attr:`Chart.worn`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from humans_sim.core.kernels import kernel, small_vector
from humans_sim.results.records import ContactTable, Event


@dataclass
class State:
    """A system at one time, with what happened to it so far."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    events: list[Event] = field(default_factory=list)


WORN = 1.0
"""Rotation from the centre beyond which a new centre must be taken [rad]."""
_SERIES = 1e-4


class Chart(Protocol):
    """Coordinates x (nv,) around a centre."""

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""

    def worn(self, x: np.ndarray) -> bool:
        """Whether x is so far out that a new centre should be taken."""


class FlatChart:
    """Coordinates of a vector space: the identity."""

    def __init__(self, centre: np.ndarray) -> None:
        self._centre = np.array(centre, dtype=float)

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        return self._centre + x

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The velocity itself."""
        return v

    def worn(self, x: np.ndarray) -> bool:
        """Never."""
        return False


class FreeBaseChart:
    """Coordinates of a free base and joints: shift, rotation vector, joint angles.

    Attributes:
        centre: where they are zero; its quaternion has unit length (nq,).
    """

    def __init__(self, centre: np.ndarray) -> None:
        self.centre = np.array(centre, dtype=float)
        normalise_quaternion(self.centre)

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x, its quaternion of unit length by construction."""
        return free_base_configuration(self.centre, x)

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v (base velocity in the base frame)."""
        return free_base_rates(self.centre, x, v)

    def worn(self, x: np.ndarray) -> bool:
        """Whether the base has turned far from the centre's attitude."""
        return float(x[3] ** 2 + x[4] ** 2 + x[5] ** 2) > WORN**2


@kernel(borrows=True)
def normalise_quaternion(q):
    """Give the quaternion unit length, in place."""
    length = np.sqrt(q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2)
    for k in range(3, 7):
        q[k] /= length


@kernel(borrows=True)
def place_free_base(centre, x, q):
    """Fill place and quaternion at x around a centre of unit quaternion (7,)."""
    for k in range(3):
        q[k] = centre[k] + x[k]
    angle = np.sqrt(x[3] ** 2 + x[4] ** 2 + x[5] ** 2)
    if angle < _SERIES:
        scale = 0.5 - angle**2 / 48
    else:
        scale = np.sin(angle / 2) / angle
    ax, ay, az, aw = scale * x[3], scale * x[4], scale * x[5], np.cos(angle / 2)
    cx, cy, cz, cw = centre[3], centre[4], centre[5], centre[6]
    q[3] = cw * ax + cx * aw + cy * az - cz * ay
    q[4] = cw * ay - cx * az + cy * aw + cz * ax
    q[5] = cw * az + cx * ay - cy * ax + cz * aw
    q[6] = cw * aw - cx * ax - cy * ay - cz * az


@kernel
def free_base_configuration(centre, x):
    """The configuration at x around a centre of unit quaternion."""
    q = np.empty(centre.shape[0])
    place_free_base(centre, x, q)
    for k in range(7, centre.shape[0]):
        q[k] = centre[k] + x[k - 1]
    return q


@kernel
def free_base_rates(centre, x, v):
    """The rates of x around a centre at the velocity v."""
    rates = v.copy()
    turn_free_base(centre, x, v, rates)
    return rates


@kernel(borrows=True)
def turn_free_base(centre, x, v, rates):
    """Fill the first six of these rates."""
    q = small_vector(7)
    place_free_base(centre, x, q)
    u0, u1, u2, w = q[3], q[4], q[5], q[6]
    # linear velocity, turned to the world: v + 2 w (u x v) + 2 u x (u x v)
    c0 = u1 * v[2] - u2 * v[1]
    c1 = u2 * v[0] - u0 * v[2]
    c2 = u0 * v[1] - u1 * v[0]
    rates[0] = v[0] + 2 * (w * c0 + u1 * c2 - u2 * c1)
    rates[1] = v[1] + 2 * (w * c1 + u2 * c0 - u0 * c2)
    rates[2] = v[2] + 2 * (w * c2 + u0 * c1 - u1 * c0)
    p0, p1, p2 = x[3], x[4], x[5]
    square = p0 * p0 + p1 * p1 + p2 * p2
    angle = np.sqrt(square)
    if angle < 1e-2:
        factor = 1 / 12 + square / 720 + square * square / 30240
    else:
        factor = 1 / square - (1 + np.cos(angle)) / (2 * angle * np.sin(angle))
    o0, o1, o2 = v[3], v[4], v[5]
    c0 = p1 * o2 - p2 * o1
    c1 = p2 * o0 - p0 * o2
    c2 = p0 * o1 - p1 * o0
    rates[3] = o0 + 0.5 * c0 + factor * (p1 * c2 - p2 * c1)
    rates[4] = o1 + 0.5 * c1 + factor * (p2 * c0 - p0 * c2)
    rates[5] = o2 + 0.5 * c2 + factor * (p0 * c1 - p1 * c0)


EVENT_DRIVEN, TIME_STEPPING = "event_driven", "time_stepping"
"""Names of the methods."""
SLOW = 0.05
"""Speed that impulses at others may well give to a contact in a step [m/s, rad/s]."""


class Terms(NamedTuple):
    """The equations of motion at one state, with some of the contacts.

    ``mass @ a + bias = torques + sum of jacobian.T @ force``; rows of a contact are its
    normal and its tangents, unused ones are zero.

    Attributes:
        mass: (nv, nv).
        bias: nonlinear effects and gravity (nv,).
        gap: (k,) [m, or rad at a joint limit].
        jacobian: (k, 3, nv).
        drift: acceleration of the contacts at zero acceleration (k, 3).
    """

    mass: np.ndarray
    bias: np.ndarray
    gap: np.ndarray
    jacobian: np.ndarray
    drift: np.ndarray


class TouchingBodies(Protocol):
    """Parts of a system that the laws of contact need at one state."""

    nv: int
    contacts: ContactTable

    def chart(self, q: np.ndarray) -> Chart:
        """Local coordinates around a configuration."""

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which`` (indices)."""

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts (nc,)."""

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates (nc,), (nc,)."""


def closing_terms(
    system: Any, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
) -> tuple[np.ndarray, Terms]:
    """The contacts that are closed or close within a time, and their equations."""
    gap, rate = system.gap_rates(q, v)
    near = gap <= time * np.maximum(-rate, SLOW)
    which = np.flatnonzero(near | (closed != 0))
    return which, system.terms(q, v, which)


class System(TouchingBodies, Protocol):
    """A mechanical system with unilateral contacts."""

    name: str
    nq: int
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    locked: np.ndarray
    """Indices of velocities that stay zero, whatever acts on them."""
    thinnest: float
    """Least thickness of what may be touched [m]; infinity where nothing is thin."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that its equations are enough for."""

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts (indices) that the next moment may need, and their equations.

        Those whose gaps close within ``time`` [s], at their rates or when others push
        them to the speed SLOW; and those whose ``closed`` (nc,) is not zero.
        """

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
