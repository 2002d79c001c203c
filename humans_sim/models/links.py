# SPDX-License-Identifier: Apache-2.0
"""The links of a model as a tree of transforms, and the manual's observers.

*Six coordinates* give the place of a foot or of the suspension. The manual's
``RightFootObserver``, ``LeftFootObserver`` and ``SuspensionObserver`` with their
Jacobians (section 7.1). Of three tags a, b and c on one link they are

    (x_a, x_b, y_a, y_b, y_c, z_a)

on HuMAnS axes (x forward, y up, z right), in HuMAnS coordinates q. They give the
complete place of a link whose tags a and b lie across the walking direction. Tags are
the first, second and fourth of a sole or of the suspension: of Bip 1, 2 and 4; 11, 12
and 14; 22, 23 and 25. :class:`~humans_sim.observation.base.observer.BaseObserver`
compares poses instead: their difference needs no choice of tags.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index

LinkPose = tuple[str, str, pin.SE3]
"""Parent link, child link, pose of the child in the parent's frame."""


class LinkTree:
    """Parent and child links of a model's URDF, moving and fixed."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._data = model.data()
        self._moving: list[tuple[str, str]] = []
        self._fixed: list[tuple[str, str]] = []
        for joint in ET.fromstring(model.urdf()).findall("joint"):
            parent, child = joint.find("parent"), joint.find("child")
            if parent is None or child is None:
                continue
            pair = (parent.get("link", ""), child.get("link", ""))
            fixed = joint.get("type") == "fixed"
            (self._fixed if fixed else self._moving).append(pair)

    def moving(self, q: np.ndarray) -> list[LinkPose]:
        """Poses of the links below moving joints."""
        return self._poses(q, self._moving)

    def fixed(self) -> list[LinkPose]:
        """Poses of the links below fixed joints."""
        return self._poses(self._model.neutral(), self._fixed)

    def _poses(self, q: np.ndarray, pairs: list[tuple[str, str]]) -> list[LinkPose]:
        model, data = self._model.pin, self._data
        pin.framesForwardKinematics(model, data, self._model.check_configuration(q))
        return [
            (
                parent,
                child,
                data.oMf[frame_index(model, parent)].actInv(
                    data.oMf[frame_index(model, child)]
                ),
            )
            for parent, child in pairs
        ]


SUSPENSION_PREFIX = "suspension_"
"""Tags of a model by which it can hang start with this."""
_ROWS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 2))
"""Tag (a, b, c) and axis (x, y, z) of each coordinate."""


class LinkCoordinates:
    """Six coordinates of the tags a, b, c on one link of a model, HuMAnS ones."""

    def __init__(self, model: Model, tags: Sequence[str]) -> None:
        links = {tag.name: tag.link for tag in model.parts.tags}
        for name in tags:
            if name not in links:
                raise ParameterError(f"{model.name} has no tag called '{name}'")
        if len(set(tags)) != 3 or len({links[name] for name in tags}) != 1:
            raise ParameterError(
                f"three tags of one link give its place, not {', '.join(tags)}"
            )
        self._view, self.tags = model.humans, tuple(tags)
        places = [model.tag_names.index(name) for name in tags]
        self._rows = np.array([3 * places[tag] + axis for tag, axis in _ROWS])

    @classmethod
    def right_foot(cls, model: Model) -> LinkCoordinates:
        """Those of the right sole (RightFootObserver, RightFootJacobian)."""
        return cls(model, _sole(model, "r_sole"))

    @classmethod
    def left_foot(cls, model: Model) -> LinkCoordinates:
        """Those of the left sole (LeftFootObserver, LeftFootJacobian)."""
        return cls(model, _sole(model, "l_sole"))

    @classmethod
    def suspension(cls, model: Model) -> LinkCoordinates:
        """Those of the suspension (SuspensionObserver, SuspensionJacobian)."""
        named = [n for n in model.tag_names if n.startswith(SUSPENSION_PREFIX)]
        return cls(model, _chosen(model, "suspension", named))

    def value(self, q_h: np.ndarray) -> np.ndarray:
        """The coordinates (6,) [m]."""
        return self._view.tags(q_h).ravel()[self._rows]

    def jacobian(self, q_h: np.ndarray) -> np.ndarray:
        """Their derivatives by the HuMAnS coordinates (6, n)."""
        return self._view.tags_jacobian(q_h)[self._rows]


def _sole(model: Model, name: str) -> list[str]:
    contacts = [s.contacts for s in model.soles if s.name == name]
    return _chosen(model, name, contacts[0] if contacts else ())


def _chosen(model: Model, what: str, tags: Sequence[str]) -> list[str]:
    if len(tags) < 4:
        raise ParameterError(f"{model.name} has no {what} of four tags")
    return [tags[0], tags[1], tags[3]]
