# SPDX-License-Identifier: Apache-2.0
"""Arrangement of markers: size of a recording, and distances as the person's.

Distances between markers of a segment, and across a joint or two, hardly depend on the
posture. Their ratio to those of the person is the scale of the recording; a distance
that then does not fit is a label on the wrong marker.

*Exchanged labels.* Two are exchanged where the recording is far more probable with the
two exchanged: distances that then fit count by their logarithmic probabilities,
tetrahedra that then lie the right way round one each.

*Handedness* of four markers: a mirror changes it, no posture does. The triple product
of three edges of a tetrahedron has a sign. For many tetrahedra of markers near each
other the sign is the same in all postures of the joints' ranges; a recording that is
mirrored, or whose left and right labels are exchanged, has the other one.

*Ranges* of places, whatever the posture. Postures all over the joints' ranges, each
with the markers displaced by as much as their places are uncertain, show which
distances and which orders in space a recording of this person must have. No posture is
sought for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import ANATOMICAL, SetMarker
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies

_POSTURES = 120


@dataclass(frozen=True, eq=False)
class ExpectedMarkers:
    """Markers of a person in many postures.

    Attributes:
        names: of the markers (m).
        body: that carries each (m,).
        samples: positions in each posture (s, m, 3) [m].
        standing: positions when all joints are at zero, z up (m, 3) [m].
        length: mean distance of each pair, markers in their places (m, m) [m].
        distance: the same, markers displaced (m, m) [m].
        spread: its standard deviation (m, m) [m].
        bending: the part of it that is the posture's (m, m) [m].
    """

    names: tuple[str, ...]
    body: np.ndarray
    samples: np.ndarray
    standing: np.ndarray
    length: np.ndarray
    distance: np.ndarray
    spread: np.ndarray
    bending: np.ndarray

    @classmethod
    def of(cls, model: Model, markers: Sequence[SetMarker]) -> ExpectedMarkers:
        """Those of a model that carries markers."""
        tree = Tree.of(model)
        marked = MarkedTree(tree, *marker_bodies(model, markers))
        rng = np.random.default_rng(0)
        middle = 0.5 * (tree.lower + tree.upper)
        half = 0.5 * (tree.upper - tree.lower)
        standing = marked.places(model.neutral())
        samples = np.empty((_POSTURES, *standing.shape))
        q = np.zeros(model.nq)
        q[6] = 1.0
        for row in range(_POSTURES):
            # near the limits more often than between them: people squat and reach
            q[7:] = middle + half * np.sin(rng.uniform(-1.6, 1.6, len(middle)))
            samples[row] = marked.places(q)
        lengths = pair_distances(samples)
        loose = np.array([np.maximum(m.spread, ANATOMICAL).mean() for m in markers])
        samples += loose[:, None] * rng.normal(size=samples.shape)
        distances = pair_distances(samples)
        return cls(
            names=tuple(marker.name for marker in markers),
            body=marked.body,
            samples=samples,
            standing=standing,
            length=lengths.mean(axis=0),
            distance=distances.mean(axis=0),
            spread=distances.std(axis=0),
            bending=lengths.std(axis=0),
        )


def pair_distances(positions: np.ndarray) -> np.ndarray:
    """Distance of every pair of markers (..., m, m), of positions (..., m, 3) [m]."""
    between = positions[..., :, None, :] - positions[..., None, :, :]
    return np.asarray(np.linalg.norm(between, axis=-1))


_NEAREST = 7
"""Markers whose distance varies least, as it is and for its length, that make
tetrahedra with one."""
_SURE = 0.9
"""Mean sign over the postures above which a tetrahedron has a handedness."""
_AGAINST = -0.5
"""Mean sign over the frames below which one contradicts it."""


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """Tetrahedra of markers whose handedness no posture changes.

    Attributes:
        corners: numbers of the markers (k, 4).
        sign: of the triple product of the edges from the first corner (k,).
    """

    corners: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, expected: ExpectedMarkers) -> Tetrahedra:
        """Those of a person's markers."""
        near: set[tuple[int, ...]] = set()
        own = np.diag(np.full(len(expected.names), np.inf))
        length = expected.distance + np.eye(len(own))
        for spread in (expected.spread, expected.spread / length):
            nearest = np.argsort(spread + own, axis=1, kind="stable")
            for marker, row in enumerate(nearest[:, : min(_NEAREST, len(own) - 1)]):
                for three in combinations(row.tolist(), 3):
                    near.add(tuple(sorted((marker, *three))))
        corners = np.array(sorted(near), dtype=np.int64).reshape(-1, 4)
        sign = np.sign(_volumes(expected.samples, corners)).mean(axis=0)
        sure = np.abs(sign) > _SURE
        return cls(corners[sure], np.sign(sign[sure]))

    def agreement(self, positions: np.ndarray) -> np.ndarray:
        """How far each has its sign in frames (n, m, 3): 1 in all, -1 in none (k,).

        NaN where it was never seen.
        """
        signs = self.sign * np.sign(_volumes(positions, self.corners))
        return mean(signs, 0)

    def contradicted(self, positions: np.ndarray) -> np.ndarray:
        """Which of them have the other sign in most frames (k,)."""
        return np.asarray(self.agreement(positions) < _AGAINST)


