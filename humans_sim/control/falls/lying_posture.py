# SPDX-License-Identifier: Apache-2.0
"""Where a robot starts that lies: on one of its sides, just above the floor."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from humans_sim.control.falls.fall_detector import Lying
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.results.contact_table import POINT

_TURNS = {
    Lying.FRONT: (0.0, math.pi / 2),
    Lying.BACK: (0.0, -math.pi / 2),
    Lying.LEFT: (-math.pi / 2, 0.0),
    Lying.RIGHT: (math.pi / 2, 0.0),
}


def lying_on(
    system: ModelSystem, side: Lying, joints: np.ndarray | None = None
) -> np.ndarray:
    """A configuration in which the lowest point of the body touches the floor.

    Args:
        system: of a simulation in which the whole body touches.
        side: on which it lies.
        joints: angles (njoints,) [rad]; straight unless given.

    Raises:
        ParameterError: it shall not lie at all.
    """
    if side not in _TURNS:
        raise ParameterError("a side is wanted to lie on")
    roll, pitch = _TURNS[side]
    q = system.model.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(roll, pitch, 0.0)).coeffs()
    if joints is not None:
        q[7:] = joints
    touching = [k for k, kind in enumerate(system.contacts.kinds) if kind == POINT]
    q[2] -= system.gaps(q)[touching].min()
    return np.asarray(q)
