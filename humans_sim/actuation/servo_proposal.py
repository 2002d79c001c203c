# SPDX-License-Identifier: Apache-2.0
r"""Servos that a robot may have, from what its URDF says and what it has to carry.

Torque and speed are the URDF's effort and velocity limits. Gains are not in a URDF. On
one foot a hip of the gain k gives way by :math:`m g w / k`, w half the distance of the
feet, which takes the centre of mass of height h sideways by :math:`m g w h / k`: that
shall be no more than the share :data:`SAG` of half the sole's width. The robots of
the package walk with shares of 0.13 and 0.15. Other joints carry their own part of the
robot: it shall swing at :data:`PACE`, and hang by no more than an eighth of a radian.
The lag, damping over gain, is :data:`LAG`.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from humans_sim.actuation.servo_numbers import ServoNumbers
from humans_sim.models import Model
from humans_sim.models.legs.chains import leg_chains
from humans_sim.models.soles import corner_places

SAG = 0.14
"""Of half a sole's width, that the centre of mass goes sideways on one foot."""
STIFF = 8.0
"""Least gain over the torque that one radian of tilt asks for."""
PACE = 35.0
"""Of a joint's own part of the robot on its servo [rad/s]."""
LAG = 0.02
"""Damping over gain [s]."""
ROTOR = 0.003
"""Inertia of a rotor, at the joint, over what it carries."""
_STEP = 1e-3
"""Time step at which a damped rotor must not rattle [s]."""


def proposed_servos(model: Model) -> dict[str, ServoNumbers]:
    """Numbers of a servo for every joint that has an effort and a velocity limit.

    Empty for models without two soles, which no servo has to hold upright.

    Args:
        model: a robot, with the limits of its URDF.
    """
    if len(model.soles) != 2:
        return {}
    q = model.standing(np.clip(0.0, model.lower_limits, model.upper_limits))
    height = float(model.com(q)[2])
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    weight = model.mass * gravity
    feet = [
        int(model.pin.frames[model.pin.getFrameId(sole.name)].parentJoint)
        for sole in model.soles
    ]
    sag = _half_distance(model, q) / (SAG * _narrow(model))
    holding = weight * height * max(STIFF, sag)
    legs = {joint for chain in leg_chains(model, *feet) for joint in chain}
    inertia = np.diag(model.inertia(q))[6:]
    data = model.data()
    pin.centerOfMass(model.pin, data, q)
    servos = {}
    for j, name in enumerate(model.joint_names):
        joint = int(model.pin.getJointId(name))
        effort = float(model.pin.effortLimit[6 + j])
        speed = float(model.pin.velocityLimit[6 + j])
        if not (0 < effort < math.inf and 0 < speed < math.inf):
            continue
        if joint in legs:
            gain, carried = holding, model.mass * height**2
        else:
            hangs = (
                float(data.mass[joint])
                * gravity
                * float(np.linalg.norm(data.com[joint]))
            )
            carried = float(inertia[j])
            gain = max(carried * PACE**2, STIFF * hangs)
        damping = LAG * gain
        servos[name] = ServoNumbers(
            gain=gain,
            damping=damping,
            stall_torque=effort,
            no_load_speed=speed,
            speed=speed,
            viscous=0.0,
            coulomb=0.0,
            rotor_inertia=max(ROTOR * carried, _STEP * damping),
        )
    return servos


def _half_distance(model: Model, q: np.ndarray) -> float:
    """Half the distance of the soles [m]."""
    places = [model.frame_pose(q, sole.name).translation for sole in model.soles]
    return 0.5 * float(np.linalg.norm((places[0] - places[1])[:2]))


def _narrow(model: Model) -> float:
    """Half the width of the narrower sole [m]."""
    corners = [corner_places(model, sole) for sole in model.soles]
    return 0.5 * min(float(np.ptp(places[:, 1])) for places in corners)
