# SPDX-License-Identifier: Apache-2.0
"""The swing foot: polynomials of time, at rest where it leaves and lands."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.foot_motion import FootMotion
from humans_sim.control.walking.footsteps import Footprint

_EDGE, _RISE = 0.15, 0.3
"""Shares of a swing over the edge of a stair: in which the foot does not go ahead yet,
and in which it goes from one level to the other."""


def resting(place: Footprint) -> FootMotion:
    """A foot on the ground."""
    return FootMotion(place.pose(), np.zeros(6), place.yaw)


def minimum_jerk(s: float) -> tuple[float, float]:
    """From 0 to 1 with the least jerk: value and slope for s in 0..1.

    Velocity and acceleration are zero at both ends.
    """
    return s**3 * (10.0 + s * (6.0 * s - 15.0)), 30.0 * (s * (1.0 - s)) ** 2


def bump(s: float) -> tuple[float, float]:
    """From 0 over 1 half way to 0: value and slope for s in 0..1.

    Velocity and acceleration are zero at both ends.
    """
    product = s * (1.0 - s)
    return 64.0 * product**3, 192.0 * product**2 * (1.0 - 2.0 * s)


def swing(
    start: Footprint, end: Footprint, lift: float, duration: float, elapsed: float
) -> FootMotion:
    """A foot in the air, between two footprints.

    Up a stair the foot rises early and goes ahead late, so that its toes clear the
    edge; down a stair all is the other way round.

    Args:
        start: where it left.
        end: where it lands.
        lift: height half way, above the higher one of both [m].
        duration: of the swing [s].
        elapsed: since it left [s].
    """
    s = min(max(elapsed / duration, 0.0), 1.0)
    rise, ahead, upward = end.z - start.z, s, s
    if rise > 0.0:
        ahead, upward = max(s - _EDGE, 0.0) / (1.0 - _EDGE), min(s / _RISE, 1.0)
    elif rise < 0.0:
        ahead, upward = min(s / (1.0 - _EDGE), 1.0), max(1.0 - (1.0 - s) / _RISE, 0.0)
    far, pace = minimum_jerk(ahead)
    pace *= 1.0 if rise == 0.0 else 1.0 / (1.0 - _EDGE)
    (risen, rising), (height, climb) = minimum_jerk(upward), bump(s)
    change = np.subtract(end, start)
    x, y, yaw = np.add(start, far * change).tolist()[:3]
    vx, vy, turn = (pace / duration * change).tolist()[:3]
    pose = Footprint(x, y, yaw, start.z + risen * rise).pose(lift * height)
    vz = (lift * climb + rising * rise / _RISE) / duration
    velocity = np.array([vx, vy, vz, 0.0, 0.0, turn])
    return FootMotion(pose, velocity, yaw)


def pivoting(
    start: Footprint,
    turn: float,
    pitch: float,
    about: np.ndarray,
    duration: float,
    elapsed: float,
) -> FootMotion:
    """A foot that turns on the ground, on its toes or its heel.

    Args:
        start: where it is at first.
        turn: how far it turns [rad].
        pitch: its pitch half way, positive on its toes [rad].
        about: the point of the sole that stays (2,) [m].
        duration: of the turn [s].
        elapsed: since it began; before and after that time it rests [s].
    """
    s = min(max(elapsed / duration, 0.0), 1.0)
    (far, pace), (high, climb) = minimum_jerk(s), bump(s)
    yaw = start.yaw + far * turn
    rotation = pin.rpy.rpyToMatrix(0.0, high * pitch, yaw)
    pivot, arm = (
        np.append(start.points(about), start.z),
        rotation @ np.append(about, 0.0),
    )
    tilting = climb * pitch / duration * np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    spin = tilting + np.array([0.0, 0.0, pace * turn / duration])
    velocity = np.concatenate([np.cross(spin, -arm), spin])
    return FootMotion(pin.SE3(rotation, pivot - arm), velocity, yaw)
