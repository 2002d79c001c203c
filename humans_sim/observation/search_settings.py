# SPDX-License-Identifier: Apache-2.0
"""Settings of the search for postures, and their files (YAML).

A file of pipeline settings may change them: ``search``, ``gate``, ``tracking``,
``start``, ``smoothing`` and ``uncertainty`` are its keys
(:meth:`humans_sim.observation.markers.PipelineSettings.load`); the file
``config/reconstruction/settings.yaml`` has them all as they come.

They lie beside ``markers`` and ``posture``, since files of pipeline settings have them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from humans_sim.core.arrays import NumbersInRange
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue

USUAL_NOISE = 0.005
"""Standard deviation of a marker where residuals cannot show it [m]."""


def ranged(default: float, least: float, most: float) -> Any:
    """A field with its default, and its least and largest value."""
    return field(default=default, metadata={"range": (least, most)})


class Ranged(NumbersInRange):
    """Settings whose fields have their ranges beside them."""

    def __init_subclass__(cls) -> None:
        """Collect the ranges."""
        made = {k: v.metadata for k, v in vars(cls).items() if isinstance(v, Field)}
        cls.RANGES = {k: facts["range"] for k, facts in made.items() if facts}


@dataclass(frozen=True)
class GateSettings(Ranged):
    """When a marker is where it cannot be, by metres and seconds.

    It is compared with where the last frames lead. What is believed is a radius: a
    share of ``outlier``, and what an acceleration makes of one step in time; it grows
    with the time since the marker was last used.

    Attributes:
        share: of ``outlier`` that is the radius of a marker used just before.
        acceleration: largest usual one of a marker [m/s^2].
        drift: growth of the radius while a marker is away [m/s].
        growth: most that this makes of the first radius.
        patience: after this time a marker is believed wherever it is [s].
        exchanged: share of their distances below which two markers that would lie at
            each other's place are exchanged.
    """

    share: float = ranged(0.5, 0.05, 10.0)
    acceleration: float = ranged(300.0, 0.0, 1e5)
    drift: float = ranged(0.5, 0.0, 100.0)
    growth: float = ranged(3.0, 1.0, 100.0)
    patience: float = ranged(0.2, 0.0, 1e3)
    exchanged: float = ranged(0.5, 0.0, 1.0)


@dataclass(frozen=True)
class TrackSettings(Ranged):
    """How one frame leads to the next.

    Attributes:
        persistence: time over which a speed lasts [s].
        fastest: a coordinate that changed faster is not expected to go on so
            [m/s, rad/s].
        rejected: robust weight below which a marker is said to be rejected.
        lost: share of markers astray or rejected above which a person is lost.
        misfit: root mean square distance below which no frame is suspicious [m].
        worse: cost over the usual one that makes a frame suspicious.
        learning: time over which the usual cost is averaged [s].
        pause: between two looks for a better posture [s].
        looks: most iterations of such a look: live frames wait for it.
    """

    persistence: float = ranged(0.045, 1e-6, 10.0)
    fastest: float = ranged(40.0, 0.0, 1e4)
    rejected: float = ranged(0.25, 0.0, 1.0)
    lost: float = ranged(0.5, 0.0, 1.0)
    misfit: float = ranged(0.003, 0.0, 1.0)
    worse: float = ranged(4.0, 1.0, 1e6)
    learning: float = ranged(0.1, 1e-3, 1e3)
    pause: float = ranged(0.05, 0.0, 1e3)
    looks: int = ranged(10, 1, 10_000)


@dataclass(frozen=True)
class StartSettings(Ranged):
    """How a posture is searched for from far away.

    Attributes:
        headings: that are tried, evenly about the vertical.
        trunk: joints from the base to the farthest body of the trunk.
        reach: markers of one person are not farther from their middle [m].
        near: median distance at which no other heading is tried [m].
        rounds: of looks beside a posture.
        directions: of such a look.
        aside: how far it goes [rad].
        throws: of a limb without gain after which a posture is taken.
        gain: share of the cost below which a thrown posture is better.
        beside: the same of one beside a posture where the last frames led.
        caution: damping of the first steps [m^2].
        bridge: gaps that are bridged in the first frame [s].
    """

    headings: int = ranged(4, 1, 360)
    trunk: int = ranged(3, 0, 100)
    reach: float = ranged(3.0, 0.1, 100.0)
    near: float = ranged(0.03, 0.0, 1.0)
    rounds: int = ranged(3, 0, 100)
    directions: int = ranged(6, 1, 100)
    aside: float = ranged(0.8, 0.0, math.pi)
    throws: int = ranged(40, 0, 10_000)
    gain: float = ranged(0.9, 0.0, 1.0)
    beside: float = ranged(0.5, 0.0, 1.0)
    caution: float = ranged(0.1, 0.0, 1e6)
    bridge: float = ranged(0.25, 1e-3, 10.0)


@dataclass(frozen=True)
class UncertaintySettings(Ranged):
    """Priors of joints, before markers are looked at.

    Attributes:
        marker_noise: standard deviation of a marker where its residuals cannot show
            it [m].
        least_noise: standard deviation below which none is believed [m].
        hidden: standard deviation above which a coordinate may be hidden [m, rad].
        usual: share of the frames of a trial in which a coordinate is shown as usual.
        times_usual: over its usual standard deviation above which it is.
        moment: time for which a coordinate must be shown between two gaps [s].
        rounds: of solving frames with hidden coordinates again.
        correlation: longest time over which residuals are one noise [s].
        lag: time over which accelerations of a trial are learnt [s].
        least_density: of the power of accelerations [rad^2/s^3, m^2/s^3].
        least_motion: share of a coordinate's changes over the lag that is motion at
            least, not noise.
        usual_density: the same as the least where a trial does not show it.
        speed: usual one of a coordinate where a trial does not show it [rad/s, m/s].
        least_speed: below which none is believed [rad/s, m/s].
    """

    marker_noise: float = ranged(USUAL_NOISE, 1e-6, 1.0)
    least_noise: float = ranged(1e-6, 1e-9, 1.0)
    hidden: float = ranged(0.05, 1e-6, 10.0)
    usual: float = ranged(0.2, 0.0, 1.0)
    times_usual: float = ranged(2.5, 1.0, 1e3)
    moment: float = ranged(0.06, 0.0, 10.0)
    rounds: int = ranged(2, 1, 10)
    correlation: float = ranged(0.1, 0.0, 10.0)
    lag: float = ranged(0.25, 1e-3, 10.0)
    least_density: float = ranged(1.0, 1e-12, 1e6)
    least_motion: float = ranged(0.3, 0.0, 1.0)
    usual_density: float = ranged(125.0, 1e-12, 1e6)
    speed: float = ranged(1.0, 1e-6, 100.0)
    least_speed: float = ranged(0.05, 1e-9, 100.0)


@dataclass(frozen=True)
class SolverSettings(Ranged):
    """How a posture is found.

    Attributes:
        outlier: distance at which a marker counts a quarter of its weight, less
            beyond [m]; infinite: plain least squares.
        rest_weight: pull of a joint towards rest, in squared metres a squared radian,
            against 1 for a marker; it decides where markers do not.
        track_weight: the same towards where the last frames lead, while tracking.
        tolerance: largest change of a coordinate at which the search ends [m, rad].
        iterations: most iterations of a frame.
        gate: which markers are where they cannot be.
        tracking: how one frame leads to the next.
        start: the search from far away.
        uncertainty: of the joints.

    Raises:
        ParameterError: a setting is out of its range.
    """

    outlier: float = ranged(0.1, 1e-3, math.inf)
    rest_weight: float = ranged(1e-12, 1e-14, 1.0)
    track_weight: float = ranged(1e-5, 0.0, 1.0)
    tolerance: float = ranged(1e-6, 1e-12, 1e-2)
    iterations: int = ranged(50, 1, 10_000)
    gate: GateSettings = field(default_factory=GateSettings)
    tracking: TrackSettings = field(default_factory=TrackSettings)
    start: StartSettings = field(default_factory=StartSettings)
    uncertainty: UncertaintySettings = field(default_factory=UncertaintySettings)


@dataclass(frozen=True)
class SmootherSettings:
    """How smooth a motion is expected to be.

    Attributes:
        marker_noise: standard deviation of a marker [m]; None: from the residuals.
        joint_acceleration: usual size of a joint's acceleration [rad/s^2].
        base_acceleration: of the base [m/s^2].
        base_turning: angular, of the base [rad/s^2].
        memory: time over which an acceleration lasts [s].
        iterations: most Gauss-Newton steps.
        window: frames solved at once; longer trials are pieced together.
        overlap: frames that two pieces share on each side.
    """

    marker_noise: float | None = None
    joint_acceleration: float = 50.0
    base_acceleration: float = 10.0
    base_turning: float = 30.0
    memory: float = 0.05
    iterations: int = 30
    window: int = 500
    overlap: int = 60

    def __post_init__(self) -> None:
        """Refuse numbers that are not above zero.

        Raises:
            ParameterError: a field is not finite, negative or zero.
        """
        given = {k: v for k, v in vars(self).items() if v is not None}
        for name, value in given.items():
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(f"{name} must be above zero, not {value}")

    def stiffness(self, joints: int) -> list[float]:
        """Weight of squared accelerations, of base and joints, against a marker's 1."""
        noise = USUAL_NOISE if self.marker_noise is None else self.marker_noise
        sizes = [self.base_acceleration] * 3 + [self.base_turning] * 3
        sizes += [self.joint_acceleration] * joints
        return [noise**2 / (size**2 * self.memory) for size in sizes]


