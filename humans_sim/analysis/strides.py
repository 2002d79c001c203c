# SPDX-License-Identifier: Apache-2.0
"""Strides of a reconstructed walk: from a heel strike to the next of the same foot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import find_peaks

from humans_sim.models.model import Model
from humans_sim.models.soles import support_tags

SWING = 0.15
"""A heel that swings less than this against the pelvis does not walk [m]."""
SHORTEST, LONGEST = 0.4, 3.0
"""Times a stride may take [s]."""
PERCENT = np.linspace(0.0, 100.0, 101)
"""Points of a stride at which curves are compared [%]."""


@dataclass(frozen=True)
class Stride:
    """From a heel strike to the next.

    Attributes:
        side: ``l`` or ``r``.
        start: time of the first strike [s].
        end: time of the second [s].
    """

    side: str
    start: float
    end: float

    def curve(self, t: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A curve over the stride, at each of :data:`PERCENT`."""
        times = self.start + (self.end - self.start) * PERCENT / 100
        resampled: np.ndarray = np.interp(times, t, values)
        return resampled


def find_strides(model: Model, t: np.ndarray, q: np.ndarray) -> tuple[Stride, ...]:
    """Strides of a motion, in the order of their starts.

    A heel strikes where it is furthest ahead of the pelvis (Zeni, Richards and
    Higginson 2008): this needs no force plate, and holds on treadmills too.

    Args:
        model: with soles; the heel is the rearmost contact of each.
        t: times (n,) [s].
        q: configurations (n, nq).
    """
    if len(t) < 3:
        return ()
    rate = (len(t) - 1) / float(t[-1] - t[0])
    strides = []
    for sole in model.soles:
        ahead = _ahead(model, q, _heel(model, support_tags(sole)))
        apart = max(1, math.floor(SHORTEST * rate))
        rows, _ = find_peaks(ahead, prominence=SWING, distance=apart)
        strikes = [_summit(t, ahead, row) for row in rows]
        strides += [
            Stride(sole.name[:1], start, end)
            for start, end in zip(strikes[:-1], strikes[1:], strict=True)
            if SHORTEST <= end - start <= LONGEST
        ]
    return tuple(sorted(strides, key=lambda stride: stride.start))


def _heel(model: Model, contacts: tuple[str, ...]) -> tuple[int, np.ndarray]:
    """Joint and place on it of the rearmost of some points."""
    points = model.tag_points(contacts)
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    rear = int(np.argmin(points.positions(data)[:, 0]))
    return points.joints[points.row[rear]], points.local[rear]


def _ahead(model: Model, q: np.ndarray, heel: tuple[int, np.ndarray]) -> np.ndarray:
    """How far a heel is ahead of the pelvis, along its heading (n,) [m]."""
    joint, local = heel
    data = model.data()
    ahead = np.empty(len(q))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model.pin, data, configuration)
        base = data.oMi[1]
        forward = base.rotation[:2, 0]
        offset = data.oMi[joint].act(local)[:2] - base.translation[:2]
        ahead[row] = offset @ forward / max(float(np.linalg.norm(forward)), 1e-9)
    return ahead


def _summit(t: np.ndarray, values: np.ndarray, row: int) -> float:
    """Time of a peak, by the parabola through it and its neighbours [s]."""
    before, top, after = values[row - 1 : row + 2]
    bend = before - 2 * top + after
    shift = 0.0 if bend >= 0 else 0.5 * (before - after) / bend
    span = t[row + 1] - t[row] if shift > 0 else t[row] - t[row - 1]
    return float(t[row] + shift * span)
