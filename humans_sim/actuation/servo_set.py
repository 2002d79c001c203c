# SPDX-License-Identifier: Apache-2.0
r"""Servos of a robot: their numbers, for all joints and for single ones.

A robot of the package has them in its file of ``config/robots``; one of a URDF in the
section ``servo`` of ``robot.robot.yaml`` beside it, or as its limits suggest.

*Servos from a URDF* and from the load of the joints. Torque and speed are the URDF's
effort and velocity limits. Gains are not in a URDF. On one foot a hip of the gain k
gives way by :math:`m g w / k`, w half the distance of the feet, which takes the centre
of mass of height h sideways by :math:`m g w h / k`: that shall be no more than the
share :data:`SAG` of half the sole's width. The robots of the package walk with shares
of 0.13 and 0.15. Other joints carry their own part of the robot: it shall swing at
:data:`PACE`, and hang by no more than an eighth of a radian. The lag, damping over
gain, is :data:`LAG`.

*Gains* from the inertia that the joints carry. With the base held, the inertia J that a
servo turns is that of all it carries plus its rotor's. A bandwidth :math:`\omega` and a
damping ratio :math:`\zeta` then give

.. math:: k_p = J \omega^2, \qquad k_d = 2 \zeta \omega J.

A step response is that of one joint alone, without gravity, with the torque and speed
of its servo: that of a bench test.

A file of ``config/robots`` is named after its model. Servos read their numbers there
(:class:`~humans_sim.actuation.servo_set.ServoNumbers`), the assembly of a whole robot
the rest (:class:`~humans_sim.actuation.robots.RobotSetup`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.budget import SAMPLES
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.dynamics.actuation_interface import pull
from humans_sim.models import Model
from humans_sim.models.legs import corner_places, leg_chains
from humans_sim.models.points import frame_index

SERVO = "servo"
"""Key of the numbers in a file of ``config/robots``."""
_POSITIVE = ("stall_torque", "no_load_speed", "speed", "coulomb_speed")


@dataclass(frozen=True)
class ServoNumbers:
    """Numbers of a :class:`~humans_sim.actuation.Servo`.

    The defaults are for models of which nothing is known: a small hobby servo
    with torque and speed of the KRS-784ICS as commonly quoted (0.85 N m, 60 degrees in
    0.168 s). No data sheet gives the others; they are assumed, of the size that small
    geared servos have. The damping is that of a servo which knows the speed of its set
    point.

    Attributes:
        gain: torque for an error of one radian [N m/rad].
        damping: torque for a speed error [N m s/rad].
        stall_torque: largest torque at rest [N m].
        no_load_speed: speed at which no torque is left [rad/s].
        speed: how fast the set point runs to the command, at most [rad/s].
        dead_band: error that the servo does not see [rad].
        viscous: friction of the gear [N m s/rad].
        coulomb: friction of the gear [N m].
        coulomb_speed: speed at which that friction is three quarters there [rad/s].
        rotor_inertia: of the rotor, at the joint [kg m^2].
        play: width of the gap between motor and joint [rad].
    """

    gain: float = 22.0
    damping: float = 0.5
    stall_torque: float = 0.85
    no_load_speed: float = 6.23
    speed: float = 6.23
    dead_band: float = 0.0
    viscous: float = 0.002
    coulomb: float = 0.01
    coulomb_speed: float = 0.05
    rotor_inertia: float = 1.5e-3
    play: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be 0 or more, not {value}")
            if name in _POSITIVE and value == 0:
                raise ParameterError(f"{name} must be above zero")
        if self.play and not self.damping:
            raise ParameterError("a servo with play needs a damping above zero")

    def row(self) -> tuple[float, ...]:
        """Parameters of a drive, as in a :class:`DriveTable`."""
        motor = self.gain, self.damping, self.stall_torque, self.no_load_speed
        friction = self.viscous, self.coulomb, self.coulomb_speed
        return *motor, self.dead_band, *friction

    @property
    def lag(self) -> float:
        """Time by which a joint follows positions that come without a speed [s]."""
        if self.gain == 0.0:
            raise ParameterError("servos that follow positions need a gain above zero")
        return self.damping / self.gain


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
SPEED = 20.0
"""Assumed where a file has none, as MJCF never has: drives of legs reach 15 to 35
[rad/s]."""
_STEP = 1e-3
"""Time step at which a damped rotor must not rattle [s]."""


def proposed_servos(model: Model) -> dict[str, ServoNumbers]:
    """Numbers of a servo for every joint that has a limit of its effort.

    Empty for models without two soles, which no servo has to hold upright.
    """
    if len(model.soles) != 2:
        return {}
    q = model.standing(np.clip(0.0, model.lower_limits, model.upper_limits))
    height = float(model.com(q)[2])
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    weight = model.mass * gravity
    feet = [
        int(model.pin.frames[frame_index(model.pin, sole.name)].parentJoint)
        for sole in model.soles
    ]
    places = [model.frame_pose(q, sole.name).translation for sole in model.soles]
    apart = 0.5 * float(np.linalg.norm((places[0] - places[1])[:2]))
    corners = [corner_places(model, sole) for sole in model.soles]
    narrow = 0.5 * min(float(np.ptp(sole[:, 1])) for sole in corners)
    sag = apart / (SAG * narrow)
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
        if not 0 < effort < math.inf:
            continue
        if not 0 < speed < math.inf:
            speed = SPEED
        if joint in legs:
            gain, carried = holding, model.mass * height**2
        else:
            arm = float(np.linalg.norm(data.com[joint]))
            hangs = float(data.mass[joint]) * gravity * arm
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


FOLDER = "robots"
"""Of ``config``."""


def has_robot_file(model: Model) -> bool:
    """Whether a file of the package says how a model is simulated."""
    return model.name in resource_names(FOLDER)


def robot_of(model: Model, otherwise: str = "") -> str:
    """Name of the robot whose file describes a model, or ``otherwise``."""
    return model.name if has_robot_file(model) else otherwise


def read_robot_file(name: Path | str) -> YamlValue:
    """A file of the package by its name, or one's own by its path."""
    return read_yaml(named_file(FOLDER, str(name), "robot"))


