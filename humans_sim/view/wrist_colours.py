# SPDX-License-Identifier: Apache-2.0
"""Colours of the bones of a wrist, and of ligaments by their tension."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps

from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import WristRun

_BONES = {
    **{"scaphoid": "#5b9bd5", "lunate": "#2f5f9f", "triquetrum": "#45b3c9"},
    **{"pisiform": "#9fd3e6", "trapezium": "#f2a65a", "trapezoid": "#d9793a"},
    **{"capitate": "#c8505f", "hamate": "#8e5ba6", "radius": "#d9ceb8"},
    "ulna": "#c4b79c",
}
"""The first row in blues, the second in warm colours, the forearm in ivory."""
_OTHERS = ("#e9dfca", "#ddd0b4", "#efe7d6", "#d5c7a6", "#e4d9c1")
"""In turns, of bones without a name that is known: metacarpals are shades of ivory."""
_SLACK = np.array([0.62, 0.64, 0.66])
"""Of a ligament without tension."""
CONTACT = (0.13, 0.55, 0.13)
"""Of contact points."""
_SCALES = np.array([1.0, 2.0, 5.0])


def bone_colours(wrist: Wrist) -> np.ndarray:
    """Of all bones, 0 to 1 (b, 3)."""
    words = [
        _BONES.get(name, _OTHERS[n % len(_OTHERS)])
        for n, name in enumerate(wrist.names)
    ]
    return np.array([[int(w[k : k + 2], 16) for k in (1, 3, 5)] for w in words]) / 255


def tension_scale(run: WristRun) -> float:
    """A round number of newtons, not below any tension of a run."""
    largest = max(float(run.tensions.max(initial=0.0)), 1.0)
    steps = np.append(_SCALES, 10.0) * 10.0 ** np.floor(np.log10(largest))
    return float(steps[np.searchsorted(steps, largest * (1 - 1e-9))])


def tension_colours(tensions: np.ndarray, scale: float) -> np.ndarray:
    """Of ligaments, 0 to 1 (l, 3): grey where slack, then yellow to dark red."""
    share = np.clip(np.asarray(tensions) / scale, 0.0, 1.0)
    taut = colormaps["YlOrRd"](0.35 + 0.65 * share)[:, :3]
    return np.where(share[:, None] > 1e-6, taut, _SLACK)


def whole_colour(colour: np.ndarray) -> tuple[int, int, int]:
    """A colour of 0 to 1 as whole numbers, 0 to 255."""
    red, green, blue = (round(255 * float(c)) for c in colour)
    return red, green, blue
