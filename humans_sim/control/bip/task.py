# SPDX-License-Identifier: Apache-2.0
r"""Bip's task function (manual section 8.1, table 8.1).

In HuMAnS coordinates q (21), with the centre of mass G, tags by their numbers, P the
pelvis frame (frame 6 of the Denavit-Hartenberg table: x right, y down, z forward), RF
and LF the feet's frames (12 and 19: x down, y left, z forward):

======  ===================================================  ==========================
row     value                                                meaning
======  ===================================================  ==========================
1..3    :math:`z_G - z_5,\; y_5 - y_G,\; x_G - x_5` in P     G from the right ankle,
                                                             along the pelvis: forward,
                                                             up, right [m]
4..6    :math:`z_G - z_{10},\; y_{10} - y_G,\;               the same from the left
        x_G - x_{10}` in P                                   ankle
7..9    :math:`x_{16} - x_{17},\; z_{17} - z_{16},\;         trunk seen from the right
        z_{18} - z_{16}` in RF                               foot: roll to the right,
                                                             yaw to the right, pitch
                                                             forward, as lengths [m]
10..12  the same in LF                                       trunk seen from the left
                                                             foot
13..21  :math:`q_{13} \dots q_{21}`                          trunk joints and base
======  ===================================================  ==========================

Tags 16 and 17 are the trunk's right and left, 22 cm apart; tag 18 is 66 cm above tag
16. Row 7 is 0.22 m times the sine of the trunk's roll, row 8 that of its yaw, row 9
0.66 m times the sine of its pitch. "z18 - x16", printed for the third entry of rows
7..12, is read as z18 - z16.

Where the trunk is pitched by 90 degrees from a foot, or a leg is straight, the Jacobian
is singular and rows 1..12 cannot be followed in every direction.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.control.bip.kernels import ROWS, BipTree, task_drift, task_rows
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.models import Model

_ANKLES = ("r_ankle", "l_ankle")
_TRUNK = ("trunk_right", "trunk_left", "trunk_top_right")
_FEET = ("r_foot", "l_foot")
_DOWN, _FORWARD = np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])
"""Axes x and z of the frames 12 and 19, on the axes of the feet's links."""
_JOINTS = 15


class BipTask:
    """TaskFunction, TaskJacobian and TaskNLEffects of the manual.

    Attributes:
        model: Bip.
        size: number of rows and of HuMAnS coordinates (21).
        names: of the rows.
        tree: what the compiled kinematics needs.
    """

    def __init__(self, model: Model) -> None:
        """Task function of a model with Bip's tags, feet and order of joints."""
        missing = [tag for tag in (*_ANKLES, *_TRUNK) if tag not in model.tag_names]
        missing += [foot for foot in _FEET if not model.pin.existFrame(foot)]
        if missing or len(model.joint_names) != _JOINTS:
            raise ParameterError(
                f"the task function of table 8.1 is Bip's; {model.name} has "
                + (f"no '{missing[0]}'" if missing else "other joints")
            )
        self.model = model
        self.size = model.nv
        coordinates = model.humans.coordinate_names
        self.names = (
            *(f"com_{way}_from_{ankle}" for ankle in _ANKLES for way in _WAYS),
            *(f"trunk_{turn}_from_{foot}" for foot in _FEET for turn in _TURNS),
            *coordinates[ROWS:],
        )
        self.tree = _tree(model)

    def value(self, q_h: np.ndarray) -> np.ndarray:
        """Position in the task space Q(q) (21,)."""
        q_h = self._checked(q_h, "q")
        value = q_h.copy()
        task_rows(self.tree, q_h, value, np.empty((ROWS, _JOINTS)))
        return value

    def jacobian(self, q_h: np.ndarray) -> np.ndarray:
        """H(q) = dQ/dq (21, 21)."""
        q_h = self._checked(q_h, "q")
        rows, jacobian = np.empty((ROWS, _JOINTS)), np.eye(self.size)
        task_rows(self.tree, q_h, np.empty(ROWS), rows)
        jacobian[:ROWS, :_JOINTS] = rows
        return jacobian

    def drift(self, q_h: np.ndarray, qdot_h: np.ndarray) -> np.ndarray:
        """h(q, qdot), the second derivative of Q at zero acceleration (21,)."""
        q_h, qdot_h = self._checked(q_h, "q"), self._checked(qdot_h, "qdot")
        drift = np.zeros(self.size)
        task_drift(self.tree, q_h, qdot_h, drift)
        return drift

    def _checked(self, vector: np.ndarray, name: str) -> np.ndarray:
        vector = np.ascontiguousarray(self.model.humans.sized(vector, name))
        if not np.isfinite(vector).all():
            raise ConfigurationError(f"an entry of {name} is not a finite number")
        return vector


_WAYS = ("forward", "up", "right")
_TURNS = ("roll", "yaw", "pitch")


def _tree(model: Model) -> BipTree:
    """Read the geometry from the pinocchio model; joint 1 there is the base."""
    joints = range(2, model.pin.njoints)
    order = model.humans.coordinate_names
    # The axis of a joint is how it turns its body by one radian.
    data, q = model.data(), pin.neutral(model.pin)
    q[7:] = 1.0
    pin.forwardKinematics(model.pin, data, q)
    placements = [model.pin.jointPlacements[j] for j in joints]
    axes = [
        pin.log3(at.rotation.T @ data.liMi[j].rotation)
        for j, at in zip(joints, placements, strict=True)
    ]
    parent = np.array([model.pin.parents[j] - 1 for j in joints])
    above = np.zeros((len(parent), len(parent) + 1), dtype=bool)
    for i, j in enumerate(joints):
        above[:, i + 1] = above[:, model.pin.parents[j] - 1]
        above[i, i + 1] = True
    inertias = [model.pin.inertias[j] for j in (1, *joints)]
    ankles, trunk = model.tag_points(_ANKLES), model.tag_points(_TRUNK)
    feet = [model.pin.frames[model.pin.getFrameId(foot)] for foot in _FEET]
    right, left, top = trunk.local
    return BipTree(
        parent=parent,
        place=np.array([order.index(model.pin.names[j]) for j in joints]),
        rotation=np.array([at.rotation for at in placements]),
        shift=np.array([at.translation for at in placements]),
        axis=np.array(axes),
        share=np.array([inertia.mass for inertia in inertias]) / model.mass,
        lever=np.array([inertia.lever for inertia in inertias]),
        ankle_body=np.array([ankles.joints[row] - 1 for row in ankles.row]),
        ankle=np.ascontiguousarray(ankles.local),
        foot_body=np.array([foot.parentJoint - 1 for foot in feet]),
        down=np.array([foot.placement.rotation @ _DOWN for foot in feet]),
        forward=np.array([foot.placement.rotation @ _FORWARD for foot in feet]),
        trunk_body=trunk.joints[0] - 1,
        across=right - left,
        along=top - right,
        above=above,
    )
