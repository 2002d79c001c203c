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

*Pairs of balls* near each other at the beginning of a step. Their gaps are measured
along their normals of the beginning: never above the true gap of two balls, so that
balls which obey them do not overlap at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.detection.pair_list import BallTable
from humans_sim.anatomy.mechanics.ligaments import Ligaments
from humans_sim.core.dense_kernels import backward, cholesky, forward, forward_rows
from humans_sim.core.kernels import kernel


class Ties(NamedTuple):
    """Ligaments about a trial: bones, arms, direction, pull and its derivatives.

    ``along`` is the unit vector from end j to end i; ``across`` the tension over the
    length, ``slope`` the derivative of the tension by the length.
    """

    body_i: np.ndarray
    body_j: np.ndarray
    arm_i: np.ndarray
    arm_j: np.ndarray
    along: np.ndarray
    tension: np.ndarray
    slope: np.ndarray
    across: np.ndarray


class Pairs(NamedTuple):
    """Pairs of balls: bones, centres in their frames, normal, sum of the radii."""

    body_i: np.ndarray
    body_j: np.ndarray
    ball_i: np.ndarray
    ball_j: np.ndarray
    normal: np.ndarray
    reach: np.ndarray


@kernel
def add_ties(ties, columns, gradient, matrix, turning):
    """Add derivatives of the stored energy by shifts and small turns of free bones.

    Columns are the first of each bone, -1 where it is not free (n,). Gradient (6 f,),
    second derivatives (6 f, 6 f) but for the turning of arms, and those by turns from
    arms that turn (n, 3, 3) are changed.
    """
    rows, stiff = np.zeros((2, 3, 6)), np.empty((3, 3))
    for t in range(len(ties.tension)):
        if ties.tension[t] == 0.0 and ties.slope[t] == 0.0:
            continue
        n = ties.along[t]
        for i in range(3):
            for j in range(3):
                stiff[i, j] = (ties.slope[t] - ties.across[t]) * n[i] * n[j]
            stiff[i, i] += ties.across[t]
        ends = (ties.body_i[t], ties.body_j[t])
        for e in range(2):
            sign = 1.0 if e == 0 else -1.0
            arm = ties.arm_i[t] if e == 0 else ties.arm_j[t]
            _point_rows(arm, sign, rows[e])
            if columns[ends[e]] >= 0:
                for c in range(6):
                    for i in range(3):
                        gradient[columns[ends[e]] + c] += (
                            ties.tension[t] * rows[e, i, c] * n[i]
                        )
                _turn_arm(arm, -sign * ties.tension[t] * n, turning[ends[e]])
        for a in range(2):
            for b in range(2):
                if columns[ends[a]] >= 0 and columns[ends[b]] >= 0:
                    block = rows[a].T @ (stiff @ rows[b])
                    for i in range(6):
                        for j in range(6):
                            matrix[columns[ends[a]] + i, columns[ends[b]] + j] += block[
                                i, j
                            ]


@kernel
def _point_rows(arm, sign, rows):
    """Velocity of a point by those of its bone: v + w x arm."""
    for i in range(3):
        rows[i, i] = sign
    rows[0, 4], rows[0, 5] = sign * arm[2], -sign * arm[1]
    rows[1, 3], rows[1, 5] = -sign * arm[2], sign * arm[0]
    rows[2, 3], rows[2, 4] = sign * arm[1], -sign * arm[0]


@kernel
def _turn_arm(arm, pull, block):
    along = arm[0] * pull[0] + arm[1] * pull[1] + arm[2] * pull[2]
    for i in range(3):
        for j in range(3):
            block[i, j] -= 0.5 * (arm[i] * pull[j] + arm[j] * pull[i])
        block[i, i] += along


@kernel
def pair_gaps(pairs, x, frames, gaps):
    """Gaps along the pairs' normals, bones at x in their frames; written (c,)."""
    for c in range(len(gaps)):
        i, j = pairs.body_i[c], pairs.body_j[c]
        gap = -pairs.reach[c]
        for a in range(3):
            shift = x[i, a] - x[j, a]
            for b in range(3):
                shift += frames[i, a, b] * pairs.ball_i[c, b]
                shift -= frames[j, a, b] * pairs.ball_j[c, b]
            gap += pairs.normal[c, a] * shift
        gaps[c] = gap


@kernel
def pair_rates(pairs, frames, v, w, rates):
    """Rates of the gaps by velocities and spins of all bones; written (c,)."""
    arm = np.empty(3)
    for c in range(len(rates)):
        rate = 0.0
        for e in range(2):
            bone = pairs.body_i[c] if e == 0 else pairs.body_j[c]
            ball = pairs.ball_i[c] if e == 0 else pairs.ball_j[c]
            sign = 1.0 if e == 0 else -1.0
            f = frames[bone]
            for a in range(3):
                arm[a] = f[a, 0] * ball[0] + f[a, 1] * ball[1] + f[a, 2] * ball[2]
            n, s = pairs.normal[c], w[bone]
            rate += sign * n[0] * (v[bone, 0] + s[1] * arm[2] - s[2] * arm[1])
            rate += sign * n[1] * (v[bone, 1] + s[2] * arm[0] - s[0] * arm[2])
            rate += sign * n[2] * (v[bone, 2] + s[0] * arm[1] - s[1] * arm[0])
        rates[c] = rate


