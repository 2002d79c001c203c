# SPDX-License-Identifier: Apache-2.0
r"""Equations of one implicit step of free bones: ligaments and contact rows.

Unknown are the velocities v and spins w of the free bones at the end of a step h, six
numbers a bone. With the ligaments' forces at the end, linear about a trial
:math:`v_m`,

.. math:: A v = r + J^T f, \qquad
   A = (1 + h \nu) M + h^2 K, \qquad
   r = M v_0 + h f(q_m) + h^2 K v_m,

K the stiffness of the ligaments that are taut: positive, so A can be factorised at any
step length. Without friction v makes the sum of kinetic and stored energy (of the
change of velocity) least; along each of Newton's steps that sum is looked at, since a
ligament's stiffness begins at once where it becomes taut. Damping of the ligaments is
left to the viscosity :math:`\nu`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor

from humans_sim.anatomy.mechanics.ligaments import Ligaments


@dataclass(frozen=True)
class BonePlaces:
    """Where all bones are.

    Attributes:
        x: centres of mass (n, 3) [m].
        frames: rotations (n, 3, 3).
    """

    x: np.ndarray
    frames: np.ndarray

    def arms(self, bones: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Points of bones, given from their centres, in the world's axes (k, 3)."""
        return np.einsum("nij,nj->ni", self.frames[bones], points)


def point_rows(
    columns: np.ndarray, bones: np.ndarray, arms: np.ndarray, free: int
) -> np.ndarray:
    """Velocities of points by those of the free bones (k, 3, 6 free).

    Args:
        columns: first column of each bone, -1 where it is not free (n,).
        bones: of the points (k,).
        arms: from the bones' centres (k, 3) [m].
        free: number of free bones.
    """
    rows = np.zeros((len(bones), 3, 6 * free))
    own = np.flatnonzero(columns[bones] >= 0)
    first = columns[bones[own]]
    x, y, z = arms[own].T
    for axis in range(3):
        rows[own, axis, first + axis] = 1.0
    # w x arm
    rows[own, 0, first + 4], rows[own, 0, first + 5] = z, -y
    rows[own, 1, first + 3], rows[own, 1, first + 5] = -z, x
    rows[own, 2, first + 3], rows[own, 2, first + 4] = y, -x
    return rows


class StepMatrix:
    """Equations of a step about trial velocities.

    Args:
        mass: matrix of the free bones with their viscosity, (1 + h nu) M (6 f, 6 f).
        momenta: of the free bones at the beginning (6 f,).
        ligaments: between bones.
        columns: first column of each bone, -1 where it is not free (n,).
        h: length of the step [s].

    Attributes:
        tensions: of the ligaments at the last trial (l,) [N].
    """

    def __init__(
        self,
        mass: np.ndarray,
        momenta: np.ndarray,
        ligaments: Ligaments,
        columns: np.ndarray,
        h: float,
    ) -> None:
        """No trial yet."""
        self._mass, self._momenta, self._h = mass, momenta, h
        self._ligaments, self._columns = ligaments, columns
        self._free = len(mass) // 6
        self.tensions = np.zeros(len(ligaments))

    def about(
        self, trial: BonePlaces, v: np.ndarray
    ) -> tuple[tuple[np.ndarray, bool], np.ndarray]:
        """Factor of A and the right-hand side r.

        Args:
            trial: all bones at the end of the step, by the trial velocity.
            v: the trial velocity of the free bones (6 f,).
        """
        h, ties = self._h, self._ligaments
        if not len(ties):
            return cho_factor(self._mass), self._momenta
        span, arm_i, arm_j = self._spans(trial)
        length = np.linalg.norm(span, axis=1)
        along = span / np.maximum(length, 1e-12)[:, None]
        rows = point_rows(self._columns, ties.body_i, arm_i, self._free)
        rows -= point_rows(self._columns, ties.body_j, arm_j, self._free)
        tension, slope = ties.tension(length), ties.stiffnesses(length)
        across = (tension / np.maximum(length, 1e-12))[:, None, None]
        outer = along[:, :, None] * along[:, None, :]
        stiff = (slope[:, None, None] - across) * outer + across * np.eye(3)
        both = h**2 * np.einsum("lij,ljc->lic", stiff, rows)
        matrix = self._mass + np.einsum("lic,lid->cd", rows, both, optimize=True)
        pull = np.einsum("lic,c->li", both, v) - h * tension[:, None] * along
        right = self._momenta + np.einsum("lic,li->c", rows, pull)
        self._turn_with_arms(matrix, right, (tension[:, None] * along, arm_i, arm_j), v)
        self.tensions = tension
        return cho_factor(matrix), right

    def _turn_with_arms(
        self,
        matrix: np.ndarray,
        right: np.ndarray,
        pulls: tuple[np.ndarray, np.ndarray, np.ndarray],
        v: np.ndarray,
    ) -> None:
        """Add how torques change as arms turn, its positive part, to A and r."""
        force, arm_i, arm_j = pulls
        blocks = np.zeros((len(self._columns), 3, 3))
        for bones, arm, pull in (
            (self._ligaments.body_i, arm_i, -force),
            (self._ligaments.body_j, arm_j, force),
        ):
            outer = arm[:, :, None] * pull[:, None, :]
            along = np.einsum("li,li->l", arm, pull)[:, None, None] * np.eye(3)
            turned = along - 0.5 * (outer + outer.transpose(0, 2, 1))
            np.add.at(blocks, bones, turned)
        values, axes = np.linalg.eigh(blocks)
        values = self._h**2 * np.maximum(values, 0.0)
        blocks = np.einsum("nij,nj,nkj->nik", axes, values, axes)
        for bone in np.flatnonzero(self._columns >= 0):
            at = slice(self._columns[bone] + 3, self._columns[bone] + 6)
            matrix[at, at] += blocks[bone]
            right[at] += blocks[bone] @ v[at]

    def energy(self, trial: BonePlaces, v: np.ndarray) -> float:
        """What a step without contact makes least, at a velocity [J]."""
        kinetic = 0.5 * v @ self._mass @ v - self._momenta @ v
        if not len(self._ligaments):
            return float(kinetic)
        length = np.linalg.norm(self._spans(trial)[0], axis=1)
        return float(kinetic + self._ligaments.energies(length).sum())

    def _spans(self, trial: BonePlaces) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From ends j of the ligaments to ends i, and both arms (l, 3) each [m]."""
        ties = self._ligaments
        arm_i = trial.arms(ties.body_i, ties.points[0])
        arm_j = trial.arms(ties.body_j, ties.points[1])
        span = trial.x[ties.body_i] + arm_i - trial.x[ties.body_j] - arm_j
        return span, arm_i, arm_j
