# SPDX-License-Identifier: Apache-2.0
r"""The thesis' contact law: a linear force of the overlap, with dry frictions.

Perez (1994, 6.4.2): on ball i of a pair

.. math:: F_i = K \max(0, r_i + r_j - |C_i - C_j|) \frac{C_i - C_j}{|C_i - C_j|}

(the sign of E11 as printed attracts), and the opposite on ball j. Frictions of annex
10.4: a force f N against sliding, a couple :math:`f_p N` against pivoting about the
normal, a couple :math:`f_r N` against rolling. Viscous friction (5 % in chapter 8)
slows every free bone: forces and couples of :math:`\nu` times its momenta.

Departure: a dry friction has no direction at rest, which no explicit integrator passes;
below a small speed it is proportional to the speed.

*Percussions*: velocities of two bones that collide without friction jump. Perez (1994,
6.4.1): :math:`m \Delta v = P` and :math:`\Delta \sigma = GC \wedge P`, closed by
Newton's restitution :math:`v_n^1 = -e\, v_n^0` (E10 lacks the sign). Percussions with
friction, and several at once, are the contact problem of
:mod:`humans_sim.contact.problem.impact`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.bodies.loads import Moving
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.arrays import finite_array
from humans_sim.core.kernels import kernel


class PenaltyNumbers(NamedTuple):
    """Numbers of the penalty law; see :class:`PenaltyLaw`."""

    stiffness: float
    friction: float
    rolling: float
    pivoting: float
    slip_speed: float
    slip_spin: float


class ContactArrays(NamedTuple):
    """Bodies, depths, normals and points of contacts."""

    body_i: np.ndarray
    body_j: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    point: np.ndarray


@kernel
def add_penalty(contacts, moving, law, force, torque):
    """Add the forces of contacts at the centres (n, 3) [N], and their torques [N m].

    Moving are centres x, rotations, velocities v and spins w of the bodies; the energy
    stored in the overlaps is returned [J].
    """
    x, _, v, w = moving
    energy = 0.0
    f, c = np.empty(3), np.empty(3)
    for n in range(len(contacts.depth)):
        depth = contacts.depth[n]
        if depth <= 0.0:
            continue
        i, j = contacts.body_i[n], contacts.body_j[n]
        e, p = contacts.normal[n], contacts.point[n]
        load = law.stiffness * depth
        energy += 0.5 * law.stiffness * depth * depth
        for k in range(3):
            f[k], c[k] = load * e[k], 0.0
        if law.friction > 0.0:
            _slide(moving, i, j, e, p, (law, load, f))
        if law.rolling > 0.0 or law.pivoting > 0.0:
            _turn(w, i, j, e, (law, load, c))
        for body, sign in ((i, 1.0), (j, -1.0)):
            a0, a1, a2 = p[0] - x[body, 0], p[1] - x[body, 1], p[2] - x[body, 2]
            torque[body, 0] += sign * (a1 * f[2] - a2 * f[1] + c[0])
            torque[body, 1] += sign * (a2 * f[0] - a0 * f[2] + c[1])
            torque[body, 2] += sign * (a0 * f[1] - a1 * f[0] + c[2])
            for k in range(3):
                force[body, k] += sign * f[k]
    return energy


@kernel
def _slide(moving, i, j, e, p, acting):
    """Dry friction against the sliding velocity at the point."""
    x, _, v, w = moving
    law, load, f = acting
    u = np.empty(3)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        u[k] = v[i, k] + w[i, a] * (p[b] - x[i, b]) - w[i, b] * (p[a] - x[i, a])
        u[k] -= v[j, k] + w[j, a] * (p[b] - x[j, b]) - w[j, b] * (p[a] - x[j, a])
    along = u[0] * e[0] + u[1] * e[1] + u[2] * e[2]
    speed = 0.0
    for k in range(3):
        u[k] -= along * e[k]
        speed += u[k] * u[k]
    speed = math.sqrt(speed)
    share = law.friction * load / max(speed, law.slip_speed)
    for k in range(3):
        f[k] -= share * u[k]


@kernel
def _turn(w, i, j, e, acting):
    """Couples against pivoting about the normal and rolling across it."""
    law, load, c = acting
    r0, r1, r2 = w[i, 0] - w[j, 0], w[i, 1] - w[j, 1], w[i, 2] - w[j, 2]
    about = r0 * e[0] + r1 * e[1] + r2 * e[2]
    t0, t1, t2 = r0 - about * e[0], r1 - about * e[1], r2 - about * e[2]
    spin = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    pivot = law.pivoting * load * about / max(abs(about), law.slip_spin)
    roll = law.rolling * load / max(spin, law.slip_spin)
    c[0] = -pivot * e[0] - roll * t0
    c[1] = -pivot * e[1] - roll * t1
    c[2] = -pivot * e[2] - roll * t2


@dataclass(frozen=True)
class PenaltyLaw:
    """Numbers of the contact law.

    Attributes:
        stiffness: K, of each pair of balls [N/m].
        friction: f, against sliding.
        rolling: f_r, against rolling [m].
        pivoting: f_p, against pivoting [m].
        viscosity: nu, of free bones [1/s].
        slip_speed: below it friction is proportional to the speed [m/s].
        slip_spin: the same of rolling and pivoting [rad/s].
    """

    stiffness: float = 2e4
    friction: float = 0.0
    rolling: float = 0.0
    pivoting: float = 0.0
    viscosity: float = 5.0
    slip_speed: float = 1e-4
    slip_spin: float = 1e-2

    def __post_init__(self) -> None:
        for name in ("stiffness", "slip_speed", "slip_spin"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise AnatomyError(f"{name} must be positive, not {value}")
        for name in ("friction", "rolling", "pivoting", "viscosity"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise AnatomyError(f"{name} must not be negative, not {value}")

    def add(
        self, contacts: Contacts, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> float:
        """Add the forces of contacts at the bones' centres and torques about them.

        To (n, 3) [N] and [N m]; the energy stored in the overlaps is returned [J].
        """
        c = contacts
        arrays = ContactArrays(c.body_i, c.body_j, c.depth, c.normal, c.point)
        values = (getattr(self, name) for name in PenaltyNumbers._fields)
        numbers = PenaltyNumbers(*map(float, values))
        fields = tuple(np.ascontiguousarray(part, dtype=float) for part in moving)
        return float(add_penalty(arrays, fields, numbers, force, torque))

    def friction_share(self, contacts: Contacts, moving: Moving) -> float:
        """Greatest force against sliding over its normal force."""
        if self.friction == 0.0 or contacts.count == 0:
            return 0.0
        slip = np.zeros_like(contacts.point)
        for bodies, sign in ((contacts.body_i, 1.0), (contacts.body_j, -1.0)):
            arm = contacts.point - moving.x[bodies]
            slip += sign * (moving.v[bodies] + np.cross(moving.w[bodies], arm))
        along = np.einsum("ni,ni->n", slip, contacts.normal)
        slip -= along[:, None] * contacts.normal
        speed = float(np.linalg.norm(slip, axis=1).max())
        return self.friction * min(speed / self.slip_speed, 1.0)


def percussion(
    bodies: RigidBodies,
    state: BodyState,
    pair: tuple[int, int],
    point: np.ndarray,
    normal: np.ndarray,
    restitution: float = 0.0,
) -> tuple[BodyState, float]:
    """The state after two bodies of a scene collide, and the percussion [N s].

    They touch at a point (3,) [m], with a unit normal from the second to the first
    (3,), and a restitution e of 0 to 1; the percussion along it is zero where they part
    already.
    """
    if not 0 <= restitution <= 1:
        raise AnatomyError(f"restitution is 0 to 1, not {restitution}")
    place = finite_array(point, (3,), "point of a percussion", AnatomyError)
    along = finite_array(normal, (3,), "normal of a percussion", AnatomyError)
    if abs(float(along @ along) - 1) > 1e-9:
        raise AnatomyError("the normal of a percussion must be a unit vector")
    speeds, spins = bodies.velocities(state), bodies.spins(state)
    approach, mobility = 0.0, 0.0
    arms = []
    for body, sign in zip(pair, (1.0, -1.0), strict=True):
        arm = place - state.x[body]
        turned = np.cross(arm, along)
        inverse = state.R[body] @ bodies.inverses[body] @ state.R[body].T
        mobility += 1 / bodies.masses[body] + float(turned @ inverse @ turned)
        approach += sign * float(along @ (speeds[body] + np.cross(spins[body], arm)))
        arms.append(turned)
    after = state.copy()
    if approach >= 0:
        return after, 0.0
    strength = -(1 + restitution) * approach / mobility
    for body, sign, turned in zip(pair, (1.0, -1.0), arms, strict=True):
        after.P[body] += sign * strength * along
        after.L[body] += sign * strength * turned
    return after, strength