@kernel
def factorise(matrix):
    """Lower factor of a symmetric matrix, and whether it is positive definite."""
    factor = np.zeros_like(matrix)
    positive = cholesky(matrix, factor)
    return factor, positive


@kernel
def solve_with(factor, vector):
    """Solve the equations of a factor."""
    solved = vector.copy()
    forward(factor, solved)
    backward(factor, solved)
    return solved


@kernel
def rows_through(factor, rows):
    """Rows J (m, n) through the factor L: Y = L^-1 J^T (n, m) and W = Y^T Y."""
    m, n = rows.shape
    half = rows.T.copy()
    forward_rows(factor, half)
    delassus = np.zeros((m, m))
    for k in range(n):
        for i in range(m):
            c = half[k, i]
            if c != 0.0:
                for j in range(i + 1):
                    delassus[i, j] += c * half[k, j]
    for i in range(m):
        for j in range(i):
            delassus[j, i] = delassus[i, j]
    return half, delassus


@kernel
def moved_by(factor, half, impulses):
    """Velocities that impulses of rows add: L^-T Y f."""
    n, m = half.shape
    change = np.zeros(n)
    for k in range(n):
        for i in range(m):
            change[k] += half[k, i] * impulses[i]
    backward(factor, change)
    return change


_BISECTIONS = 60


