# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node ``actuation``, and what they make."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from humans_sim.actuation import (
    CommandSignal,
    DCMotor,
    IdealTorque,
    KneeGeometry,
    ScrewDriveMotors,
    Servo,
    Stimulator,
)
from humans_sim.actuation.delayed_actuation import DelayedActuation
from humans_sim.actuation.fes_muscles import THIGH, FesMuscles
from humans_sim.actuation.joint_groups import JointGroup, JointGroups, share_joints
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.servo_set import ServoSet
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.nodes.common.parameters import Parameters

TORQUE, SERVO, MOTORS, MUSCLES = "torque", "servo", "motors", "muscles"
LOCKSTEP, FREE = "lockstep", "free"
_DELAYS = {MUSCLES: 0.05}
"""Delay of a command where it is not zero by default [s] (manual 6)."""


@dataclass(frozen=True)
class ActuationSettings:
    """Settings from the parameters.

    Attributes:
        lockstep: whether each state waits for the commands of its time.
    """

    kinds: tuple[str, ...]
    lockstep: bool
    drives: JointGroups

    @classmethod
    def declare(cls, given: Parameters, model: Model) -> ActuationSettings:
        """Declare the parameters, those of the chosen kinds alone, and read them."""
        kinds = given.choices("kind", TORQUE, "what drives the joints", [*_MAKERS])
        sync = given.choice("sync", FREE, "when to answer a state", (FREE, LOCKSTEP))
        gap = given.number(
            "longest_gap",
            1.0,
            "time between states beyond which it begins anew [s]",
            low=1e-3,
            high=10.0,
        )
        made = {}
        for kind in kinds:
            # One kind has the plain name.
            name = "delay" if len(kinds) == 1 else f"{kind}.delay"
            default_delay = _DELAYS.get(kind, 0.0)
            text = "from a command to its effect [s]"
            delay = given.number(name, default_delay, text, low=0.0, high=10.0)
            made[kind] = _MAKERS[kind](given, model, delay)
        joints = _joints(given, model, made)
        groups = [
            JointGroup(model, kind, drives, joints.get(kind), gap)
            for kind, drives in made.items()
        ]
        return cls(kinds, sync == LOCKSTEP, JointGroups(groups))


def _joints(
    given: Parameters, model: Model, made: dict[str, DelayedActuation]
) -> dict[str, tuple[str, ...]]:
    """The joints of each kind, where there are several kinds."""
    if len(made) == 1:
        return {}
    bent = [x for x in made.values() if isinstance(x, FesMuscles)]
    taken = [name for muscles in bent for name in muscles.joint_names]
    text = "joints of this kind; empty: all that no other kind has"
    named = {
        kind: given.texts(f"{kind}.joints", text) for kind in made if kind != MUSCLES
    }
    return share_joints(model, named, taken)


def _torque(given: Parameters, model: Model, delay: float) -> DelayedActuation:
    return IdealTorque(model, delay=delay)


def _servo(given: Parameters, model: Model, delay: float) -> DelayedActuation:
    own = ServoSet.of_model(model).common
    # The inertia of the rotors is no torque: it belongs to who moves the joints.
    defaults = {"command_period": 0.0, **vars(own)}
    numbers: dict[str, Any] = {
        name: given.number(
            f"servo.{name}", value, "see humans_sim.actuation.Servo", low=0.0
        )
        for name, value in defaults.items()
        if name != "rotor_inertia"
    }
    step = given.count(
        "servo.speed_step", -1, "of the RCB-1, 0 (fast) to 7; -1: speed counts", -1, 7
    )
    # What is as usual stays that of each joint, which may have a servo of its own.
    numbers = {
        name: value
        for name, value in numbers.items()
        if value != defaults[name] or name == "command_period"
    }
    if step >= 0:
        numbers.pop("speed", None)
        numbers["speed_step"] = step
    return Servo(model, delay=delay, **numbers)


def _motors(given: Parameters, model: Model, delay: float) -> DelayedActuation:
    frozen = given.flag("motors.frozen_ratio", False, "keep the first gear ratios")
    if model.rotors is None:
        raise ParameterError(f"kind {MOTORS}: {model.name} has no rotors (bip has)")
    resistance = given.number(
        "motors.resistance", 0.0, "[ohm]; 0: by the rotor's inertia", low=0.0
    )
    numbers = {
        name: given.number(f"motors.{name}", value, _see(DCMotor), low=0.0)
        for name, value in vars(DCMotor(resistance=1.0)).items()
        if name != "resistance"
    }
    if resistance:
        numbers["resistance"] = resistance
    motors = [
        dataclasses.replace(DCMotor.of_rotor(float(inertia)), **numbers)
        for inertia in model.rotors.inertia
    ]
    return ScrewDriveMotors(model, delay=delay, motors=motors, frozen_ratio=frozen)


def _muscles(given: Parameters, model: Model, delay: float) -> DelayedActuation:
    names = given.texts("muscles.names", "quadriceps, hamstrings; all if empty")
    sides = given.texts("muscles.sides", "whose knees: r, l; both if empty")
    for name in names:
        if name not in THIGH:
            raise ParameterError(
                f"muscles.names: there is no '{name}'; there are {', '.join(THIGH)}"
            )
    sign = given.count(
        "muscles.flexion_sign", 0, "1 or -1; 0: by the knee's limits", -1, 1
    )
    return PulseTrainMuscles(
        model,
        {name: _fields(given, name, THIGH[name]) for name in names or THIGH},
        sides or ("r", "l"),
        scale=given.number("muscles.scale", 1.0, "cross-section, relative", low=0.0),
        delay=delay,
        geometry=_fields(given, "knee", KneeGeometry()),
        signal=_fields(given, "signal", CommandSignal()),
        stimulator=_fields(given, "stimulator", Stimulator()),
        joint=_joint(given),
        flexion_sign=sign or None,
    )


_MAKERS = {TORQUE: _torque, SERVO: _servo, MOTORS: _motors, MUSCLES: _muscles}


def _joint(given: Parameters) -> str:
    """The pattern of the knees' names."""
    name = "muscles.joint"
    pattern = given.text(name, "{side}_knee", "name of a side's knee")
    try:
        pattern.format(side="r")
    except (KeyError, IndexError, ValueError):
        raise ParameterError(
            f"{name} may hold {{side}} and no other field, not '{pattern}'"
        ) from None
    return pattern


def _fields(given: Parameters, part: str, defaults: Any) -> Any:
    """A dataclass of numbers; each one is a parameter ``muscles.<part>.<name>``."""
    numbers = {
        name: given.number(f"muscles.{part}.{name}", value, _see(type(defaults)), 0.0)
        for name, value in vars(defaults).items()
    }
    try:
        return type(defaults)(**numbers)
    except ParameterError as error:
        raise ParameterError(f"muscles.{part}: {error}") from None


def _see(kind: type) -> str:
    return f"see humans_sim.actuation.{kind.__name__}"
