# SPDX-License-Identifier: Apache-2.0
"""Which axis of a file points up: what the file says, and what its content shows.

Programs write the axes of their screen, and some of them a screen that stands on its
head. People do not, and neither do floors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from humans_sim.observation.markers.force_plate import plate_axes

USUAL = "z"
"""Where neither the file nor its content says more."""
_HIGH = re.compile(
    r"[LR]?[FB]HD|[LR]?HD[FB]|(TOP|[LR]?[FB]?)HEAD|VERTEX|NECK|C7|CV7|CLAV|STRN|SXS"
    r"|SNJ|(L|R|LEFT|RIGHT)?(SHO|SHOULD|SHOULDER|ACR|ACROM|ACROMIUM|ACROMION|SAE)"
)
_LOW = re.compile(
    r"(L|R|LEFT|RIGHT)?(TOE|HEE|HEEL|FOO|FOOT|ANK|ANKLE|MALL|MET|MT[1-5]|MTP[1-5]"
    r"|FM[1-5]|CAL|CALC|FCC|FAL|TAM)[1-4]?"
)
"""Labels of markers on head and shoulders, and on feet, as common sets name them."""
_APART = 0.4
"""Head or shoulders of a person upright are further above the feet than this [m]."""
_ALONG = 0.8
"""Cosine of the largest angle between an axis and what shows it."""
_SAMPLES = 10_000
"""Samples of a recording that show where up is."""
_BELOW = 0.1
"""So much may lie beneath the floor: a marker on a foot, a badly set origin [m]."""


def find_up(
    said: str, names: Sequence[str], positions: np.ndarray, corners: np.ndarray
) -> tuple[str, str]:
    """The axis that points up, and a note where that is not what the file says.

    The axis is what the file says, in the direction that the content shows. Where the
    file says nothing, the content shows the axis too: heads above feet, or the
    corners of force plates.

    Args:
        said: by the file: x, -x, y, -y, z, -z, or empty.
        names: of the markers.
        positions: on the axes of the file (n, m, 3) [m], NaN where missing.
        corners: of force plates, likewise (k, 4, 3) [m].
    """
    body = _axis_of(_body(names, positions))
    floor = _axis_of(_floor(corners))
    reason = "heads are above feet" if body else "force plates show their upper sides"
    shown = body or floor
    if not said:
        if shown and shown != USUAL:
            return shown, f"no axis is said to be up; {reason} along {shown}"
        return shown or USUAL, ""
    if shown == said:
        return said, ""
    if shown and shown[-1] != said[-1]:
        return said, (
            f"{said} is taken for up, as the file says, though {reason} along {shown}: "
            f"if that is right, give up='{shown}'"
        )
    if not shown and said.startswith("-") and _all_on_one_side(positions, said[-1]):
        shown, reason = said[-1], "all markers are above the floor"
    if not shown:
        return said, ""
    return shown, f"the file says that {said} is up, but {reason} along {shown}"


def _body(names: Sequence[str], positions: np.ndarray) -> np.ndarray | None:
    """From feet to head or shoulders (3,)."""
    labels = [re.sub("[^A-Z0-9]", "", n.rpartition(":")[2].upper()) for n in names]
    high = [k for k, label in enumerate(labels) if _HIGH.fullmatch(label)]
    low = [k for k, label in enumerate(labels) if _LOW.fullmatch(label)]
    if not high or not low:
        return None
    # Of a long recording some samples show it as well.
    some = positions[:: max(1, len(positions) // _SAMPLES)]
    upper, lower = some[:, high], some[:, low]
    upper, lower = (part[~np.isnan(part).any(axis=2)] for part in (upper, lower))
    if not len(upper) or not len(lower):
        return None
    difference: np.ndarray = np.median(upper, axis=0) - np.median(lower, axis=0)
    return difference if np.linalg.norm(difference) > _APART else None


def _floor(corners: np.ndarray) -> np.ndarray | None:
    """The direction in which plates show their upper side (3,)."""
    if not len(corners):
        return None
    normal: np.ndarray = -np.sum([plate_axes(p)[:, 2] for p in corners], axis=0)
    return normal


def _axis_of(vector: np.ndarray | None) -> str:
    """The word for an axis near a vector; empty where there is none."""
    if vector is None:
        return ""
    length = float(np.linalg.norm(vector))
    k = int(np.argmax(np.abs(vector)))
    if not length > 0 or abs(vector[k]) < _ALONG * length:
        return ""
    return ("-" if vector[k] < 0 else "") + "xyz"[k]


def _all_on_one_side(positions: np.ndarray, axis: str) -> bool:
    """Whether markers lie above a floor through the origin, and none beneath."""
    some = positions[:: max(1, len(positions) // _SAMPLES)]
    heights = some[:, :, "xyz".index(axis)]
    heights = heights[~np.isnan(heights)]
    return bool(len(heights) and heights.min() > -_BELOW and heights.max() > _APART)
