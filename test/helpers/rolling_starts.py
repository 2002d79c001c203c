# SPDX-License-Identifier: Apache-2.0
"""How rolling bodies start: a coin that precesses, a body that rolls."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from humans_sim.core.constants import GRAVITY
from humans_sim.dynamics.surfaces import SurfaceSystem

_UP = np.array([0.0, 0.0, 1.0])


def steady_coin(
    tilt: float, radius: float = 0.04, edge: float = 0.001
) -> tuple[np.ndarray, np.ndarray, float]:
    """A coin that precesses about its resting centre: q, v and its rate [rad/s].

    Where the centre rests, so does the line from it to the contact: the coin turns
    about this line, friction is zero, and the moment of the weight turns the angular
    momentum. A sharp edge gives the square of the rate as 4 g / (radius sin tilt).
    """
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    low = np.array([math.cos(tilt), 0.0, -math.sin(tilt)])
    arm = radius * low - edge * _UP
    # For a mass of one, turned by one: w = z + spin x axis along the arm.
    along = float(low @ _UP)
    about = along * float(arm @ axis) / float(arm @ low)
    momentum = radius**2 / 4 * (along * low + 2 * about * axis)
    moment = np.cross(arm, GRAVITY * _UP)[1]
    rate = math.sqrt(moment / float(np.cross(_UP, momentum)[1]))
    turn = np.column_stack([low, np.cross(axis, low), axis])
    q = np.zeros(7)
    q[2], q[3:] = radius * math.sin(tilt) + edge, pin.Quaternion(turn).coeffs()
    spin = rate * (along * low + about * axis)
    return q, np.concatenate([np.zeros(3), turn.T @ spin]), rate


def rolling_start(
    system: SurfaceSystem, turn: np.ndarray, spin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A single body on the floor z = 0 in an attitude, rolling: q and v."""
    q = pin.neutral(system.tree)
    q[3:7] = pin.Quaternion(np.asarray(turn)).coeffs()
    q[2] -= float(system.gaps(q).min())
    v = np.zeros(system.nv)
    v[3:6] = spin
    rows = system.terms(q, v, np.array([int(np.argmin(system.gaps(q)))])).jacobian[0]
    v[:3] = -np.linalg.solve(rows[:, :3], rows[:, 3:6] @ v[3:6])
    return q, v
