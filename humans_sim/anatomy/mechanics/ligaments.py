# SPDX-License-Identifier: Apache-2.0
r"""Ligaments: strings between points of two bones that pull, and never push.

Perez (1994, 3.4 and 6.3) describes them without an equation: no force up to a length
:math:`s_l`, a strong elastic action near the greatest length :math:`l_{max}`. Here,
with the elongation :math:`e = l - s_l` and its limit :math:`E = l_{max} - s_l`,

.. math:: T = \frac{k\,e}{1 - (e/E)^2}, \qquad V = -\frac{k E^2}{2} \ln(1 - (e/E)^2):

of stiffness k where it begins to pull, without bound towards the greatest length. From
98 % of E on the curve continues along its tangent, so that an integrator's trial beyond
the limit finds a finite force. A taut ligament may be damped along itself; the sum of
both never pushes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.bodies.loads import Moving
from humans_sim.core.arrays import finite_array
from humans_sim.core.kernels import kernel

LINEAR = 0.98
"""Share of the greatest elongation from which the tension is linear."""


class TieArrays(NamedTuple):
    """Ligaments as arrays; see :class:`Ligament`. The span is greatest less slack."""

    body_i: np.ndarray
    body_j: np.ndarray
    point_i: np.ndarray
    point_j: np.ndarray
    slack: np.ndarray
    span: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


@kernel
def pull(ties, moving, force, torque, tension):
    """Add the pulls of ligaments at the centres (n, 3) [N], and their torques [N m].

    Moving are centres x, rotations, velocities v and spins w of the bodies; tensions
    (l,) [N], never below zero, are written.
    """
    x, frames, v, w = moving
    arms = np.empty((2, 3))
    span = np.empty(3)
    for n in range(len(tension)):
        i, j = ties.body_i[n], ties.body_j[n]
        square = 0.0
        for k in range(3):
            arms[0, k] = arms[1, k] = 0.0
            for m in range(3):
                arms[0, k] += frames[i, k, m] * ties.point_i[n, m]
                arms[1, k] += frames[j, k, m] * ties.point_j[n, m]
            span[k] = x[i, k] + arms[0, k] - x[j, k] - arms[1, k]
            square += span[k] * span[k]
        length = math.sqrt(square)
        tension[n] = 0.0
        if length <= ties.slack[n]:
            continue
        share = (length - ties.slack[n]) / ties.span[n]
        inner = min(share, LINEAR)
        rest = 1.0 - inner * inner
        law = inner / rest + (1.0 + inner * inner) / rest**2 * (share - inner)
        rate = 0.0
        if ties.damping[n] > 0.0:
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                u = v[i, k] + w[i, a] * arms[0, b] - w[i, b] * arms[0, a]
                u -= v[j, k] + w[j, a] * arms[1, b] - w[j, b] * arms[1, a]
                rate += u * span[k] / length
        pulled = ties.stiffness[n] * ties.span[n] * law + ties.damping[n] * rate
        tension[n] = max(pulled, 0.0)
        for side in range(2):
            body = i if side == 0 else j
            scale = (-1.0 if side == 0 else 1.0) * tension[n] / length
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                force[body, k] += scale * span[k]
                turn = arms[side, a] * span[b] - arms[side, b] * span[a]
                torque[body, k] += scale * turn


@dataclass(frozen=True)
class Ligament:
    """A ligament between two bones.

    Attributes:
        name: e.g. ``scapho-lunate``.
        body_i, body_j: numbers of the bones.
        point_i, point_j: attachments, from the bones' centres of mass, in their frames
            (3,) [m].
        slack: length up to which it does not pull, s_l [m].
        greatest: length that it does not reach, l_max [m].
        stiffness: where it begins to pull, k [N/m].
        damping: along it, while it is taut [N s/m].
    """

    name: str
    body_i: int
    point_i: Sequence[float]
    body_j: int
    point_j: Sequence[float]
    slack: float
    greatest: float
    stiffness: float
    damping: float = 0.0

    def __post_init__(self) -> None:
        if self.body_i == self.body_j:
            own = f"joins bone {self.body_i} to itself"
            raise AnatomyError(f"ligament {self.name} {own}")
        for what in ("point_i", "point_j"):
            point, name = getattr(self, what), f"{what} of {self.name}"
            finite_array(point, (3,), name, AnatomyError)
        if not 0 <= self.slack < self.greatest < np.inf:
            raise AnatomyError(
                f"ligament {self.name}: its slack length {self.slack} m must be below "
                f"its greatest {self.greatest} m"
            )
        if not (0 < self.stiffness < np.inf and 0 <= self.damping < np.inf):
            need = "stiffness must be positive and damping not negative"
            raise AnatomyError(f"ligament {self.name}: {need}")


class Ligaments:
    """Ligaments of a hand, all at once; a load of :mod:`humans_sim.bodies.loads`.

    Attributes:
        names: of the ligaments.
        body_i, body_j: numbers of their bones (n,).
        points: attachments on bones i and on bones j, from the bones' centres of mass,
            in their frames (n, 3) each [m].
        slack: lengths up to which they do not pull (n,) [m].
        damping: of each (n,) [N s/m].
    """

    def __init__(self, ligaments: Sequence[Ligament]) -> None:
        self.ligaments = tuple(ligaments)
        self.names = tuple(one.name for one in ligaments)
        self.body_i = np.array([one.body_i for one in ligaments], dtype=np.int64)
        self.body_j = np.array([one.body_j for one in ligaments], dtype=np.int64)
        points = [(one.point_i, one.point_j) for one in ligaments]
        both = np.array(points, dtype=float).reshape(len(ligaments), 2, 3)
        self.points = both[:, 0].copy(), both[:, 1].copy()
        self.slack = np.array([one.slack for one in ligaments], dtype=float)
        self._span = np.array([o.greatest - o.slack for o in ligaments], dtype=float)
        self._stiffness = np.array([one.stiffness for one in ligaments], dtype=float)
        self.damping = np.array([one.damping for one in ligaments], dtype=float)
        ends = (self.body_i, self.body_j, *self.points)
        laws = (self.slack, self._span, self._stiffness, self.damping)
        self._arrays = TieArrays(*ends, *laws)

    def __len__(self) -> int:
        """How many."""
        return len(self.ligaments)

    def without(self, *names: str) -> Ligaments:
        """The others, as if some had been cut."""
        for name in names:
            if name not in self.names:
                known = ", ".join(self.names)
                raise AnatomyError(
                    f"no ligament is called '{name}' (there are: {known})"
                )
        return Ligaments([one for one in self.ligaments if one.name not in names])

    def ends(self, moving: Moving) -> tuple[np.ndarray, np.ndarray]:
        """Attachments in the world, on bones i and j (n, 3) each [m]."""
        one, other = (
            moving.x[bodies] + np.einsum("nij,nj->ni", moving.frames[bodies], points)
            for bodies, points in zip(
                (self.body_i, self.body_j), self.points, strict=True
            )
        )
        return one, other

    def lengths(self, moving: Moving) -> np.ndarray:
        """Distances of the attachments (n,) [m]."""
        one, other = self.ends(moving)
        return np.asarray(np.linalg.norm(one - other, axis=1))

    def tension(self, lengths: np.ndarray) -> np.ndarray:
        """Elastic tension at given lengths (n,) [N]."""
        return self._curve(lengths)[0]

    def stiffnesses(self, lengths: np.ndarray) -> np.ndarray:
        """Derivatives of the tension by the length (n,) [N/m]."""
        return self._curve(lengths)[1]

    def energies(self, lengths: np.ndarray) -> np.ndarray:
        """Stored energy (n,) [J]."""
        share = np.clip((lengths - self.slack) / self._span, 0.0, None)
        inner = np.minimum(share, LINEAR)
        base = -0.5 * self._stiffness * self._span**2 * np.log1p(-(inner**2))
        force, slope = _law(inner)
        over = (share - inner) * self._span
        # beyond the limit the tension is linear in the elongation
        base += self._stiffness * (self._span * force * over + 0.5 * slope * over**2)
        return np.asarray(base)

    def tensions(self, moving: Moving) -> np.ndarray:
        """Tension with damping, never below zero (n,) [N]."""
        return self._pull(moving, np.zeros_like(moving.x), np.zeros_like(moving.x))

    def energy(self, moving: Moving) -> float:
        """Stored in all of them [J]."""
        return float(self.energies(self.lengths(moving)).sum())

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Pull both ends of each; moments are arm times tension."""
        self._pull(moving, force, torque)

    def _pull(
        self, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> np.ndarray:
        tension = np.zeros(len(self))
        if len(self):
            fields = tuple(np.ascontiguousarray(part, dtype=float) for part in moving)
            pull(self._arrays, fields, force, torque, tension)
        return tension

    def _curve(self, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = np.clip((lengths - self.slack) / self._span, 0.0, None)
        inner = np.minimum(share, LINEAR)
        force, slope = _law(inner)
        tension = self._stiffness * self._span * (force + slope * (share - inner))
        return tension, np.where(lengths > self.slack, self._stiffness * slope, 0.0)


def _law(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tension and its slope for unit stiffness and unit greatest elongation."""
    rest = 1 - share**2
    return share / rest, (1 + share**2) / rest**2
