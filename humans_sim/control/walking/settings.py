# SPDX-License-Identifier: Apache-2.0
"""Settings of a walk: names, lengths and times of a biped, from a YAML file.

What a file does not say follows from the robot
(:mod:`humans_sim.control.walking.derived`).

Numbers may be expressions on the model's parameters and lengths (``0.53*h``), so that
one file serves a human model of any stature.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.walking.derived import derived_settings
from humans_sim.control.walking.sole_legs import (
    SLIP,
    TURNS,
    SettingError,
    sole_sides,
)
from humans_sim.core.resources import resource
from humans_sim.core.yaml_file import YamlValue, parse_yaml, read_yaml
from humans_sim.models import Model

_WHOLE = 1e-6
"""How far a time may be from a whole number of periods, in periods."""
_MOST_PERIODS = 10_000
"""Most periods of any duration."""
DEGREES = (
    "trunk_pitch",
    "max_turn",
    "pivot_pitch",
    "least_pivot",
    "heading_tolerance",
    "ankle_limit",
    "hip_limit",
    "fall_tilt",
)
_ANY_SIGN = ("trunk_pitch", "zmp_forward", "zmp_inward")
_MAY_BE_ZERO = (
    "arm_swing",
    "max_backward",
    "max_level_step",
    "max_sideways",
    "max_turn",
    "pivot_duration",
    "pivot_pitch",
    "least_pivot",
    "heading_tolerance",
    "heading_gain",
    "dead_zone",
    "ankle_gain",
    "ankle_damping",
    "ankle_limit",
    "pressure_gain",
    "relief_gain",
    "hip_gain",
    "catch_error",
    "zmp_margin",
)


@dataclass(frozen=True, kw_only=True)
class WalkSettings:
    """How a biped walks.

    Attributes:
        left: frame of the left sole.
        right: frame of the right sole.
        turns: ``hip_yaw``: feet turn in the hips; ``slip``: legs without that joint,
            the feet stay parallel to the body and pivot on the ground with it.
        posture: joint angles while standing; those of the legs are where the search
            for postures begins and say which way the knees bend [rad].
        com_height: height of the centre of mass, constant [m].
        trunk_pitch: lean of the base, positive forwards [rad].
        stance_width: distance of the sole frames, side by side [m].
        step_duration: from one landing to the next [s].
        double_support: share of it with both feet on the ground.
        shift_duration: to shift the weight before the first step and after the last
            one [s].
        arm_swing: of an arm, over the angle of the leg of the other side; zero: still.
        foot_lift: height of the swing foot half way [m].
        max_forward: longest step, from foot to foot [m].
        max_level_step: the same onto another level of the ground, where longer [m].
        max_backward: longest step backwards [m].
        max_sideways: how far a foot goes outwards beyond the stance [m].
        max_turn: largest turn of a foot in one step [rad].
        pivot_duration: with ``slip``, time that a turn on both feet adds to a step [s].
        pivot_pitch: in such a turn one foot goes so far onto its toes, the other onto
            its heel [rad].
        pivot_share: of such a turn, that the body makes where the soles slip; feet
            pivot by so much more.
        least_pivot: smallest such turn that is made; less is saved up [rad].
        sideways_share: of a step sideways that the body makes: so much wider are steps
            planned.
        dead_zone: parts of a command below this share of the largest one are none.
        heading_tolerance: difference of the heading that is let be, with hips that turn
            [rad].
        heading_gain: share of what is beyond it that the next step makes good.
        zmp_margin: that the zero-moment point keeps to the edges of the support [m].
        zmp_forward: preferred place of the zero-moment point in a sole frame [m].
        zmp_inward: the same towards the other foot [m].
        mpc_period: time between two solutions; every duration is a multiple of it [s].
        mpc_horizon: how far a solution looks ahead [s].
        zmp_weight: of the distance to the preferred place.
        zmp_rate_weight: of the speed of the zero-moment point [s^2].
        capture_weight: of the condition that the centre of mass stays bounded.
        hip_gain: how far the body bends at its hips against a capture point off its
            place, in heights of the centre of mass.
        hip_error: distance of the capture point that is let be [m].
        hip_limit: largest such bend [rad].
        hip_time: in which it comes back [s].
        catch_error: of the capture point when a foot lands, beyond which a step catches
            the body; zero: never [m].
        catch_reach: how far before or behind the other foot such a step lands [m].
        catch_width: how far beside it [m].
        catch_speed: of a foot on its way there [m/s].
        lean_time: over which the tilt of the base is averaged to find the slope [s].
        ankle_gain: turn of the standing soles against a tilt of the base.
        ankle_damping: the same against its angular velocity [s].
        ankle_limit: largest such turn [rad].
        pressure_gain: how fast the centre of mass gives way to a zero-moment point off
            its place [1/s].
        pressure_time: after which it has come back [s].
        relief_gain: how fast soles that stand give way to what the legs press against
            the floor [1/s].
        fall_tilt: tilt of the base beyond which the robot has fallen; that of
            ``config/robots`` where the file of the walk has none [rad].
    """

    left: str
    right: str
    turns: str
    posture: Mapping[str, float]
    com_height: float
    trunk_pitch: float
    stance_width: float
    step_duration: float
    double_support: float
    shift_duration: float
    arm_swing: float = 0.0
    foot_lift: float
    max_forward: float
    max_level_step: float = 0.0
    max_backward: float
    max_sideways: float
    max_turn: float
    pivot_duration: float
    pivot_pitch: float
    pivot_share: float = 1.0
    least_pivot: float = math.radians(5.0)
    sideways_share: float = 1.0
    dead_zone: float = 0.02
    heading_tolerance: float = math.radians(1.0)
    heading_gain: float = 0.5
    zmp_margin: float
    zmp_forward: float
    zmp_inward: float
    mpc_period: float
    mpc_horizon: float
    zmp_weight: float
    zmp_rate_weight: float
    capture_weight: float
    hip_gain: float = 0.0
    hip_error: float = 0.02
    hip_limit: float = math.radians(30.0)
    hip_time: float = 0.3
    catch_error: float = 0.0
    catch_reach: float = 0.09
    catch_width: float = 0.15
    catch_speed: float = 0.8
    lean_time: float
    ankle_gain: float
    ankle_damping: float
    ankle_limit: float
    pressure_gain: float
    pressure_time: float
    relief_gain: float = 0.0
    fall_tilt: float

    def __post_init__(self) -> None:
        """Refuse numbers that make no walk."""
        if self.turns not in TURNS:
            raise SettingError("turns", f"is not one of {', '.join(TURNS)}")
        if self.left == self.right:
            raise SettingError("right", "is the left sole, too")
        for name in _NUMBERS:
            value = getattr(self, name)
            if not math.isfinite(value):
                raise SettingError(name, f"must be finite, not {value}")
            if name in _ANY_SIGN:
                continue
            if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
                raise SettingError(name, f"must be above zero, not {value:g}")
        if self.double_support >= 1:
            raise SettingError("double_support", "is a share: below 1")
        for name in ("pivot_share", "sideways_share", "dead_zone"):
            if getattr(self, name) > 1:
                raise SettingError(name, "is a share: 1 at most")
        for name in (
            "step_duration",
            "shift_duration",
            "pivot_duration",
            "mpc_horizon",
        ):
            count = getattr(self, name) / self.mpc_period
            if not count <= _MOST_PERIODS:
                raise SettingError(name, f"is more than {_MOST_PERIODS} mpc_periods")
            if abs(count - round(count)) > _WHOLE * count:
                raise SettingError(name, "must be a multiple of mpc_period")
        for name, count in (
            ("double_support", self.double_knots),
            ("step_duration", self.swing_knots),
            ("shift_duration", self.shift_knots),
        ):
            if count < 2:
                raise SettingError(name, "leaves less than two mpc_periods to a phase")
        if self.turns == SLIP and self.max_turn > 0 and self.pivot_knots < 2:
            raise SettingError("pivot_duration", "leaves less than two mpc_periods")
        if self.mpc_horizon < self.step_duration:
            raise SettingError("mpc_horizon", "is shorter than a step")

    @property
    def double_knots(self) -> int:
        """Periods of double support in a step."""
        return round(self.double_support * self.step_duration / self.mpc_period)

    @property
    def swing_knots(self) -> int:
        """Periods of single support in a step."""
        return round(self.step_duration / self.mpc_period) - self.double_knots

    @property
    def shift_knots(self) -> int:
        """Periods of the first and the last shift of weight."""
        return round(self.shift_duration / self.mpc_period)

    @property
    def pivot_knots(self) -> int:
        """Periods that a turn on both feet adds to a step."""
        return round(self.pivot_duration / self.mpc_period)

    @property
    def horizon_knots(self) -> int:
        """Periods that a solution looks ahead."""
        return round(self.mpc_horizon / self.mpc_period)

    @classmethod
    def of_model(cls, model: Model) -> WalkSettings:
        """The settings of a model: the package's, those beside it, or derived ones.

        A robot in ``robot.urdf`` or ``robot.yaml`` has its walk in ``robot.walk.yaml``.

        Raises:
            ModelFileError: a file is malformed; with file and line.
            ParameterError: the model has no two soles, or no legs to walk with.
        """
        path = resource("config", "walking", f"{model.name}.yaml")
        if path.is_file():
            return cls.from_file(model, path)
        beside = walk_file(model.parts.source)
        if os.path.lexists(beside):
            return cls.from_file(model, beside)
        return cls._completed(model, parse_yaml("{}"))

    @classmethod
    def from_file(cls, model: Model, path: Path | str) -> WalkSettings:
        """Read a file (see ``config/walking``); what it does not say is derived.

        Raises:
            ModelFileError: the file is malformed, names what the model does not have
                or holds a number out of range; with file and line.
        """
        return cls._completed(model, read_yaml(path))

    @classmethod
    def of_names(cls, model: Model, left: str, right: str) -> WalkSettings:
        """Settings that all follow from the model, for two of its soles.

        Raises:
            ParameterError: it has no such soles, or no legs to walk with.
        """
        return cls(**_filled(model, {"left": left, "right": right}))

    @classmethod
    def _completed(cls, model: Model, root: YamlValue) -> WalkSettings:
        names = {**model.parts.parameters, **model.parts.lengths}
        entries = root.fields((), (*_WORDS, "posture", *_NUMBERS))
        soles = [sole.name for sole in model.soles]
        for side in {"left", "right"} & set(entries):
            if entries[side].text() not in soles:
                known = ", ".join(soles) or "none"
                raise entries[side].error(
                    f"{model.name} has no sole '{entries[side].text()}' (it has: "
                    f"{known})"
                )
        values: dict[str, Any] = {
            word: entries[word].text() for word in set(_WORDS) & set(entries)
        }
        for name in set(_NUMBERS) & set(entries):
            unit = math.radians(1.0) if name in DEGREES else 1.0
            values[name] = unit * entries[name].number(names)
        if "posture" in entries:
            values["posture"] = _posture(model, entries["posture"])
        try:
            return cls(**_filled(model, values))
        except SettingError as fault:
            where = entries.get(fault.setting, root)
            reason = fault.reason if fault.setting in entries else str(fault)
            raise where.error(reason) from None


def walk_file(source: Path) -> Path:
    """Where the walk of a robot is looked for: beside its own file."""
    return source.with_name(f"{source.stem}.walk.yaml")


def _filled(model: Model, values: dict[str, Any]) -> dict[str, Any]:
    """Settings, with those that are not given from the model itself."""
    followed: dict[str, Any] = {"fall_tilt": RobotSetup.of_model(model).fall_tilt}
    needed = {item.name for item in fields(WalkSettings) if item.default is MISSING}
    if needed - set(values) - set(followed):
        if not {"left", "right"} <= set(values):
            sides = zip(("left", "right"), sole_sides(model), strict=True)
            values = {**dict(sides), **values}
        step = None if "mpc_period" in values else values.get("step_duration")
        derived = derived_settings(model, values["left"], values["right"], step)
        followed |= {name: item.value for name, item in derived.items()}
    return {**followed, **values}


_WORDS = ("left", "right", "turns")
_NUMBERS = tuple(field.name for field in fields(WalkSettings) if field.type == "float")


def _posture(model: Model, value: YamlValue) -> dict[str, float]:
    """Angles by joint, from degrees."""
    posture = {}
    for name, angle in value.mapping().items():
        if name not in model.joint_names:
            raise angle.error(f"{model.name} has no joint '{name}'")
        radians = math.radians(angle.number())
        place = model.joint_names.index(name)
        if not model.lower_limits[place] <= radians <= model.upper_limits[place]:
            raise angle.error("is beyond the limits of the joint")
        posture[name] = radians
    return posture
