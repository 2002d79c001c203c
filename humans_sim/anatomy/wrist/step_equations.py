# SPDX-License-Identifier: Apache-2.0
r"""The energy that one implicit step of free bones makes least.

Unknown are the velocities v and spins w of the free bones over a step h, six numbers a
bone; bones end at :math:`x_0 + h v` and :math:`\exp(h w) R_0`. Without friction

.. math:: \Phi(v) = \tfrac{1 + h \nu}{2} v^T M v - p_0^T v + V(q(v)) + D(q(v))

is least where no gap is negative: V is stored in the ligaments, D what their damping
takes. At the least value momenta change by the forces at the end of the step, so
nothing grows, however stiff the ligaments are: :math:`\Phi` is not above its value
at rest, and neither is the energy.

Derivatives by w hold the derivative of the exponential, so that they are those of
:math:`\Phi` itself: a search along Newton's steps looks at the same function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.mechanics.ligaments import Ligaments
from humans_sim.anatomy.wrist.step_kernels import Ties, add_ties, factorise

_BISECTIONS = 60


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


def turn_rates(theta: np.ndarray) -> np.ndarray:
    r"""Derivatives of exponentials (n, 3, 3).

    Args:
        theta: rotation vectors (n, 3) [rad].

    Returns:
        J of each, with :math:`\exp(\theta + d) = \exp(J d) \exp(\theta)` for small d.
    """
    square = np.einsum("ni,ni->n", theta, theta)
    angle = np.sqrt(square)
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    b = np.where(small, 0.5 - square / 24, (1 - np.cos(safe)) / safe**2)
    c = np.where(small, 1 / 6 - square / 120, (safe - np.sin(safe)) / safe**3)
    cross = np.zeros((len(theta), 3, 3))
    x, y, z = theta.T
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -z, y, -x
    cross[:, 1, 0], cross[:, 2, 0], cross[:, 2, 1] = z, -y, x
    return np.eye(3) + b[:, None, None] * cross + c[:, None, None] * (cross @ cross)


class LigamentPull:
    """Ligaments over a step, damped: pull and energy by the lengths at its end.

    The damping acts with the mean rate of the elongation; where a ligament shortens so
    fast that the sum would push, it is slack.

    Args:
        ligaments: between bones.
        lengths: at the beginning (l,) [m].
        h: length of the step [s].
    """

    def __init__(self, ligaments: Ligaments, lengths: np.ndarray, h: float) -> None:
        """Find lengths up to which each is slack."""
        self._ties, self._slack = ligaments, ligaments.slack
        self._rate = ligaments.damping / h
        self._before = np.maximum(lengths, self._slack)
        low, high = self._slack.copy(), self._before.copy()
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            pulls = ligaments.tension(middle) > self._rate * (self._before - middle)
            low, high = np.where(pulls, low, middle), np.where(pulls, middle, high)
        self._onset = high

    def __call__(self, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tensions [N] and their derivatives by the lengths [N/m] (l,) each."""
        taut = lengths > self._onset
        tension = self._ties.tension(lengths) + self._rate * (lengths - self._before)
        slope = self._ties.stiffnesses(lengths) + self._rate
        return np.where(taut, np.maximum(tension, 0.0), 0.0), np.where(taut, slope, 0.0)

    def energy(self, lengths: np.ndarray) -> float:
        """Stored, and taken by the damping [J]; its derivative is the tension."""
        length = np.maximum(lengths, self._onset)
        lost = 0.5 * self._rate * (length - self._before) ** 2
        return float((self._ties.energies(length) + lost).sum())


class StepEnergy:
    """The energy of a step, with its derivatives, by the velocities of free bones.

    Args:
        mass: matrix of the free bones with their viscosity, (1 + h nu) M (6 f, 6 f).
        momenta: of the free bones at the beginning (6 f,).
        ligaments: between bones.
        columns: first column of each bone, -1 where it is not free (n,).
        start: all bones at the beginning.
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
        start: BonePlaces,
        h: float,
    ) -> None:
        """No trial yet."""
        self._mass, self._momenta, self._h = mass, momenta, h
        self._ligaments, self._columns = ligaments, columns
        self._free = np.flatnonzero(columns >= 0)
        self.tensions = np.zeros(len(ligaments))
        span = self._spans(start)[0]
        self._pull = LigamentPull(ligaments, np.linalg.norm(span, axis=1), h)

    def about(
        self,
        trial: BonePlaces,
        v: np.ndarray,
        rates: np.ndarray,
        turning: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (6 f,) and Cholesky factor of the second derivatives, made positive.

        Args:
            trial: all bones at the end of the step, by the trial velocity.
            v: the trial velocity of the free bones (6 f,).
            rates: of the bones' turning by their spins; see :func:`turn_rates`.
            turning: second derivatives by turns that contact forces bring in (n, 3, 3).
        """
        size, count = 6 * len(self._free), len(self._columns)
        own, stiff = np.zeros(size), np.zeros((size, size))
        turns = np.zeros((count, 3, 3)) if turning is None else turning.copy()
        span, arm_i, arm_j = self._spans(trial)
        length = np.maximum(np.linalg.norm(span, axis=1), 1e-12)
        tension, slope = self._pull(length)
        ties = self._ligaments
        terms = Ties(
            *(ties.body_i, ties.body_j, arm_i, arm_j, span / length[:, None]),
            *(tension, slope, tension / length),
        )
        add_ties(terms, self._columns, own, stiff, turns)
        self.tensions = tension
        spread = np.eye(size)
        for k in range(len(self._free)):
            at = slice(6 * k + 3, 6 * k + 6)
            spread[at, at] = rates[k]
        gradient = self._mass @ v - self._momenta + self._h * (own @ spread)
        return gradient, self._factor(stiff, turns[self._free], spread)

    def _factor(
        self, stiff: np.ndarray, turning: np.ndarray, spread: np.ndarray
    ) -> np.ndarray:
        """With the turning of arms; of its positive part where that is not positive."""
        values, axes = np.linalg.eigh(turning)
        pushed = np.einsum("nij,nj,nkj->nik", axes, np.maximum(values, 0.0), axes)
        for blocks in (turning, pushed):
            whole = stiff.copy()
            for k in range(len(blocks)):
                at = slice(6 * k + 3, 6 * k + 6)
                whole[at, at] += blocks[k]
            matrix = self._mass + self._h**2 * (spread.T @ whole @ spread)
            factor, positive = factorise(matrix)
            if positive:
                break
        return np.asarray(factor)

    def value(self, trial: BonePlaces, v: np.ndarray) -> float:
        """The energy of the step at a velocity [J]."""
        kinetic = 0.5 * v @ self._mass @ v - self._momenta @ v
        length = np.linalg.norm(self._spans(trial)[0], axis=1)
        return float(kinetic) + self._pull.energy(length)

    def _spans(self, trial: BonePlaces) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From ends j of the ligaments to ends i, and both arms (l, 3) each [m]."""
        ties = self._ligaments
        arm_i = trial.arms(ties.body_i, ties.points[0])
        arm_j = trial.arms(ties.body_j, ties.points[1])
        span = trial.x[ties.body_i] + arm_i - trial.x[ties.body_j] - arm_j
        return span, arm_i, arm_j
