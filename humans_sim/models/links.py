# SPDX-License-Identifier: Apache-2.0
"""The links of a model as a tree of transforms, as TF wants them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from humans_sim.models.model import Model

LinkPose = tuple[str, str, pin.SE3]
"""Parent link, child link, pose of the child in the parent's frame."""


class LinkTree:
    """Parent and child links of a model's URDF, moving and fixed."""

    def __init__(self, model: Model) -> None:
        """Read the joints of the model's URDF."""
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
                data.oMf[model.getFrameId(parent)].actInv(
                    data.oMf[model.getFrameId(child)]
                ),
            )
            for parent, child in pairs
        ]
