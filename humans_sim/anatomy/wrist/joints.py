# SPDX-License-Identifier: Apache-2.0
"""Joints of a wrist: bones that are neighbours at rest, and the gaps between them.

Bones that travel with the hand are not dislocated, and bones that lose their neighbours
are, however little they travel: the gaps tell it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import WristRun

_NEIGHBOURS = 1e-3
"""Gap at rest up to which bones are neighbours [m]."""


class Joints:
    """Pairs of neighbouring bones, one of them free at least.

    Args:
        wrist: its bones.
        within: gap at rest up to which bones are neighbours [m].

    Attributes:
        pairs: numbers of the bones (p, 2).
        names: e.g. ``scaphoid-lunate``.

    Raises:
        AnatomyError: no bone has a neighbour.
    """

    def __init__(self, wrist: Wrist, within: float = _NEIGHBOURS) -> None:
        """Look for neighbours."""
        self._wrist = wrist
        rest = wrist.rest()
        near = wrist.detector().detect(wrist.poses(rest.x, rest.R), margin=within)
        pairs = np.unique(np.stack([near.body_i, near.body_j], axis=1), axis=0)
        if not len(pairs):
            raise AnatomyError("no bone of the wrist has a neighbour")
        self.pairs = pairs
        self.names = tuple("-".join(wrist.names[n] for n in pair) for pair in pairs)

    def gaps(self, x: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Least gaps between balls of the pairs, negative where they overlap (p,) [m].

        Args:
            x: centres of mass (b, 3) [m].
            frames: rotations (b, 3, 3).
        """
        poses = self._wrist.poses(x, frames)
        models = [
            bone.model.moved(turn, shift)
            for bone, turn, shift in zip(
                self._wrist.bones, poses.rotations, poses.positions, strict=True
            )
        ]
        gaps = np.empty(len(self.pairs))
        for n, (i, j) in enumerate(self.pairs):
            one, other = models[i], models[j]
            apart = cdist(one.centres, other.centres)
            gaps[n] = (apart - one.radii[:, None] - other.radii).min()
        return gaps

    def opened(self, run: WristRun, sample: int = -1) -> np.ndarray:
        """By how much the gaps are wider than at rest (p,) [m]."""
        rest = self._wrist.rest()
        now = self.gaps(run.x[sample], run.frames[sample])
        return np.asarray(now - self.gaps(rest.x, rest.R))

    def parted(self, run: WristRun, by: float = 2e-3) -> tuple[str, ...]:
        """Names of the joints that have opened by more than a length at the end."""
        wide = self.opened(run) > by
        return tuple(name for name, far in zip(self.names, wide, strict=True) if far)
