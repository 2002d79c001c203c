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
from functools import partial
from pathlib import Path
from typing import Any

from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.walking.derived import catching_settings, derived_settings
from humans_sim.control.walking.sole_legs import (
    SLIP,
    TURNS,
    sole_sides,
)
from humans_sim.core.resources import resource
from humans_sim.core.settings import (
    REQUIRED,
    Reader,
    SettingError,
    check_settings,
    describe,
    in_degrees,
    of_section,
    setting,
    settings_of,
)
from humans_sim.core.yaml_file import YamlValue, parse_yaml, read_yaml
from humans_sim.models import Model

_WHOLE = 1e-6
"""How far a time may be from a whole number of periods, in periods."""
_MOST_PERIODS = 10_000
"""Most periods of any duration."""


def _positive(meaning: str, default: Any = REQUIRED) -> Any:
    return setting(default, meaning, above=0.0)


def _from_zero(meaning: str, default: Any = REQUIRED) -> Any:
    return setting(default, meaning, 0.0)


@describe
@dataclass(frozen=True, kw_only=True)
class WalkSettings:
    """How a biped walks."""

    left: str = setting(REQUIRED, "frame of the left sole")
    right: str = setting(REQUIRED, "frame of the right sole")
    turns: str = setting(
        REQUIRED,
        "``hip_yaw``: feet turn in the hips; ``slip``: legs without that joint, the "
        "feet stay parallel to the body and pivot on the ground with it",
        choices=TURNS,
    )
    posture: Mapping[str, float] = setting(
        REQUIRED,
        "joint angles while standing; those of the legs are where the search for "
        "postures begins and say which way the knees bend [rad]",
    )
    com_height: float = _positive("height of the centre of mass, constant [m]")
    trunk_pitch: float = setting(REQUIRED, "lean of the base, positive forwards [rad]")
    stance_width: float = _positive("distance of the sole frames, side by side [m]")
    step_duration: float = _positive("from one landing to the next [s]")
    double_support: float = _positive("share of it with both feet on the ground")
    shift_duration: float = _positive(
        "to shift the weight before the first step and after the last one [s]"
    )
    arm_swing: float = _from_zero(
        "of an arm, over the angle of the leg of the other side; zero: still", 0.0
    )
    foot_lift: float = _positive("height of the swing foot half way [m]")
    max_forward: float = _positive("longest step, from foot to foot [m]")
    max_level_step: float = _from_zero(
        "the same onto another level of the ground, where longer [m]", 0.0
    )
    max_backward: float = _from_zero("longest step backwards [m]")
    max_sideways: float = _from_zero(
        "how far a foot goes outwards beyond the stance [m]"
    )
    max_turn: float = _from_zero("largest turn of a foot in one step [rad]")
    pivot_duration: float = _from_zero(
        "with ``slip``, time that a turn on both feet adds to a step [s]"
    )
    pivot_pitch: float = _from_zero(
        "in such a turn one foot goes so far onto its toes, the other onto its heel "
        "[rad]"
    )
    pivot_share: float = _positive(
        "of such a turn, that the body makes where the soles slip; feet pivot by so "
        "much more",
        1.0,
    )
    least_pivot: float = _from_zero(
        "smallest such turn that is made; less is saved up [rad]", math.radians(5.0)
    )
    sideways_share: float = _positive(
        "of a step sideways that the body makes: so much wider are steps planned", 1.0
    )
    dead_zone: float = _from_zero(
        "parts of a command below this share of the largest one are none", 0.02
    )
    heading_tolerance: float = _from_zero(
        "difference of the heading that is let be, with hips that turn [rad]",
        math.radians(1.0),
    )
    heading_gain: float = _from_zero(
        "share of what is beyond it that the next step makes good", 0.5
    )
    zmp_margin: float = _from_zero(
        "that the zero-moment point keeps to the edges of the support [m]"
    )
    zmp_forward: float = setting(
        REQUIRED, "preferred place of the zero-moment point in a sole frame [m]"
    )
    zmp_inward: float = setting(REQUIRED, "the same towards the other foot [m]")
    mpc_period: float = _positive(
        "time between two solutions; every duration is a multiple of it [s]"
    )
    mpc_horizon: float = _positive("how far a solution looks ahead [s]")
    zmp_weight: float = _positive("of the distance to the preferred place")
    zmp_rate_weight: float = _positive("of the speed of the zero-moment point [s^2]")
    capture_weight: float = _positive(
        "of the condition that the centre of mass stays bounded"
    )
    catch_error: float = _from_zero(
        "of the capture point when a foot lands, beyond which a step catches the body; "
        "zero: never [m]"
    )
    catch_reach: float = _positive(
        "how far before or behind the other foot such a step lands [m]"
    )
    catch_width: float = _positive("how far beside it [m]")
    catch_speed: float = _positive("of a foot on its way there [m/s]")
    lean_time: float = _positive(
        "over which the tilt of the base is averaged to find the slope [s]"
    )
    ankle_gain: float = _from_zero(
        "turn of the standing soles against a tilt of the base"
    )
    ankle_damping: float = _from_zero("the same against its angular velocity [s]")
    ankle_limit: float = _from_zero("largest such turn [rad]")
    pressure_gain: float = _from_zero(
        "how fast the centre of mass gives way to a zero-moment point off its place "
        "[1/s]"
    )
    pressure_time: float = _positive("after which it has come back [s]")
    relief_gain: float = _from_zero(
        "how fast soles that stand give way to what the legs press against the floor "
        "[1/s]",
        0.0,
    )
    fall_tilt: float = _positive(
        "tilt of the base beyond which the robot has fallen; that of ``config/robots`` "
        "where the file of the walk has none [rad]"
    )

    def __post_init__(self) -> None:
        """Refuse numbers that make no walk."""
        check_settings(self)
        if self.double_support >= 1:
            raise SettingError("double_support", "is a share: below 1")
        for name in ("pivot_share", "sideways_share", "dead_zone"):
            if getattr(self, name) > 1:
                raise SettingError(name, "is a share: 1 at most")
        durations = ("step_duration", "shift_duration", "pivot_duration")
        for name in (*durations, "mpc_horizon"):
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
        soles = [sole.name for sole in model.soles]

        def sole(entry: YamlValue) -> str:
            name = entry.text()
            if name not in soles:
                known = ", ".join(soles) or "none"
                raise entry.error(
                    f"{model.name} has no sole '{name}' (it has: {known})"
                )
            return name

        def filled(**values: Any) -> WalkSettings:
            return cls(**_filled(model, values))

        posture: Reader = partial(_posture, model)
        readers = {"left": sole, "right": sole, "posture": posture}
        names = {**model.parts.parameters, **model.parts.lengths}
        return of_section(cls, root, filled, readers, names)


