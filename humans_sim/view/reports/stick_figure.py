# SPDX-License-Identifier: Apache-2.0
"""A reconstructed motion as a stick figure that plays in a page.

Segments are lines between joints; measured markers are dots, with a line to where the
model has them. Positions are packed into 16 bits each.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.models.model import Model
from humans_sim.models.points import PointSet
from humans_sim.observation.posture.result import Reconstruction

MOST_FRAMES = 1200
"""Frames of a film at most; of a longer trial it shows every second, third, ..."""
REACH = 3.0
"""Markers further than this from all of the body are not drawn [m]."""
LEGEND = {
    "left": "#1f77b4",
    "right": "#ff7f0e",
    "marker, measured": "#0a7d5a",
    "interpolated": "#8a63c9",
    "rejected": "#d62728",
    "line to where the model has it": "#e377c2",
}
"""Colours of what is drawn, by name; those of ``stick_figure.js``."""
_APART = 1e-3
"""Joints closer than this are one point [m]."""
_EMPTY = -32768
_FULL = 32767


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Points of a model, and the lines between them.

    Attributes:
        points: joints, then the tags at the ends of the limbs.
        lines: pairs of points, and 1 for left, 2 for right, 0 for the middle.
        head: the line that is drawn as a head, or -1.
    """

    points: PointSet
    lines: tuple[tuple[int, int, int], ...]
    head: int

    @classmethod
    def of(cls, model: Model) -> Skeleton:
        """Lines from each joint to the next, and from the last to the tags there."""
        tree = model.pin
        data = model.data()
        pin.forwardKinematics(tree, data, model.neutral())
        places = [data.oMi[j].translation for j in range(tree.njoints)]
        # joints of one ball or saddle lie in one point
        first = list(range(tree.njoints))
        for j in range(2, tree.njoints):
            parent = tree.parents[j]
            if np.linalg.norm(places[j] - places[parent]) < _APART:
                first[j] = first[parent]
        joints = sorted(set(first[1:]))
        number = {joint: place for place, joint in enumerate(joints)}
        local = [np.zeros(3)] * len(joints)
        lines = [
            (number[first[tree.parents[j]]], number[j], _side(tree.names[j]))
            for j in joints
            if j >= 2
        ]
        carriers = list(joints)
        head = -1
        tags = model.tag_points(model.tag_names)
        for j in range(2, tree.njoints):
            if len(tree.children[j]):
                continue
            own = np.flatnonzero(np.array(tags.joints)[tags.row] == j)
            side, start = _side(tree.names[j]), len(carriers)
            carriers += [j] * len(own)
            local += [tags.local[k] for k in own]
            new = list(range(start, start + len(own)))
            if tree.names[j].startswith("head") and new:
                top = max(new, key=lambda k: float(local[k][2]))
                head = len(lines)
                new = [top]
            lines += [(number[first[j]], k, side) for k in new]
            lines += [(a, b, side) for a, b in _outline(new, local)]
        points = PointSet(tree, carriers, np.array(local))
        return cls(points, tuple(lines), head)

    def positions(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Of the points (n, p, 3) [m]."""
        data = model.data()
        places = np.empty((len(q), self.points.size, 3))
        for row, configuration in enumerate(q):
            pin.forwardKinematics(model.pin, data, configuration)
            places[row] = self.points.positions(data)
        return places


def stick_figure_data(result: Reconstruction) -> dict[str, object]:
    """What the script of the template ``stick_figure`` draws, small."""
    rows = np.arange(0, len(result.t), -(-len(result.t) // MOST_FRAMES))
    skeleton = Skeleton.of(result.model)
    body = skeleton.positions(result.model, result.q[rows])
    markers = result.trial.positions[rows].copy()
    low, high = body.min(axis=(0, 1)) - REACH, body.max(axis=(0, 1)) + REACH
    with np.errstate(invalid="ignore"):
        outside = ((markers < low) | (markers > high)).any(axis=2)
    markers[outside] = np.nan
    middle = (low + high) / 2
    step = float(np.max(high - low)) / 2 / _FULL
    differences = np.where(np.isnan(markers), np.nan, result.differences[rows])
    largest = np.nanmax(np.abs(differences)) if np.isfinite(differences).any() else 0.0
    status = result.status[rows].astype(np.uint8)
    fine = max(float(largest) / _FULL, 1e-9)
    return {
        "t": [round(float(t), 4) for t in result.t[rows]],
        "frames": [int(frame) for frame in result.trial.frames[rows]],
        "rms": [
            round(1e3 * float(v), 2) for v in np.nan_to_num(result.frame_rms[rows])
        ],
        "names": list(result.names),
        "lines": skeleton.lines,
        "head": skeleton.head,
        "middle": [float(x) for x in middle],
        "step": step,
        "fine": fine,
        "body": _base64((body - middle) / step),
        "markers": _base64((markers - middle) / step),
        "differences": _base64(differences / fine),
        "status": base64.b64encode(status.tobytes()).decode("ascii"),
    }


def _base64(values: np.ndarray) -> str:
    """Whole numbers of 16 bits; what is not there is the smallest."""
    rounded = np.clip(np.rint(values), -_FULL, _FULL)
    whole = np.where(np.isnan(values), _EMPTY, rounded)
    return base64.b64encode(whole.astype("<i2").tobytes()).decode("ascii")


def _side(name: str) -> int:
    return {"l_": 1, "r_": 2}.get(name[:2], 0)


def _outline(points: list[int], local: list[np.ndarray]) -> list[tuple[int, int]]:
    """A loop around three points or more, as seen from above."""
    if len(points) < 3:
        return []
    flat = np.array([local[k][:2] for k in points])
    angles = np.arctan2(*(flat - flat.mean(axis=0)).T[::-1])
    order = [points[k] for k in np.argsort(angles)]
    return list(zip(order, order[1:] + order[:1], strict=True))