def _volumes(positions: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triple products (n, k) of positions (n, m, 3)."""
    x, y, z = np.moveaxis(positions, 2, 0)
    ax, bx, cx = (x[:, corners[:, k]] - x[:, corners[:, 0]] for k in (1, 2, 3))
    ay, by, cy = (y[:, corners[:, k]] - y[:, corners[:, 0]] for k in (1, 2, 3))
    az, bz, cz = (z[:, corners[:, k]] - z[:, corners[:, 0]] for k in (1, 2, 3))
    volumes: np.ndarray = (
        ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    )
    return volumes


_STEADY = 0.06
"""Share of a distance that postures change, of one that shows a scale."""
_STIFF, _BENT = 0.1, 0.03
"""Standard deviation of a distance that shows a wrong label, and the posture's part in
it [m]."""
_FEWEST = 4
"""Tetrahedra that show a mirror."""
_FAR = 4.0
"""A distance so many standard deviations off does not fit."""


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Markers of a recording beside those expected.

    Attributes:
        expected: where the markers of the person can be.
        tetrahedra: of them.
        positions: of the markers in some frames, NaN where not seen (n, m, 3) [m].
    """

    expected: ExpectedMarkers
    tetrahedra: Tetrahedra
    positions: np.ndarray

    @cached_property
    def distances(self) -> np.ndarray:
        """Median distance of each pair over the frames; NaN without any (m, m) [m]."""
        return median(pair_distances(self.positions))

    @cached_property
    def scale(self) -> float:
        """Size of the recording over that of the person; NaN where nothing shows it."""
        expected = self.expected
        shown = np.triu(expected.bending < _STEADY * expected.length, 1)
        shown &= np.isfinite(self.distances)
        if not shown.any():
            return float("nan")
        ratios = self.distances[shown] / expected.length[shown]
        weights = (expected.length[shown] / expected.spread[shown]) ** 2
        order = np.argsort(ratios)
        total = np.cumsum(weights[order])
        return float(ratios[order][np.searchsorted(total, 0.5 * total[-1])])

    @cached_property
    def looseness(self) -> float:
        """Standard deviation of distances within a segment, the median [m]; NaN: none.

        Skin moves by a centimetre or two, and that is all.
        """
        body = self.expected.body
        rigid = np.argwhere(np.triu(body[:, None] == body, 1))
        first, second = self.positions[:, rigid[:, 0]], self.positions[:, rigid[:, 1]]
        lengths = np.linalg.norm(first - second, axis=2)
        # 1.4826: from the median deviation of normal noise to its standard deviation
        spread = 1.4826 * median(np.abs(lengths - median(lengths)))
        spread = spread[np.isfinite(spread)]
        return float(np.median(spread)) if len(spread) else float("nan")

    @cached_property
    def mirrored(self) -> float:
        """Share of the tetrahedra that lie the other way round; 0 of too few."""
        agreement = self.tetrahedra.agreement(self.positions)
        seen = agreement[~np.isnan(agreement)]
        return float((seen < 0).mean()) if len(seen) >= _FEWEST else 0.0

    @cached_property
    def stiff(self) -> np.ndarray:
        """Pairs whose distance says something, and which were seen (m, m)."""
        varied = (self.expected.spread > 0) & (self.expected.spread < _STIFF)
        varied &= self.expected.bending < _BENT
        return np.asarray(varied & np.isfinite(self.distances))

    @property
    def misplaced(self) -> float:
        """Share of the stiff distances that no posture explains; 0 without any."""
        if not self.stiff.any() or not self.scale > 0:
            return 0.0
        error = np.abs(self.distances / self.scale - self.expected.distance)
        off = error[self.stiff] > _FAR * self.expected.spread[self.stiff]
        return float(off.mean())


def median(values: np.ndarray) -> np.ndarray:
    """Median over the first axis of what is not NaN; NaN where there is nothing."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    last = np.maximum((~np.isnan(values)).sum(axis=0) - 1, 0)
    lower, upper = last // 2, (last + 1) // 2
    middle: np.ndarray = 0.5 * (
        np.take_along_axis(ordered, lower[None], axis=0)[0]
        + np.take_along_axis(ordered, upper[None], axis=0)[0]
    )
    return middle


def mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean over an axis of what is not NaN; NaN where there is nothing."""
    seen = ~np.isnan(values)
    count = seen.sum(axis=axis)
    total = np.where(seen, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


_CERTAIN = 8.0
"""Gain in logarithmic probability of an exchange that is sure."""
_HOPEFUL = -2.0
"""Gain in distances below which an exchange is not looked at further."""
_MOST_EXCHANGES = 4
"""Exchanges that are looked for; where there are more, all labels are in doubt."""
_WORST = 25.0
"""Largest squared error that counts, in variances."""


def exchanged_labels(arrangement: Arrangement) -> tuple[tuple[str, str], ...]:
    """Pairs of labels that are exchanged, the surest first; empty where none are."""
    names = arrangement.expected.names
    order = np.arange(len(names))
    pairs: list[tuple[str, str]] = []
    while len(pairs) < _MOST_EXCHANGES and arrangement.scale > 0:
        gain, a, b = _best(arrangement, order)
        if gain < _CERTAIN:
            break
        pairs.append((names[a], names[b]))
        order[[a, b]] = order[[b, a]]
    return tuple(pairs)


def _best(arrangement: Arrangement, order: np.ndarray) -> tuple[float, int, int]:
    """The gain of the best exchange, and which it is."""
    expected, rows = arrangement.expected, np.arange(len(order))
    measured = arrangement.distances[np.ix_(order, order)] / arrangement.scale
    stiff = arrangement.stiff
    spread = np.where(stiff, expected.spread, 1.0)
    # cost[a, b, j]: of label a on the marker of b, by its distance to the marker of j
    error = (measured[None] - expected.distance[:, None]) / spread[:, None]
    cost = np.where(stiff[:, None], np.minimum(error**2, _WORST) / 2, 0.0)
    own = np.nan_to_num(cost[rows, rows])
    cost = np.where(np.isnan(cost), own[:, None], cost)  # no gain by what is not seen
    between = cost[:, rows, rows] - own  # of the two, which an exchange does not change
    gain = own.sum(axis=1)[:, None] - cost.sum(axis=2) + between
    gains = gain + gain.T  # of each exchange by the stiff distances (m, m)
    positions, tetrahedra = arrangement.positions[:, order], arrangement.tetrahedra
    before = tetrahedra.contradicted(positions)
    involved = np.zeros(len(gains), dtype=bool)
    involved[tetrahedra.corners[before]] = True
    # A tetrahedron can only change its sign by one of its corners.
    candidates = np.triu(gains > _HOPEFUL, 1) & (involved[:, None] | involved)
    for a, b in np.argwhere(candidates).tolist():
        swapped = positions.copy()
        swapped[:, [a, b]] = swapped[:, [b, a]]
        after = tetrahedra.contradicted(swapped)
        gains[a, b] += float(before.sum()) - float(after.sum())
    gains = np.where(np.triu(np.ones_like(gains, dtype=bool), 1), gains, -np.inf)
    first, second = divmod(int(np.argmax(gains)), len(gains))
    return float(gains[first, second]), first, second