def walk_file(source: Path) -> Path:
    """Where the walk of a robot is looked for: beside its own file."""
    return source.with_name(f"{source.stem}.walk.yaml")


def _filled(model: Model, values: dict[str, Any]) -> dict[str, Any]:
    """Settings, with those that are not given from the model itself."""
    values = {"fall_tilt": RobotSetup.of_model(model).fall_tilt, **values}
    if not {"left", "right"} <= set(values):
        sides = zip(("left", "right"), sole_sides(model), strict=True)
        values = {**dict(sides), **values}
    soles = values["left"], values["right"]
    if soles[0] == soles[1]:
        raise SettingError("right", "is the left sole, too")
    needed = {item.name for item in fields(WalkSettings) if item.default is MISSING}
    if needed - set(values) - set(_CATCHING):
        step = None if "mpc_period" in values else values.get("step_duration")
        derived = derived_settings(model, *soles, step)
        values = {**{name: item.value for name, item in derived.items()}, **values}
    if not set(_CATCHING) <= set(values):
        size = values["com_height"], values["stance_width"]
        catching = catching_settings(model, *soles, *size)
        values = {**{name: item.value for name, item in catching.items()}, **values}
    return values


_CATCHING = ("catch_error", "catch_reach", "catch_width", "catch_speed")


DEGREES = tuple(k for k, item in settings_of(WalkSettings).items() if in_degrees(item))
"""Settings that files have in degrees."""


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
