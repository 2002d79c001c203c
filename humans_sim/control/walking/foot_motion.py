# SPDX-License-Identifier: Apache-2.0
"""A foot at one time of a walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin


class FootMotion(NamedTuple):
    """A foot at one time.

    Attributes:
        pose: of the sole frame in the world.
        velocity: linear, then angular, in the world's axes (6,).
        yaw: heading, not wrapped [rad].
    """

    pose: pin.SE3
    velocity: np.ndarray
    yaw: float