_PARTS = ("gate", "tracking", "start", "uncertainty")
SETTINGS_KEYS = ("search", *_PARTS, "smoothing")
"""Keys of a file of pipeline settings that are read here."""
_WHOLE = ("iterations", "looks", "headings", "trunk", "rounds", "directions", "throws")
_WORDS = {("marker_noise", "residuals"): None, ("outlier", "none"): math.inf}
"""Words that stand for numbers."""
_WHOLE_OF_SMOOTHER = ("iterations", "window", "overlap")


def read_settings(
    given: Mapping[str, YamlValue],
) -> tuple[SolverSettings, SmootherSettings]:
    """Settings of the search and of the smoother; what is not said keeps its default.

    Args:
        given: values of a file by their keys; those of :data:`SETTINGS_KEYS` are read.

    Raises:
        ModelFileError: a key is unknown or its value impossible.
    """
    solver = SolverSettings()
    for part in _PARTS:
        if part in given:
            chosen = _changed(getattr(solver, part), given[part], _WHOLE)
            solver = replace(solver, **{part: chosen})
    if "search" in given:
        solver = _changed(solver, given["search"], _WHOLE, _PARTS)
    smoother = SmootherSettings()
    if "smoothing" in given:
        smoother = _changed(smoother, given["smoothing"], _WHOLE_OF_SMOOTHER)
    return solver, smoother


def _changed(
    settings: Any,
    value: YamlValue,
    whole: tuple[str, ...],
    besides: tuple[str, ...] = (),
) -> Any:
    """Settings with the numbers of a mapping; some are whole, some are not in it."""
    names = tuple(f.name for f in fields(settings) if f.name not in besides)
    numbers: dict[str, float | int | None] = {}
    for name, entry in value.fields((), names).items():
        if (name, entry.text()) in _WORDS:
            numbers[name] = _WORDS[name, entry.text()]
            continue
        numbers[name] = entry.whole() if name in whole else entry.number()
    try:
        return replace(settings, **numbers)
    except ParameterError as error:
        raise value.error(str(error)) from None
