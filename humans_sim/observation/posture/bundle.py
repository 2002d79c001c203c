# SPDX-License-Identifier: Apache-2.0
"""Sizes, marker places and postures of many frames at once, by Gauss-Newton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibration_prior import (
    BodyShape,
    CalibrationSettings,
    SizePrior,
)
from humans_sim.observation.posture.kernels import advance
from humans_sim.observation.posture.tree_kernels import (
    MarkedTree,
    chain_of,
    empty_poses,
    place,
    point_jacobian,
    points,
)

_ITERATIONS = 40
_ENOUGH, _IDLE = 1e-6, 1e-5
"""The search ends where nothing moves by more than the first [m, rad], or where the
cost, in squared deviations, goes down by less than the second of it."""
_STILL = 0.03
"""A trial whose markers all spread less than this is a static one [m]."""
_DAMPING_MOST = 1e6


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames that a person is measured from.

    Attributes:
        positions: (n, m, 3) [m], NaN where not seen.
        noise: standard deviation of the markers of each frame (n,) [m].
        motion: number of the motion that each frame is of (n,); -1: standing still.
    """

    positions: np.ndarray
    noise: np.ndarray
    motion: np.ndarray

    @classmethod
    def of(
        cls,
        trials: Sequence[MarkerTrial],
        names: Sequence[str],
        settings: CalibrationSettings,
    ) -> Frames:
        """Frames spread evenly over the trials; few of a trial without motion."""
        chosen, noise, motion = [], [], []
        motions = 0
        for trial in trials:
            columns = [trial.names.index(n) if n in trial.names else -1 for n in names]
            padded = np.concatenate(
                [trial.positions, np.full((len(trial), 1, 3), np.nan)], axis=1
            )
            positions = padded[:, columns]
            still = _is_still(trial)
            count = settings.static_frames if still else settings.motion_frames
            rows = np.linspace(0, len(trial) - 1, min(count, len(trial))).round()
            rows = np.unique(rows.astype(int))
            spread = settings.static_noise
            if not still:
                # Skin moves alike in like postures: many frames say what few say.
                alone = settings.motion_frames_alone
                spread = settings.motion_noise * max(len(rows) / alone, 1.0) ** 0.5
            for row in rows:
                if np.isfinite(positions[row]).all(axis=1).sum() >= 3:
                    chosen.append(positions[row])
                    noise.append(spread)
                    motion.append(-1 if still else motions)
            motions += not still
        return cls(
            np.array(chosen).reshape(-1, len(names), 3),
            np.array(noise),
            np.array(motion, dtype=int),
        )

    def __len__(self) -> int:
        return len(self.noise)


def _is_still(trial: MarkerTrial) -> bool:
    seen = np.where(np.isfinite(trial.positions), trial.positions, 0.0)
    present = np.isfinite(trial.positions)
    count = np.maximum(present.sum(axis=0), 1)
    mean = seen.sum(axis=0) / count
    square = np.where(present, (seen - mean) ** 2, 0.0).sum(axis=0) / count
    return bool(np.sqrt(square.max()) < _STILL)


