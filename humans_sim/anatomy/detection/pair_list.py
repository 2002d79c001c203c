# SPDX-License-Identifier: Apache-2.0
"""Neighbour list: pairs of balls that are near, renewed where bones have moved.

An integrator asks for contacts thousands of times while bones hardly move. Pairs with
gaps up to a margin are kept; as long as no two bones have together moved by more than
the margin, every contact is among them (Verlet's list).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.detection.contacts import ContactDetector, Contacts, Poses
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.core.kernels import kernel


@kernel
def meet_in_list(bodies, centres, radii, rotations, positions):
    """Pairs of a list that overlap: numbers, depths (c,), normals and points (c, 3).

    Bodies of the pairs (k, 2), centres of their balls in the bodies' frames (k, 2, 3)
    and radii (k, 2) [m]; rotations (n, 3, 3) and positions (n, 3) [m] of the bodies.
    """
    count = len(bodies)
    hits = np.empty(count, np.int64)
    depth = np.empty(count)
    normal, point = np.empty((count, 3)), np.empty((count, 3))
    found = 0
    one, other = np.empty(3), np.empty(3)
    for n in range(count):
        i, j = bodies[n, 0], bodies[n, 1]
        square = 0.0
        for k in range(3):
            one[k], other[k] = positions[i, k], positions[j, k]
            for m in range(3):
                one[k] += rotations[i, k, m] * centres[n, 0, m]
                other[k] += rotations[j, k, m] * centres[n, 1, m]
            square += (one[k] - other[k]) ** 2
        distance = math.sqrt(square)
        over = radii[n, 0] + radii[n, 1] - distance
        if over <= 0.0:
            continue
        hits[found], depth[found] = n, over
        for k in range(3):
            along = (one[k] - other[k]) / distance if distance > 0.0 else (k == 2) * 1.0
            normal[found, k] = along
            point[found, k] = other[k] + along * (radii[n, 1] - 0.5 * over)
        found += 1
    return hits[:found], depth[:found], normal[:found], point[:found]


class BallTable:
    """Balls of all bones in one table, measured from their origins (n, 3) [m]."""

    def __init__(self, models: Sequence[BallModel], origins: np.ndarray) -> None:
        self._first = np.cumsum([0, *(len(model) for model in models)])[:-1]
        pairs = zip(models, origins, strict=True)
        self._centres = np.concatenate([model.centres - own for model, own in pairs])
        self._radii = np.concatenate([model.radii for model in models])

    def centres(self, bones: np.ndarray, balls: np.ndarray) -> np.ndarray:
        """Of balls of bones (k, 3) [m]."""
        return np.asarray(self._centres[self._first[bones] + balls])

    def radii(self, bones: np.ndarray, balls: np.ndarray) -> np.ndarray:
        """Of balls of bones (k,) [m]."""
        return np.asarray(self._radii[self._first[bones] + balls])

    def keys(self, contacts: Contacts) -> np.ndarray:
        """Numbers of pairs, whatever the contacts are (c,)."""
        c = contacts
        one, other = self._first[c.body_i] + c.ball_i, self._first[c.body_j] + c.ball_j
        return np.asarray(one * len(self._radii) + other)


class PairList:
    """Contacts of bones that move little from one call to the next.

    Arguments are those of :class:`ContactDetector`, and a gap up to which pairs are
    kept [m].

    Attributes:
        searches: how often the list was renewed.
    """

    def __init__(
        self,
        models: Sequence[BallModel],
        roles: Sequence[str] | None = None,
        exclusions: Iterable[tuple[int, int]] = (),
        margin: float = 4e-4,
    ) -> None:
        if not (np.isfinite(margin) and margin > 0):
            raise AnatomyError(f"the margin must be positive, not {margin} m")
        self._detector = ContactDetector(models, roles, exclusions)
        self._balls = BallTable(models, np.zeros((len(models), 3)))
        self._margin = float(margin)
        self._middles = np.array([m.centres.mean(axis=0) for m in models])
        pairs = zip(models, self._middles, strict=True)
        arms = [np.linalg.norm(model.centres - own, axis=1) for model, own in pairs]
        self._extents = np.array([arm.max() for arm in arms])
        self._poses: Poses | None = None
        self.searches = 0

    def contacts(self, poses: Poses) -> Contacts:
        """The contacts of :meth:`ContactDetector.detect`, in the same order."""
        if self._poses is None or not self._travel(poses) < self._margin:
            near = self._near = self._detector.detect(poses, margin=self._margin)
            sides = ((near.body_i, near.ball_i), (near.body_j, near.ball_j))
            self._bodies = np.stack([near.body_i, near.body_j], axis=1)
            self._centres = np.stack([self._balls.centres(*s) for s in sides], axis=1)
            self._radii = np.stack([self._balls.radii(*s) for s in sides], axis=1)
            self._poses = Poses(poses.rotations.copy(), poses.positions.copy())
            self.searches += 1
        turns = np.ascontiguousarray(poses.rotations, dtype=float)
        shifts = np.ascontiguousarray(poses.positions, dtype=float)
        hits, depth, normal, point = meet_in_list(
            self._bodies, self._centres, self._radii, turns, shifts
        )
        relative = 1 - depth / self._radii[hits].sum(axis=1)
        found = self._near.chosen(hits)
        return replace(
            found, depth=depth, normal=normal, point=point, relative=relative
        )

    def _travel(self, poses: Poses) -> float:
        """Bound of how much nearer balls of two bones have come [m]."""
        assert self._poses is not None
        turn = poses.rotations - self._poses.rotations
        shift = poses.positions - self._poses.positions
        middle = shift + np.einsum("nij,nj->ni", turn, self._middles)
        size = np.sqrt(np.einsum("nij,nij->n", turn, turn))
        moved = np.linalg.norm(middle, axis=1) + size * self._extents
        pairs = self._detector.pairs
        return float(moved[pairs].sum(axis=1).max(initial=0.0))