@dataclass(frozen=True)
class BonePlaces:
    """Where all bones are: centres of mass (n, 3) [m], rotations (n, 3, 3)."""

    x: np.ndarray
    frames: np.ndarray

    def arms(self, bones: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Points of bones, given from their centres, in the world's axes (k, 3)."""
        return np.einsum("nij,nj->ni", self.frames[bones], points)


def point_rows(
    columns: np.ndarray, bones: np.ndarray, arms: np.ndarray, free: int
) -> np.ndarray:
    """Velocities of points by those of the free bones (k, 3, 6 free).

    Columns are the first of each bone, -1 where it is not free (n,); arms are from the
    bones' centres (k, 3) [m].
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
    r"""Derivatives J of exponentials of rotation vectors (n, 3) [rad] (n, 3, 3).

    :math:`\exp(\theta + d) = \exp(J d) \exp(\theta)` for small d.
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

    Lengths at the beginning are (l,) [m], the step is h [s].
    """

    def __init__(self, ligaments: Ligaments, lengths: np.ndarray, h: float) -> None:
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
    """The energy of a step h [s], with its derivatives, by velocities of free bones.

    The mass matrix of these has their viscosity, (1 + h nu) M (6 f, 6 f); momenta are
    those of the beginning (6 f,); columns are the first of each bone, -1 where it is
    not free (n,).

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

        Bones are at the end of the step by the trial velocity v (6 f,), rates are of
        :func:`turn_rates`, turning are second derivatives by turns that contact forces
        bring in (n, 3, 3).
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


class NearPairs:
    """Pairs of balls near each other at the beginning of a step.

    Contacts are the pairs, with gaps as negative depths; columns the first of each
    bone, -1 where it is not free (n,).
    """

    def __init__(
        self,
        contacts: Contacts,
        balls: BallTable,
        start: BonePlaces,
        columns: np.ndarray,
    ) -> None:
        c = self.contacts = contacts
        self.columns = columns
        self.free = np.flatnonzero(columns >= 0)
        self.gaps = -c.depth
        self.group = c.body_i * len(columns) + c.body_j
        self.keys = balls.keys(c)
        self._balls, self._start = balls, start
        locals_ = balls.centres(c.body_i, c.ball_i), balls.centres(c.body_j, c.ball_j)
        one = start.x[c.body_i] + start.arms(c.body_i, locals_[0])
        other = start.x[c.body_j] + start.arms(c.body_j, locals_[1])
        reach = np.einsum("ni,ni->n", c.normal, one - other) - self.gaps
        self._pairs = Pairs(c.body_i, c.body_j, *locals_, c.normal, reach)

    def joined(self, found: Contacts) -> NearPairs:
        """With pairs found later that overlap, as they were at the beginning."""
        new = ~np.isin(self._balls.keys(found), self.keys) & (found.depth > 0)
        more = self._at_start(found.chosen(new))
        joined = self.contacts.joined(more)
        return NearPairs(joined, self._balls, self._start, self.columns)

    def _at_start(self, c: Contacts) -> Contacts:
        """The same pairs of balls with gaps, normals and points of the beginning."""
        ends, radii = [], []
        for bones, balls in ((c.body_i, c.ball_i), (c.body_j, c.ball_j)):
            arms = self._start.arms(bones, self._balls.centres(bones, balls))
            ends.append(self._start.x[bones] + arms)
            radii.append(self._balls.radii(bones, balls))
        one, other = ends
        reach = radii[1] + radii[0]
        distance = np.linalg.norm(one - other, axis=1)
        normal = (one - other) / distance[:, None]
        depth = reach - distance
        point = other + normal * (radii[1] - 0.5 * depth)[:, None]
        bodies = (c.body_i, c.ball_i, c.body_j, c.ball_j)
        return Contacts(*bodies, depth, normal, point, distance / reach)

    def end_gaps(self, ends: BonePlaces) -> np.ndarray:
        """Gaps along the normals of the beginning, at the end of a step (c,) [m]."""
        gaps = np.empty(len(self.gaps))
        pair_gaps(self._pairs, ends.x, ends.frames, gaps)
        return gaps

    def gap_rates(
        self, trial: BonePlaces, v: np.ndarray, rates: np.ndarray
    ) -> np.ndarray:
        """How velocities of free bones (6 f,) change the gaps at a trial (c,) [m/s]."""
        both = np.zeros((2, len(self.columns), 3))
        own = v.reshape(-1, 2, 3)
        both[0, self.free] = own[:, 0]
        both[1, self.free] = np.einsum("nij,nj->ni", rates, own[:, 1])
        changes = np.empty(len(self.gaps))
        pair_rates(self._pairs, trial.frames, both[0], both[1], changes)
        return changes

    def rows(
        self, chosen: np.ndarray, trial: BonePlaces, rates: np.ndarray
    ) -> np.ndarray:
        """Velocities of pairs along normals, at a trial, and tangents (k, 3, 6 f)."""
        c, free = self.contacts, len(self.free)
        normal = np.zeros((len(chosen), 3, 6 * free))
        tangent = np.zeros_like(normal)
        for bones, balls, sign in (
            (c.body_i[chosen], self._pairs.ball_i[chosen], 1.0),
            (c.body_j[chosen], self._pairs.ball_j[chosen], -1.0),
        ):
            arm = trial.arms(bones, balls)
            normal += sign * point_rows(self.columns, bones, arm, free)
            arm = c.point[chosen] - self._start.x[bones]
            tangent += sign * point_rows(self.columns, bones, arm, free)
        blocks = normal.reshape(len(chosen), 3, free, 6)
        blocks[..., 3:] = np.einsum("kafi,fij->kafj", blocks[..., 3:], rates)
        frames = self.frames(chosen)
        rows = np.einsum("kai,kic->kac", frames, tangent)
        rows[:, 0] = np.einsum("ki,kic->kc", frames[:, 0], normal)
        return rows

    def turning(
        self, chosen: np.ndarray, forces: np.ndarray, trial: BonePlaces
    ) -> np.ndarray:
        """How normal forces turn bones further as arms turn with them (n, 3, 3).

        Second derivatives by small turns of minus the gaps times their forces.
        """
        c, pairs = self.contacts, self._pairs
        blocks = np.zeros((len(self.columns), 3, 3))
        push = forces[:, None] * c.normal[chosen]
        for bones, balls, sign in (
            (c.body_i[chosen], pairs.ball_i[chosen], 1.0),
            (c.body_j[chosen], pairs.ball_j[chosen], -1.0),
        ):
            arm = trial.arms(bones, balls)
            outer = sign * arm[:, :, None] * push[:, None, :]
            along = np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3)
            np.add.at(blocks, bones, along - 0.5 * (outer + outer.transpose(0, 2, 1)))
        return blocks

    def slides(self, chosen: np.ndarray, ends: BonePlaces) -> np.ndarray:
        """Shifts that bones that are not free give to pairs, in their frames (k, 3)."""
        c = self.contacts
        shift = np.zeros((len(chosen), 3))
        for bones, sign in ((c.body_i[chosen], 1.0), (c.body_j[chosen], -1.0)):
            arm = c.point[chosen] - self._start.x[bones]
            local = np.einsum("nji,nj->ni", self._start.frames[bones], arm)
            moved = ends.x[bones] + ends.arms(bones, local) - c.point[chosen]
            held = self.columns[bones] < 0
            shift[held] += sign * moved[held]
        return np.einsum("kai,ki->ka", self.frames(chosen), shift)

    def frames(self, chosen: np.ndarray) -> np.ndarray:
        """Normals and tangents as rows (k, 3, 3)."""
        n = self.contacts.normal[chosen]
        first = np.cross(n, np.eye(3)[np.abs(n).argmin(axis=1)])
        first /= np.linalg.norm(first, axis=1)[:, None]
        return np.stack([n, first, np.cross(n, first)], axis=1)
