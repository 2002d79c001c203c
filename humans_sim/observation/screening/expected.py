# SPDX-License-Identifier: Apache-2.0
"""Where the markers of a set can be to each other, whatever the posture.

Postures all over the joints' ranges, each with the markers displaced by as much as
their places are uncertain, show which distances and which orders in space a recording
of this person must have. No posture is sought for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import ANATOMICAL, SetMarker
from humans_sim.observation.posture.tree import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

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
        body, local = marker_bodies(model, markers)
        marked = MarkedTree(tree, body, local)
        rng = np.random.default_rng(0)
        middle = 0.5 * (tree.lower + tree.upper)
        half = 0.5 * (tree.upper - tree.lower)
        standing = _placed(marked, model.neutral())
        samples = np.empty((_POSTURES, *standing.shape))
        q = np.zeros(model.nq)
        q[6] = 1.0
        for row in range(_POSTURES):
            # near the limits more often than between them: people squat and reach
            q[7:] = middle + half * np.sin(rng.uniform(-1.6, 1.6, len(middle)))
            samples[row] = _placed(marked, q)
        lengths = pair_distances(samples)
        loose = np.array([np.maximum(m.spread, ANATOMICAL).mean() for m in markers])
        samples += loose[:, None] * rng.normal(size=samples.shape)
        distances = pair_distances(samples)
        return cls(
            names=tuple(marker.name for marker in markers),
            body=body,
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
    distances: np.ndarray = np.linalg.norm(between, axis=-1)
    return distances


def _placed(marked: MarkedTree, q: np.ndarray) -> np.ndarray:
    poses = empty_poses(len(marked.tree.parent))
    positions = np.empty((len(marked.body), 3))
    place(marked.tree, q, poses)
    points(marked, poses, positions)
    return positions
