# SPDX-License-Identifier: Apache-2.0
"""Where laboratories put markers: landmarks of the known sets, and the skin between.

The markers of the package's sets are the landmarks. A limb's skin is added as points
around its axis, since clusters sit anywhere on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    SetMarker,
    load_marker_set,
)
from humans_sim.observation.markers.synthetic import marker_positions

CLUSTER = 0.05
"""Spread from which on a place is anywhere on the segment [m]."""
_KEYPOINTS = ("body-25", "halpe-26")
"""Sets of joints seen in images: no places on the skin."""
_COMPUTED = re.compile(r".*(Ground|Joint|HJC)")
"""Labels of points of the sets that programs compute, on the floor and in joints."""
_ROUND_LIMBS = {
    "thigh": ("yfemur", 0.046),
    "shank": ("ytibia", 0.034),
    "arm": ("yhumerus", 0.027),
    "forearm": ("yforearm", 0.022),
}
"""Length of a limb, by its name, and its radius in statures."""
_ALONG = (0.2, 0.35, 0.5, 0.65, 0.8)
_AROUND = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
"""Forward and right."""
_FLAT_PARTS = {
    "foot": [
        (x, y, z)
        for x, y in ((0.03, 0.005), (0.055, -0.001), (0.08, -0.008))
        for z in (-0.022, 0.0, 0.025)
    ],
    "hand": [(-0.012, -0.04, -0.02), (-0.012, -0.04, 0.02)],
}
"""Backs of feet and of hands, right ones, in statures."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Places on a model where a marker may be.

    Attributes:
        markers: as those of a set; their names are the places', as ``RKNE
            (plug-in-gait)``.
        sources: set and label of each; empty for skin.
        exact: whether it is a landmark that fingers find, not skin (n,).
        on_skin: whether a marker can be seen there; joints are inside (n,).
        height: stature of the model that has them [m].
    """

    markers: MarkerSet
    sources: tuple[tuple[str, str], ...]
    exact: np.ndarray
    on_skin: np.ndarray
    height: float

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def segments(self) -> np.ndarray:
        """That carry the places (n,)."""
        return np.array([marker.segment for marker in self.markers.markers])

    def positions(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Where the places are in a posture (n, 3) [m]."""
        place: np.ndarray = marker_positions(model, self.markers, q[None])[0]
        return place


@lru_cache(maxsize=64)
def landmarks(model: Model, sets: tuple[str, ...]) -> Landmarks:
    """The places of a model.

    Args:
        model: a human.
        sets: names of the marker sets whose places are known.
    """
    places: list[SetMarker] = []
    sources: list[tuple[str, str]] = []
    on_skin: list[bool] = []
    for name in sets:
        for marker in load_marker_set(name, model).markers:
            places.append(_renamed(marker, f"{marker.name} ({name})"))
            sources.append((name, marker.name))
            computed = name in _KEYPOINTS or _COMPUTED.match(marker.name)
            on_skin.append(not computed)
    for marker in _skin(model):
        places.append(marker)
        sources.append(("", ""))
        on_skin.append(True)
    exact = [marker.spread.max() < CLUSTER for marker in places]
    return Landmarks(
        MarkerSet("landmarks", "places of markers", tuple(places)),
        tuple(sources),
        np.array(exact),
        np.array(on_skin),
        model.height,
    )


def _skin(model: Model) -> Iterator[SetMarker]:
    """Places anywhere on limbs, feet and hands."""
    h = model.height
    for side, word, out in (("r_", "right", 1.0), ("l_", "left", -1.0)):
        points: list[tuple[str, np.ndarray]] = []
        for limb, (length, radius) in _ROUND_LIMBS.items():
            for share in _ALONG:
                down = -share * model.lengths[side + length]
                for x, z in _AROUND * radius * h:
                    points.append((limb, np.array([x, down, z])))
        for part, shares in _FLAT_PARTS.items():
            points += [(part, h * np.array([x, y, out * z])) for x, y, z in shares]
        for number, (part, at) in enumerate(points):
            yield SetMarker(
                f"skin of the {word} {part} {number}",
                side + part,
                at,
                spread=np.full(3, CLUSTER),
            )


def _renamed(marker: SetMarker, name: str) -> SetMarker:
    return SetMarker(
        name,
        marker.segment,
        marker.at,
        marker.weight,
        marker.aliases,
        marker.calibration,
        marker.spread,
    )
