# SPDX-License-Identifier: Apache-2.0
"""Torques of position-controlled drives, where kernels can compute them.

A motor with a torque-speed line pulls its joint to a set point that moves at constant
speed. Hobby servos are such drives
(:class:`~humans_sim.actuation.servo.Servo`); a kernel that makes a whole step
evaluates them at its stages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel


class DriveTable(NamedTuple):
    """Drives of all joints while their commands last.

    Attributes:
        start: time at which the set points began to move [s].
        origin: where they were then (njoints,) [rad]; empty where nothing drives.
        rate: (njoints,) [rad/s].
        parameters: of each: gain, damping, stall torque, no-load speed, dead band,
            viscous and Coulomb friction, speed of the latter (njoints, 8).
        held: forces that stay as they are (nv,) [N m, N]; empty where there are none.
    """

    start: float
    origin: np.ndarray
    rate: np.ndarray
    parameters: np.ndarray
    held: np.ndarray = np.zeros(0)


def held_forces(forces: np.ndarray) -> DriveTable:
    """A table of forces that stay as they are (nv,) [N m, N]."""
    return DriveTable(0.0, np.zeros(0), np.zeros(0), np.zeros((0, 8)), forces)


NO_DRIVES = held_forces(np.zeros(0))
"""Nothing drives."""


class SetPoints(NamedTuple):
    """Set points that move at constant speeds.

    Attributes:
        elapsed: time since they began to [s].
        origin: where they were then (njoints,) [rad].
        rate: (njoints,) [rad/s].
    """

    elapsed: float
    origin: np.ndarray
    rate: np.ndarray


@kernel
def pull(point, rate, angle, turning, parameters):
    """Torque that a motor wants, and what of it its torque-speed line gives."""
    gain, damping, stall, no_load, band = parameters[:5]
    error = point - angle
    if abs(error) <= band:
        error = 0.0
    else:
        error -= np.sign(error) * band
    demand = gain * error + damping * (rate - turning)
    # what the motor can give: less along its speed, never more than at stall
    forward = min(stall, max(0.0, stall * (1.0 - turning / no_load)))
    backward = min(stall, max(0.0, stall * (1.0 + turning / no_load)))
    return demand, min(forward, max(-backward, demand))


@kernel
def drive_torques(path, q, v, parameters):
    """Force of drives on the velocities (nv,).

    Args:
        path: fields of :class:`SetPoints`, as a plain tuple.
        q: configuration.
        v: velocity.
        parameters: of the drives, as in a :class:`DriveTable` (njoints, 8).
    """
    elapsed, origin, rate = path
    force = np.zeros(v.shape[0])
    for j in range(origin.shape[0]):
        turning = v[6 + j]
        viscous, coulomb, slow = parameters[j, 5:]
        _, torque = pull(
            origin[j] + rate[j] * elapsed, rate[j], q[7 + j], turning, parameters[j]
        )
        force[6 + j] = torque - viscous * turning - coulomb * np.tanh(turning / slow)
    return force


@kernel
def table_torques(drives, locked, t, q, v):
    """Force of a table of drives (nv,); what a lock supports is left out.

    Args:
        drives: fields of a :class:`DriveTable`, as a plain tuple.
        locked: velocities that are locked.
        t: time [s].
        q: configuration.
        v: velocity.
    """
    start, origin, rate, parameters, held = drives
    force = drive_torques((t - start, origin, rate), q, v, parameters)
    for j in range(held.shape[0]):
        force[j] += held[j]
    for j in locked:
        force[j] = 0.0
    return force