class Bundle:
    """The search.

    Attributes:
        sizes: stature and lengths (1 + k,) [m].
        offsets: of the markers in body frames (1 + k, m, 3) [m]: first from their
            nominal places, then from there in each of k motions, by their skin.
        covariance: posterior, of sizes, then offsets.
    """

    def __init__(
        self,
        shape: BodyShape,
        frames: Frames,
        prior: SizePrior,
        spread: np.ndarray,
        weight: np.ndarray,
        rest: np.ndarray,
        joint_spread: np.ndarray,
        q: np.ndarray,
        slide_spread: float,
    ) -> None:
        """Begin at the sizes of ``shape`` and the postures ``q`` (n, nq)."""
        self.shape, self.frames, self.prior = shape, frames, prior
        self.q, self.sizes = q, shape.sizes.copy()
        # Where nobody stands still nothing says what has slid.
        slides = 1 + frames.motion.max() if (frames.motion < 0).any() else 0
        self._motion = np.minimum(frames.motion, slides - 1)
        self.offsets = np.zeros((1 + slides, *shape.local.shape))
        self._spread = np.concatenate(
            [spread[None], np.full((slides, *spread.shape), slide_spread)]
        )
        self._rest, self._joint = rest, joint_spread**-2
        seen = np.isfinite(frames.positions).all(axis=2)
        self._y = np.where(seen[:, :, None], frames.positions, 0.0)
        self._w = np.where(seen, weight / frames.noise[:, None] ** 2, 0.0)
        count = len(self.sizes) + self.offsets.size
        self._count = count
        self.covariance = np.zeros((count, count))

    def run(self) -> None:
        """Search until nothing moves."""
        cost, damping = self._cost(self.q, self.sizes, self.offsets), 0.0
        for _ in range(_ITERATIONS):
            systems = [self._frame(row) for row in range(len(self.frames))]
            step, moves = self._step(systems, damping)
            taken = self._advanced(step, moves)
            after = self._cost(*taken)
            if after <= cost:
                change = max(np.abs(step).max(), max(np.abs(m).max() for m in moves))
                gained, cost = cost - after, after
                self.q, self.sizes, self.offsets = taken
                damping = 0.1 * damping if damping > 1e-4 else 0.0
                if change < _ENOUGH or gained < _IDLE * cost:
                    break
            else:
                damping = max(10.0 * damping, 1e-3)
                if damping > _DAMPING_MOST:
                    break
        systems = [self._frame(row) for row in range(len(self.frames))]
        self.covariance = np.linalg.inv(self._reduced(systems, 0.0)[0])

    def residuals(self) -> np.ndarray:
        """Distances of the markers (n, m) [m]; NaN where not seen."""
        gaps = np.linalg.norm(
            self._markers(self.q, self.sizes, self.offsets) - self._y, axis=2
        )
        return np.where(self._w > 0.0, gaps, np.nan)

    def prior_spread(self) -> np.ndarray:
        """Prior standard deviations of sizes, then offsets [m]."""
        rows = self.prior.rows
        sizes = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
        return np.concatenate([sizes, self._spread.ravel()])

    def places(self) -> np.ndarray:
        """Markers in their bodies' frames (m, 3) [m]."""
        return np.asarray(self.shape.locals(self.sizes) + self.offsets[0])

    def _slid(self, row: int, offsets: np.ndarray) -> np.ndarray:
        """Offsets of the markers in a frame (m, 3) [m]."""
        motion = self._motion[row]
        total: np.ndarray = (
            offsets[0] if motion < 0 else offsets[0] + offsets[1 + motion]
        )
        return total

    def _slide(self, motion: int) -> slice:
        """Unknowns that are the slides in a motion."""
        count = self.offsets[0].size
        first = len(self.sizes) + count * (1 + motion)
        return slice(first, first + count)

    def _own(self, row: int, step: np.ndarray) -> np.ndarray:
        """Change of sizes and of offsets in a frame: a slide adds to the offset."""
        k, motion = len(self.sizes), self._motion[row]
        own = step[: k + self.offsets[0].size].copy()
        if motion >= 0:
            own[k:] += step[self._slide(motion)]
        return own

    def _prior_terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Information matrix of the prior, and its pull at the present values."""
        k = len(self.sizes)
        matrix, vector = np.zeros((self._count, self._count)), np.zeros(self._count)
        rows = self.prior.rows
        matrix[:k, :k] = rows.T @ rows
        vector[:k] = rows.T @ (self.prior.values - rows @ self.sizes)
        loose = self._spread.ravel() ** -2
        matrix[range(k, self._count), range(k, self._count)] = loose
        vector[k:] = -loose * self.offsets.ravel()
        return matrix, vector

    def _frame(self, row: int) -> tuple[np.ndarray, ...]:
        shape = self.shape
        system: tuple[np.ndarray, ...] = _frame_system(
            self.q[row],
            self._y[row],
            self._w[row],
            self._marked(self.sizes, self._slid(row, self.offsets)),
            shape.local_rate,
            shape.origin_rate,
        )
        return system

    def _marked(self, sizes: np.ndarray, offsets: np.ndarray) -> MarkedTree:
        """The tree of these sizes, and its markers."""
        shape = self.shape
        tree = shape.tree._replace(origin=shape.origins(sizes))
        return MarkedTree(tree, shape.bodies, shape.locals(sizes) + offsets)

    def _reduced(
        self, systems: list[tuple[np.ndarray, ...]], damping: float
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Schur complement: the problem without the postures."""
        matrix, vector = self._prior_terms()
        matrix[np.diag_indices(self._count)] *= 1.0 + damping
        inner = []
        size = len(self.sizes) + self.offsets[0].size
        sums: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for row, (own, cross, outer, pull, push) in enumerate(systems):
            own = own.copy()
            own[6:, 6:] += np.diag(self._joint[row])
            pull = pull.copy()
            pull[6:] += self._joint[row] * (self._rest - self.q[row, 7:])
            own += np.diag(damping * np.diag(own) + 1e-9)
            both = np.linalg.solve(own, np.column_stack([cross, pull]))
            if self._motion[row] not in sums:
                sums[self._motion[row]] = np.zeros((size, size)), np.zeros(size)
            whole, total = sums[self._motion[row]]
            whole += outer - cross.T @ both[:, :-1]
            total += push - cross.T @ both[:, -1]
            inner.append((both[:, :-1], both[:, -1]))
        k = len(self.sizes)
        for motion, (whole, total) in sums.items():
            matrix[:size, :size] += whole
            vector[:size] += total
            if motion >= 0:
                # A slide does to a frame what the offset does.
                slide = self._slide(motion)
                matrix[slide, :size] += whole[k:]
                matrix[:size, slide] += whole[:, k:]
                matrix[slide, slide] += whole[k:, k:]
                vector[slide] += total[k:]
        return matrix, vector, inner

    def _step(
        self, systems: list[tuple[np.ndarray, ...]], damping: float
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        matrix, vector, inner = self._reduced(systems, damping)
        k = len(self.sizes)
        least, most = self.prior.lower - self.sizes, self.prior.upper - self.sizes
        held = np.zeros(self._count, dtype=bool)
        step = np.zeros(self._count)
        while True:
            free = ~held
            known = vector[free] - matrix[np.ix_(free, held)] @ step[held]
            step[free] = np.linalg.solve(matrix[np.ix_(free, free)], known)
            over = np.zeros(self._count, dtype=bool)
            over[:k] = (step[:k] < least) | (step[:k] > most)
            if not (over & free).any():
                break
            # Sizes that would leave their bounds end there; the others once more.
            step[:k] = np.clip(step[:k], least, most)
            held |= over
        return step, [
            alone - cross @ self._own(row, step)
            for row, (cross, alone) in enumerate(inner)
        ]

    def _advanced(
        self, step: np.ndarray, moves: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = len(self.sizes)
        sizes = np.clip(self.sizes + step[:k], self.prior.lower, self.prior.upper)
        offsets = self.offsets + step[k:].reshape(self.offsets.shape)
        q = np.empty_like(self.q)
        tree = self.shape.tree
        for row, move in enumerate(moves):
            advance(self.q[row], move, tree.lower, tree.upper, q[row])
        return q, sizes, offsets

    def _markers(
        self, q: np.ndarray, sizes: np.ndarray, offsets: np.ndarray
    ) -> np.ndarray:
        nominal = self._marked(sizes, np.zeros_like(self.shape.local))
        poses = empty_poses(len(nominal.tree.parent))
        x = np.empty((len(q), *nominal.local.shape))
        for row in range(len(q)):
            place(nominal.tree, q[row], poses)
            slid = nominal._replace(local=nominal.local + self._slid(row, offsets))
            points(slid, poses, x[row])
        return x

    def _cost(self, q: np.ndarray, sizes: np.ndarray, offsets: np.ndarray) -> float:
        gaps = ((self._markers(q, sizes, offsets) - self._y) ** 2).sum(axis=2)
        total = float((self._w * gaps).sum())
        total += float((self._joint * (q[:, 7:] - self._rest) ** 2).sum())
        total += float(((self.prior.rows @ sizes - self.prior.values) ** 2).sum())
        return total + float(((offsets / self._spread) ** 2).sum())


@kernel
def _frame_system(q, y, weight, marked, local_rate, origin_rate):
    """Normal equations of one frame: posture, posture x sizes and places, these.

    Markers are measured at ``y`` (m, 3) [m]; their weights (m,) are 0 where not seen.
    The rates are changes of the markers' places (m, 3, k) and of the joint origins (n,
    3, k) with the sizes.
    """
    body, parent = marked.body, marked.tree.parent
    bodies, count, sizes = parent.size, body.size, local_rate.shape[2]
    n, p = 5 + bodies, sizes + 3 * count
    poses = empty_poses(bodies)
    place(marked.tree, q, poses)
    turn = poses.turn
    # How the origin of each body moves with the sizes, the posture held.
    drift = np.zeros((bodies, 3, sizes))
    for i in range(1, bodies):
        drift[i] = drift[parent[i]] + turn[parent[i]] @ origin_rate[i]
    x = np.empty((count, 3))
    points(marked, poses, x)
    own, cross, outer = np.zeros((n, n)), np.zeros((n, p)), np.zeros((p, p))
    pull, push = np.zeros(n), np.zeros(p)
    chain = np.empty(n, np.int64)
    jacobian, rate = np.empty((3, n)), np.empty((3, sizes))
    for m in range(count):
        if weight[m] <= 0.0:
            continue
        w, b, first = weight[m], body[m], sizes + 3 * m
        size = chain_of(b, parent, chain)
        point_jacobian(x[m], chain, size, poses, jacobian)
        rate[:] = drift[b] + turn[b] @ local_rate[m]
        # Written out: products of such small blocks cost more in calls than in sums.
        for a in range(3):
            gap = w * (y[m, a] - x[m, a])
            for k in range(size):
                i, part = chain[k], w * jacobian[a, k]
                pull[i] += gap * jacobian[a, k]
                for h in range(size):
                    own[i, chain[h]] += part * jacobian[a, h]
                for h in range(sizes):
                    cross[i, h] += part * rate[a, h]
                for c in range(3):
                    cross[i, first + c] += part * turn[b, a, c]
            for k in range(sizes):
                part = w * rate[a, k]
                push[k] += gap * rate[a, k]
                for h in range(sizes):
                    outer[k, h] += part * rate[a, h]
                for c in range(3):
                    outer[k, first + c] += part * turn[b, a, c]
                    outer[first + c, k] += part * turn[b, a, c]
            for c in range(3):
                push[first + c] += gap * turn[b, a, c]
            outer[first + a, first + a] += w
    return own, cross, outer, pull, push
