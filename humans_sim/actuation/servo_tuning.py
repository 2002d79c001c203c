# SPDX-License-Identifier: Apache-2.0
r"""Gains of servos from what their joints carry, and their step responses.

With the base held, the inertia J that a servo turns is that of all it carries plus its
rotor's. A bandwidth :math:`\omega` and a damping ratio :math:`\zeta` then give

.. math:: k_p = J \omega^2, \qquad k_d = 2 \zeta \omega J.

A step response is that of one joint alone, without gravity, with the torque and speed
of its servo: what a bench test shows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from humans_sim.actuation.servo_numbers import ServoNumbers
from humans_sim.actuation.servo_set import ServoSet
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.drive_kernels import pull
from humans_sim.models import Model

STEP = math.radians(5.0)
"""Of a command, by default [rad]."""
_FINE = 2e-5
"""Time step of a response [s]."""


class StepResponse(NamedTuple):
    """What a joint does when its command jumps.

    Attributes:
        times: (n,) [s].
        angles: share of the step (n,).
        rise_time: from a tenth to nine tenths of the step; infinite where it does not
            come so far [s].
        overshoot: beyond the step, as a share of it.
        limited: share of the rise in which the servo had no more torque to give.
    """

    times: np.ndarray
    angles: np.ndarray
    rise_time: float
    overshoot: float
    limited: float


def reflected_inertias(model: Model, joints: np.ndarray | None = None) -> np.ndarray:
    """Inertia of all that each joint carries, the base held (njoints,) [kg m^2].

    Args:
        model: the robot.
        joints: angles; zero, as far as the limits allow it, unless given.
    """
    if joints is None:
        joints = np.clip(0.0, model.lower_limits, model.upper_limits)
    return np.array(np.diag(model.inertia(model.standing(joints)))[6:])


def tuned_servos(
    model: Model, bandwidth: float, ratio: float = 0.7
) -> dict[str, ServoNumbers]:
    """The servos of a robot with gains for a bandwidth.

    Args:
        model: the robot.
        bandwidth: of each joint on its servo [rad/s].
        ratio: damping ratio; 1 is critical.

    Raises:
        ParameterError: one of them is not above zero.
    """
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ParameterError(f"the bandwidth must be above zero, not {bandwidth}")
    if not (math.isfinite(ratio) and ratio > 0):
        raise ParameterError(f"the damping ratio must be above zero, not {ratio}")
    own, tuned = ServoSet.of_model(model), {}
    for name, carried in zip(model.joint_names, reflected_inertias(model), strict=True):
        numbers = own.of_joint(name)
        inertia = float(carried) + numbers.rotor_inertia
        tuned[name] = replace(
            numbers,
            gain=inertia * bandwidth**2,
            damping=2.0 * ratio * bandwidth * inertia,
        )
    return tuned


def step_response(
    numbers: ServoNumbers, inertia: float, step: float = STEP, duration: float = 0.5
) -> StepResponse:
    """The response of a joint that its servo turns alone.

    Args:
        numbers: of the servo; its rotor adds to the inertia.
        inertia: that the joint carries [kg m^2].
        step: of the command, without a limit of its speed [rad].
        duration: [s].

    Raises:
        ParameterError: the inertia, the step or the duration is not above zero.
    """
    for word, value in (("inertia", inertia), ("step", step), ("duration", duration)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{word} must be above zero, not {value}")
    parameters = np.array(
        [
            numbers.gain,
            numbers.damping,
            numbers.stall_torque,
            numbers.no_load_speed,
            numbers.dead_band,
            numbers.viscous,
            numbers.coulomb,
            numbers.coulomb_speed,
        ]
    )
    # Stiff servos of light joints need finer steps.
    whole = inertia + numbers.rotor_inertia
    slope = numbers.damping + numbers.viscous + numbers.coulomb / numbers.coulomb_speed
    fastest = slope / whole + math.sqrt(numbers.gain / whole)
    parts = max(1, math.ceil(_FINE * fastest / 0.05))
    count = math.ceil(duration / 1e-3)
    angles, strained = _respond(
        parameters, whole, step, _FINE / parts, 50 * parts, count
    )
    shares, times = angles / step, 1e-3 * np.arange(count + 1)
    low, high = (_first(times, shares, level) for level in (0.1, 0.9))
    rising = times <= (high if math.isfinite(high) else duration)
    return StepResponse(
        times,
        shares,
        high - low if math.isfinite(high) else math.inf,
        max(0.0, float(shares.max()) - 1.0),
        float(strained[rising].mean()),
    )


def _first(times: np.ndarray, shares: np.ndarray, level: float) -> float:
    """When a level is first reached, linear between samples; infinite: never."""
    above = np.flatnonzero(shares >= level)
    if not above.size:
        return math.inf
    n = int(above[0])
    if n == 0:
        return 0.0
    part = (level - shares[n - 1]) / (shares[n] - shares[n - 1])
    return float(times[n - 1] + part * (times[n] - times[n - 1]))


@kernel
def _respond(parameters, inertia, step, fine, parts, count):
    """Angles at every millisecond, and whether the torque was limited there."""
    viscous, coulomb, slow = parameters[5], parameters[6], parameters[7]
    angles, strained = np.zeros(count + 1), np.zeros(count + 1)
    angle = speed = 0.0
    for n in range(count):
        for _ in range(parts):
            demand, torque = pull(step, 0.0, angle, speed, parameters)
            if demand != torque:
                strained[n] = 1.0
            torque -= viscous * speed + coulomb * np.tanh(speed / slow)
            speed += fine * torque / inertia
            angle += fine * speed
        angles[n + 1] = angle
    strained[count] = strained[count - 1]
    return angles, strained
