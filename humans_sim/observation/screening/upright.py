# SPDX-License-Identifier: Apache-2.0
"""Which way up a recorded person is: heads are above feet, or people lie down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.observation.markers.axes import from_z_up
from humans_sim.observation.screening.expected import ExpectedMarkers
from humans_sim.observation.screening.findings import Finding, Severity, Topic

_HIGH, _LOW = 0.75, 0.2
"""Shares of the markers' heights, standing, above and below which they are top and
bottom."""
_DOWN = -0.5
"""Top above bottom, over that of standing, of who is on his head."""
_LEVEL, _LONG = 0.35, 0.7
"""The same of who lies, and the least length on the ground."""
_MOST = 0.5
"""Share of the frames in which somebody is upside down before the file is."""
_ALL = 0.9
"""Share of the frames in which a file that lies has everybody lie."""
_TRAVEL = 0.7
"""Distance over the height of the markers that nobody travels lying or on his hands."""
_BUSY = 0.4
"""Median speed of the feet that who lies hardly has [m/s]."""
_STRAIGHT = 0.9
"""Cosine to an axis that is it."""


@dataclass(frozen=True)
class Upright:
    """Which way up.

    Attributes:
        up: axis of the recording that points up; z where it is as it should be.
        findings: why not.
    """

    up: str = "z"
    findings: tuple[Finding, ...] = ()


def screen_up(
    expected: ExpectedMarkers,
    positions: np.ndarray,
    speeds: np.ndarray,
    file_axis: str,
    given: bool,
) -> Upright:
    """Compare a recording with somebody who stands.

    Args:
        expected: markers of the person.
        positions: in some frames, z up, NaN where not seen (n, m, 3) [m].
        speeds: median of each marker, NaN where not known (m,) [m/s].
        file_axis: axis of the file that was read as z; empty: not known.
        given: whether the user gave it, or moves markers himself: nothing is turned.
    """
    height = expected.standing[:, 2]
    share = (height - height.min()) / max(float(np.ptp(height)), 1e-9)
    top, bottom = share > _HIGH, share < _LOW
    length = float(height[top].mean() - height[bottom].mean())
    bodies = _mean(positions[:, top]) - _mean(positions[:, bottom])
    bodies = bodies[~np.isnan(bodies).any(axis=1)] / max(length, 1e-9)
    if not len(bodies):
        return Upright()
    down = float((bodies[:, 2] < _DOWN).mean())
    along = np.linalg.norm(bodies[:, :2], axis=1)
    level = float(((np.abs(bodies[:, 2]) < _LEVEL) & (along > _LONG)).mean())
    middle = _mean(positions)
    middle = middle[~np.isnan(middle).any(axis=1)]
    travels = float(np.linalg.norm(np.ptp(middle, axis=0))) > _TRAVEL * length
    busy = bool((speeds[bottom] > _BUSY).mean() > _MOST)
    if down > _MOST:
        text = f"the feet are above the head in {100 * down:.0f} % of the frames"
    elif level > _ALL and (travels or (busy and not given)):
        text = f"the person moves, lying, in {100 * level:.0f} % of the frames"
    else:
        return Upright()
    axis = _axis(bodies)
    word = f"'{_in_file(axis, file_axis)}'" if axis and file_axis else "another axis"
    if travels and axis and not given:
        text += f": {word} is taken for up (--up confirms it)"
        return Upright(axis, (Finding(Topic.UP, text, Severity.CORRECTED),))
    severity = Severity.REFUSAL if travels or down > _MOST else Severity.DOUBT
    text += f": is {word} up (--up)?"
    return Upright(findings=(Finding(Topic.UP, text, severity),))


def _mean(positions: np.ndarray) -> np.ndarray:
    """Mean of the markers seen (n, 3); NaN where none is."""
    seen = ~np.isnan(positions)
    count = seen.sum(axis=1)
    total = np.where(seen, positions, 0.0).sum(axis=1)
    mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _axis(bodies: np.ndarray) -> str:
    """The axis from bottom to top; empty where it is none of them."""
    direction = np.median(bodies, axis=0)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-9)
    k = int(np.argmax(np.abs(direction)))
    if abs(direction[k]) < _STRAIGHT:
        return ""
    return ("-" if direction[k] < 0 else "") + "xyz"[k]


def _in_file(axis: str, file_axis: str) -> str:
    """An axis of the recording, z up, in the words of its file."""
    vector = np.zeros(3)
    vector["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
    return _axis(from_z_up(vector, file_axis)[None])