JOINTS = "joints"
"""Key of joints with servos of their own, in a section of servos."""
_URDF = (".urdf", ".xacro", ".xml")


@dataclass(frozen=True)
class ServoSet:
    """Servos of a robot: common ones, and those of some joints, by name."""

    common: ServoNumbers = field(default_factory=ServoNumbers)
    joints: Mapping[str, ServoNumbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, numbers in self.joints.items():
            if numbers.play != self.common.play:
                raise ParameterError(
                    f"{name}: the play must be that of the others, {self.common.play}"
                )

    def of_joint(self, name: str) -> ServoNumbers:
        """Numbers of a joint's servo."""
        return self.joints.get(name, self.common)

    @classmethod
    def of_model(cls, model: Model, otherwise: str = "") -> ServoSet:
        """Those of a model's own file, of ``otherwise``, or that its URDF suggests."""
        name = robot_of(model, otherwise)
        source = model.parts.source
        beside = robot_file(source)
        if name:
            given = read_robot_file(name).mapping()
        elif os.path.lexists(beside):
            given = read_yaml(beside).mapping()
        elif source.suffix.lower() in _URDF:
            return cls(joints=proposed_servos(model))
        else:
            return cls()
        return cls.of_section(given[SERVO]) if SERVO in given else cls()

    @classmethod
    def of_section(cls, section: YamlValue) -> ServoSet:
        """Those of a section of a file; of joints, what differs from the others."""
        names = tuple(item.name for item in fields(ServoNumbers))
        given = section.fields((), (*names, JOINTS))
        own = given.pop(JOINTS, None)
        common = _numbers(section, ServoNumbers(), given)
        joints = {}
        for name, item in own.mapping().items() if own is not None else ():
            joints[name] = _numbers(item, common, item.fields((), names))
        with located_errors(section):
            return cls(common, joints)


def robot_file(source: Path) -> Path:
    """Where servos and floor of a robot are looked for: beside its own file."""
    return source.with_name(f"{source.stem}.robot.yaml")


def _numbers(
    section: YamlValue, common: ServoNumbers, given: Mapping[str, YamlValue]
) -> ServoNumbers:
    with located_errors(section):
        return replace(common, **{name: x.number() for name, x in given.items()})


STEP = math.radians(5.0)
"""Of a command, by default [rad]."""
_FINE = 2e-5
"""Time step of a response [s]."""


class StepResponse(NamedTuple):
    """The response of a joint to a jump of its command.

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


def reflected_inertias(model: Model) -> np.ndarray:
    """Inertia of all that each joint carries, the base held (njoints,) [kg m^2]."""
    joints = np.clip(0.0, model.lower_limits, model.upper_limits)
    return np.array(np.diag(model.inertia(model.standing(joints)))[6:])


def tuned_servos(
    model: Model, bandwidth: float, ratio: float = 0.7
) -> dict[str, ServoNumbers]:
    """The servos of a robot with gains for a bandwidth [rad/s] and a damping ratio."""
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
    """The response of a joint of an inertia [kg m^2] that its servo turns alone."""
    for word, value in (("inertia", inertia), ("step", step), ("duration", duration)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{word} must be above zero, not {value}")
    parameters = np.array(numbers.row())
    # Stiff servos of light joints need finer steps.
    whole = inertia + numbers.rotor_inertia
    slope = numbers.damping + numbers.viscous + numbers.coulomb / numbers.coulomb_speed
    fastest = slope / whole + math.sqrt(numbers.gain / whole)
    parts = max(1, math.ceil(_FINE * fastest / 0.05))
    count = math.ceil(duration / 1e-3)
    SAMPLES.check("a servo's response", 50 * parts, count)
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
