# SPDX-License-Identifier: Apache-2.0
"""What a user may choose about the search for postures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.core.checked_numbers import NumbersInRange, PositiveNumbers


@dataclass(frozen=True)
class SolverSettings(NumbersInRange):
    """How a posture is found.

    Attributes:
        outlier: distance at which a marker counts a quarter of its weight, less
            beyond [m]; infinite: plain least squares.
        rest_weight: pull of a joint towards rest, in squared metres a squared radian,
            against 1 for a marker; it decides where markers do not.
        track_weight: the same towards where the last frames lead, while tracking.
        tolerance: largest change of a coordinate at which the search ends [m, rad].
        iterations: most iterations of a frame.
        fade: share of the last change that is expected of the next frame.

    Raises:
        ParameterError: a setting is out of its range.
    """

    RANGES = {
        "outlier": (1e-3, math.inf),
        "rest_weight": (1e-14, 1.0),
        "track_weight": (0.0, 1.0),
        "tolerance": (1e-12, 1e-2),
        "iterations": (1, 10_000),
        "fade": (0.0, 1.0),
    }

    outlier: float = 0.1
    rest_weight: float = 1e-12
    track_weight: float = 1e-5
    tolerance: float = 1e-6
    iterations: int = 50
    fade: float = 0.8


@dataclass(frozen=True)
class SmootherSettings(PositiveNumbers):
    """How smooth a motion is expected to be.

    Attributes:
        marker_noise: standard deviation of a marker [m].
        joint_acceleration: usual size of a joint's acceleration [rad/s^2].
        base_acceleration: of the base [m/s^2].
        base_turning: angular, of the base [rad/s^2].
        memory: time over which an acceleration lasts [s].
        iterations: most Gauss-Newton steps.
        window: frames solved at once; longer trials are pieced together.
        overlap: frames that two pieces share on each side.
    """

    marker_noise: float = 0.005
    joint_acceleration: float = 50.0
    base_acceleration: float = 10.0
    base_turning: float = 30.0
    memory: float = 0.05
    iterations: int = 30
    window: int = 1000
    overlap: int = 100

    def stiffness(self, joints: int) -> list[float]:
        """Weight of squared accelerations, of base and joints, against a marker's 1."""
        sizes = [self.base_acceleration] * 3 + [self.base_turning] * 3
        sizes += [self.joint_acceleration] * joints
        return [self.marker_noise**2 / (size**2 * self.memory) for size in sizes]
