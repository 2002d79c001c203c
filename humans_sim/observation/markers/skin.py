# SPDX-License-Identifier: Apache-2.0
"""How much skin moves under a marker, and so how much the marker counts.

In walking the muscles of the thigh carry their skin by a centimetre and more, about
twice as far as it goes on shank or pelvis; a foot is bony or in a shoe, and moves its
markers less (reviews: Leardini et al. 2005, "Human movement analysis using
stereophotogrammetry, part 3: soft tissue artifact assessment and compensation"; Peters
et al. 2010, "Quantification of soft tissue artifact in lower limb human motion
analysis"). Weights are inverse squares of such movements, rounded.
"""

from __future__ import annotations

_THIGH = 0.25
"""Of a marker on the flesh of a thigh: its skin moves twice as far as usual."""
_FOOT = 3.0
"""Of a marker on a foot: 0.6 times as far."""
_FLESH = 0.05
"""Spread from which on a marker is at no landmark but somewhere on the flesh [m]."""


def usual_weight(segment: str, spread: float) -> float:
    """Weight of a marker for which its set gives none.

    Args:
        segment: that carries it.
        spread: how far it may be from its place in the set [m].
    """
    if segment.endswith("foot"):
        return _FOOT
    if segment.endswith("thigh") and spread >= _FLESH:
        return _THIGH
    return 1.0
