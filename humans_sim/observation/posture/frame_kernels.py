# SPDX-License-Identifier: Apache-2.0
"""Compiled steps around the search of one frame: they are short, and many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from humans_sim.observation.posture.kernels import advance, robust
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.smooth_kernels import rotation_between

USED, OCCLUDED = int(MarkerStatus.USED), int(MarkerStatus.OCCLUDED)
REJECTED, UNKNOWN = int(MarkerStatus.REJECTED), int(MarkerStatus.UNKNOWN)
PATIENCE, PATIENCE_GROWTH, PATIENCE_MOST = 20, 0.1, 3.0
"""Frames after which a marker is believed wherever it is; how much farther from its
place it is believed with every frame it was away, and how much at most."""
LEAP = 0.15
"""A change from one frame to the next that is not expected to continue [m, rad]."""


class FrameMarkers(NamedTuple):
    """The k markers of the set in one frame.

    Attributes:
        y: measured (k, 3) [m].
        weight: 0 for those not seen (k,).
        shut: those that are where they cannot be (k,).
    """

    y: np.ndarray
    weight: np.ndarray
    shut: np.ndarray


@njit(cache=True)
def weigh(positions, columns, given):
    """Markers of the set (k, 3), their weights (k,), and how many are seen."""
    y, weight = np.zeros((columns.size, 3)), np.zeros(columns.size)
    seen = 0
    for row in range(columns.size):
        point = positions[columns[row]]
        if np.isfinite(point[0]) and np.isfinite(point[1]) and np.isfinite(point[2]):
            y[row] = point
            weight[row] = given[row]
            seen += 1
    return y, weight, seen


@njit(cache=True)
def change_between(a, b):
    """The step, base on world axes and joints, that leads from posture a to b."""
    step = np.empty(a.size - 1)
    step[:3] = b[:3] - a[:3]
    step[3:6] = rotation_between(a[3:7], b[3:7])
    step[6:] = b[7:] - a[7:]
    return step


@njit(cache=True)
def predict(q, step, fade, lower, upper):
    """The posture after q if a share of the last step is repeated."""
    ahead, going = np.empty(q.size), np.zeros(step.size)
    for i in range(step.size):
        if abs(step[i]) < LEAP:
            going[i] = fade * step[i]
    advance(q, going, lower, upper, ahead)
    return ahead


@njit(cache=True)
def gate(x, y, weight, age, reach):
    """Markers that are where they cannot be: far from where the last frames lead.

    One that lies where another belongs, which is itself not there, has its label
    swapped. Others are let in again when they have been away for a while.

    Args:
        x: where the markers are expected (k, 3) [m].
        y: measured (k, 3) [m].
        weight: 0 for those not seen (k,).
        age: frames since each was used (k,).
        reach: distance that is believed from one frame to the next [m].
    """
    shut = np.zeros(weight.size, np.bool_)
    if not np.isfinite(reach):
        return shut
    radius = 0.5 * reach * np.minimum(1.0 + PATIENCE_GROWTH * age, PATIENCE_MOST)
    astray = np.ones(weight.size, np.bool_)
    for m in range(weight.size):
        if weight[m] > 0.0:
            astray[m] = _apart(x[m], y[m]) > radius[m]
    for m in range(weight.size):
        if weight[m] <= 0.0 or not astray[m]:
            continue
        own = _apart(x[m], y[m])
        shut[m] = own > 2.0 * radius[m] and age[m] < PATIENCE
        for k in range(weight.size):
            if k != m and astray[k] and _apart(x[k], y[m]) < min(radius[k], own):
                shut[m] = True
    return shut


@njit(cache=True)
def _apart(a, b):
    return np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit(cache=True)
def explain(x, frame, scale, least, columns, count):
    """Model markers, differences and status of all columns.

    Args:
        x: where the model has the markers of the set (k, 3) [m].
        frame: :class:`FrameMarkers`.
        scale: of the loss [m].
        least: robust weight below which a marker is rejected.
        columns: of the set's markers (k,).
        count: of all columns.
    """
    y, weight, shut = frame
    markers = np.full((count, 3), np.nan)
    differences = np.full((count, 3), np.nan)
    status = np.full(count, UNKNOWN, np.uint8)
    for row in range(columns.size):
        column = columns[row]
        markers[column] = x[row]
        if weight[row] <= 0.0:
            status[column] = OCCLUDED
            continue
        differences[column] = y[row] - x[row]
        square = 0.0
        for a in range(3):
            square += (y[row, a] - x[row, a]) ** 2
        status[column] = USED
        if shut[row] or robust(square, scale)[1] < least:
            status[column] = REJECTED
    return markers, differences, status
