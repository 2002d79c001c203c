# SPDX-License-Identifier: Apache-2.0
"""Footprints that a walk leaves: where soles stood flat and loaded."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.models import Model
from humans_sim.models.soles import corner_places, load_tags
from humans_sim.view.browser.touches import Touches

LENGTH = 24
"""Footprints kept of each sole."""
_LOADED = 0.1
"""Share of the weight that makes a footprint."""
_FAR, _TURNED = 1 / 60, 0.09
"""What makes another footprint: distance [body heights] or turn [rad]."""
_FLAT = 0.1
"""Tilt of a sole that still is flat on the ground [rad]."""


@dataclass(frozen=True)
class Outline:
    """A sole in its own frame.

    Attributes:
        name: of its frame.
        contacts: names of the tags through which it carries load.
        corners: counter-clockwise (n, 2) [m].
    """

    name: str
    contacts: frozenset[str]
    corners: np.ndarray


def outlines(model: Model) -> list[Outline]:
    """The soles of a model that have an area."""
    drawn = []
    for sole in model.soles:
        corners = convex_hull(corner_places(model, sole)[:, :2])
        if len(corners) > 2:
            drawn.append(Outline(sole.name, frozenset(load_tags(sole)), corners))
    return drawn


class Trail:
    """Follows the soles of a model and keeps their footprints, the last ones only.

    A footprint begins when a sole stands flat and loaded, moves along where the sole
    slides, and stays where the sole leaves it.

    Attributes:
        prints: poses of the soles, by sole, the oldest first.
    """

    def __init__(self, model: Model, soles: list[Outline], size: float) -> None:
        """No footprint yet.

        Args:
            model: that walks.
            soles: what to follow.
            size: height of the body [m].
        """
        self._model, self._soles = model, soles
        self._weight = weight_of(model)
        self._far = _FAR * size
        self.clear()

    def clear(self) -> None:
        """Forget all footprints."""
        self.prints: dict[str, deque[pin.SE3]] = {
            sole.name: deque(maxlen=LENGTH) for sole in self._soles
        }
        self._standing = {sole.name: False for sole in self._soles}

    def update(self, q: np.ndarray, touches: Touches) -> bool:
        """Look at the soles; whether a footprint came or moved.

        Args:
            q: configuration.
            touches: contacts at the same time.
        """
        changed = False
        for sole in self._soles:
            stood = self._standing[sole.name]
            pose = self._print(q, sole, touches.only(sole.contacts))
            self._standing[sole.name] = pose is not None
            if pose is None:
                continue
            kept = self.prints[sole.name]
            if kept and (stood or self._same(kept[-1], pose)):
                if not kept[-1].isApprox(pose, 1e-4):
                    kept[-1], changed = pose, True
            else:
                kept.append(pose)
                changed = True
        return changed

    def _print(self, q: np.ndarray, sole: Outline, touches: Touches) -> pin.SE3 | None:
        """Where a sole that stands would leave its print, flat on the ground."""
        load = np.clip(touches.load, 0.0, None)
        if load.sum() < _LOADED * self._weight:
            return None
        pose = self._model.frame_pose(q, sole.name)
        normal = load @ touches.normal
        normal /= np.linalg.norm(normal)
        if float(pose.rotation[:, 2] @ normal) < math.cos(_FLAT):
            return None
        ground = load @ touches.position / load.sum()
        flat = pin.Quaternion.FromTwoVectors(pose.rotation[:, 2], normal).matrix()
        place = pose.translation
        place = place - float((place - ground) @ normal) * normal
        return pin.SE3(flat @ pose.rotation, place)

    def _same(self, last: pin.SE3, now: pin.SE3) -> bool:
        change = last.actInv(now)
        far = float(np.linalg.norm(change.translation))
        return far < self._far and float(np.linalg.norm(pin.log3(change.rotation))) < (
            _TURNED
        )


def weight_of(model: Model) -> float:
    """Weight of a model [N]."""
    return float(model.mass * np.linalg.norm(model.pin.gravity.linear))
