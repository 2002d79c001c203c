# SPDX-License-Identifier: Apache-2.0
"""The package's walk for a robot without sensors: joint angles over time.

The walking pattern is a plan, which balance corrects by sensors. Boards without sensors
follow the plan as it is. That stays up because its steps are slow (:data:`STEP`, near
to the 0.69 s of the factory's walk) and the centre of mass hardly leaves the feet.

*Led by a velocity*: the same without an end, from where the joints are into the posture
of the walk, slowly, and then wherever commands lead. Time advances by periods, however
late they come: a walk that was held up resumes where it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from humans_sim.control.walking import Velocity, WalkPattern, WalkPhase, WalkSettings
from humans_sim.control.walking.com_estimator import Approach
from humans_sim.control.walking.pattern import PatternPoint
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.models import Model

STEP = 0.72
"""Time of a step of the blind walk, where the settings of the walk are quicker [s]."""
PERIOD = 0.02
"""Time between two set points [s]."""
SPEED = 0.05
"""Speed forwards unless another is given [m/s]."""
MOST_STEPS = 1000
_REST = 0.4
"""Time to stand still before the first step and after the last one [s]."""
_STILL = 0.02
"""Speed of the joints at which the plan is at rest [rad/s]."""
_PEAK = 1.875
"""Largest speed of the path into the walk's posture over its mean."""
_SAME = 1e-9


class WalkStreamError(HumansError, ValueError):
    """A walk that the robot's servos cannot follow."""


@dataclass(frozen=True)
class WalkStream:
    """Set points of a walk; also a path that a robot can be led along.

    Iterating gives pairs of a time [s] and joint angles by name [rad], in whole degrees
    of the channels, as the boards take them.

    Attributes:
        times: of the set points (n,), evenly from 0 [s].
        joints: their angles, before they are rounded (n, njoints) [rad].
        joint_names: of the columns.
        begin: when the walk begins; before it is the path into its posture [s].
        velocity: that is walked with, within the reach of the legs.
        fastest: largest speed of a joint [rad/s].
    """

    times: np.ndarray
    joints: np.ndarray
    joint_names: tuple[str, ...]
    begin: float
    velocity: Velocity
    steps: int
    fastest: float
    _robot: RobotSettings

    @property
    def duration(self) -> float:
        """From the first set point to the last [s]."""
        return float(self.times[-1])

    def angles(self, t: float) -> dict[str, float]:
        """Where the joints shall be at a time [rad]; the ends hold outside."""
        place = min(max(t, 0.0), self.duration) / (self.times[1] - self.times[0])
        k = min(int(place), len(self.times) - 2)
        share = place - k
        row = (1.0 - share) * self.joints[k] + share * self.joints[k + 1]
        return dict(zip(self.joint_names, row.tolist(), strict=True))

    def __len__(self) -> int:
        """Number of set points."""
        return len(self.times)

    def __iter__(self) -> Iterator[tuple[float, dict[str, float]]]:
        """The set points, in whole degrees."""
        channels = self._robot.channels
        for t, row in zip(self.times.tolist(), self.joints, strict=True):
            values = channels.values(dict(zip(self.joint_names, row, strict=True)))
            yield t, channels.angles(values)


def blind_settings(model: Model) -> WalkSettings:
    """Settings of the walk of a model, with steps that take :data:`STEP` at least."""
    own = WalkSettings.of_model(model)
    return replace(own, step_duration=max(own.step_duration, STEP))


def walk_stream(
    model: Model,
    robot: RobotSettings,
    steps: int,
    velocity: Sequence[float] = (SPEED, 0.0, 0.0),
    *,
    start: Mapping[str, float] | None = None,
    settings: WalkSettings | None = None,
    period: float = PERIOD,
) -> WalkStream:
    """Stand, go into the walk's posture slowly, make some steps, stand.

    Args:
        model: of the robot.
        robot: its channels and limits.
        steps: how many, the closing one included.
        velocity: forwards, to the left [m/s], turning left [rad/s]; cut to the reach of
            the legs.
        start: joint angles at the beginning [rad]; those left out are at home.
        settings: of the walk; None: :func:`blind_settings`.
        period: between two set points [s].

    Raises:
        ParameterError: a number or a name has no meaning.
        WalkStreamError: servos would have to be faster, or go farther, than the robot's
            limits allow.
        ControlError: the legs do not reach a step.
    """
    if not 1 <= steps <= MOST_STEPS:
        raise ParameterError(f"steps must be 1 to {MOST_STEPS}, not {steps}")
    if not 1e-3 <= period <= 0.1:
        raise ParameterError(f"period must be 0.001 to 0.1 s, not {period}")
    if len(velocity) != 3:
        raise ParameterError(f"a velocity has three numbers, not {velocity}")
    settings = blind_settings(model) if settings is None else settings
    names = robot.joint_names
    columns = [_column(model, name) for name in names]
    pattern = WalkPattern(model, settings)
    stance = pattern.standing()[7:]
    first = _first(model, robot, start)
    approach, duration = _approach(first, stance, robot, period)
    count = math.ceil((duration + _REST) / period)
    rows = [approach.at(k * period) for k in range(count + 1)]
    begin = (len(rows) - 1) * period
    # Joint angles of the steps and of a rest after them; the velocity followed.
    pattern.walk(steps, *velocity)
    walk: list[np.ndarray] = []
    reached, over = Velocity(0.0, 0.0, 0.0), math.inf
    while (t := (len(walk) + 1) * period) <= over:
        point = pattern.tick(t)
        walk.append(point.joints.copy())
        if point.phase != WalkPhase.STANDING:
            reached = point.velocity if any(point.velocity) else reached
        elif over == math.inf and point.steps == steps:
            # The centre of mass comes to rest after the last step.
            if float(np.abs(point.joint_speeds).max()) < _STILL:
                over = t + _REST
    joints = np.array([*rows, *walk])[:, columns]
    fastest = _check(joints, robot, period)
    times = period * np.arange(len(joints))
    return WalkStream(times, joints, names, begin, reached, steps, fastest, robot)


def _column(model: Model, name: str) -> int:
    if name not in model.joint_names:
        raise ParameterError(f"{model.name} has no joint '{name}'")
    return model.joint_names.index(name)


def _first(
    model: Model, robot: RobotSettings, start: Mapping[str, float] | None
) -> np.ndarray:
    """The posture at the beginning (njoints,) [rad]."""
    joints = np.zeros(len(model.joint_names))
    for name, angle in (start or {}).items():
        if name not in robot.joint_names or not math.isfinite(angle):
            raise ParameterError(f"start: no channel turns '{name}' to {angle} rad")
        joints[_column(model, name)] = angle
    return joints


def _approach(
    first: np.ndarray, stance: np.ndarray, robot: RobotSettings, period: float
) -> tuple[Approach, float]:
    """From a posture to the walk's, no faster than allowed; its duration [s]."""
    largest = float(np.abs(stance - first).max())
    duration = max(_PEAK * largest / math.radians(robot.limits.approach), period)
    return Approach(first, stance, 0.0, duration), duration


def _check(joints: np.ndarray, robot: RobotSettings, period: float) -> float:
    """Refuse what is beyond the limits; the largest speed [rad/s]."""
    changes = np.abs(np.diff(joints, axis=0))
    k, j = np.unravel_index(int(np.argmax(changes)), changes.shape)
    largest, name = float(changes[k, j]), robot.joint_names[int(j)]
    limits = robot.limits
    allowed = min(math.radians(limits.speed) * period, math.radians(limits.step))
    if largest > allowed * (1.0 + _SAME):
        raise WalkStreamError(
            f"{name} would have to turn with {math.degrees(largest / period):.0f} deg/s"
            f" at {k * period:.2f} s; the robot's limits allow "
            f"{math.degrees(allowed / period):.0f}: walk more slowly, or with a longer "
            "step_duration"
        )
    for column, channel in enumerate(robot.channels.channels.values()):
        for angle in (joints[:, column].min(), joints[:, column].max()):
            value = round(channel.value(float(angle)))
            if not channel.lower <= value <= channel.upper:
                raise WalkStreamError(
                    f"{channel.joint} would have to go to {value} degrees of its "
                    f"channel, which goes from {channel.lower:g} to {channel.upper:g}: "
                    "make smaller steps"
                )
    return largest / period


class BlindWalk:
    """Joint angles of a walk, period by period.

    Args:
        settings: of the walk; None: :func:`blind_settings`.
        period: between two set points [s].

    Attributes:
        pattern: takes the commands, once :attr:`ready`.
        point: of the pattern at the last period.
        farthest: how far a joint goes at most into the posture of the walk [rad].
        approach_time: how long that takes [s].

    Raises:
        ParameterError: a joint of the robot is none of the model's.
    """

    def __init__(
        self,
        model: Model,
        robot: RobotSettings,
        settings: WalkSettings | None = None,
        period: float = 0.02,
    ) -> None:
        missing = set(robot.joint_names) - set(model.joint_names)
        if missing:
            raise ParameterError(f"{model.name} has no joint '{min(missing)}'")
        self.pattern = WalkPattern(model, settings or blind_settings(model))
        self._robot, self._period = robot, period
        self._names = robot.joint_names
        self._columns = [model.joint_names.index(name) for name in self._names]
        self._approach: Approach | None = None
        self._sent = self._stance = self._of(self.pattern.standing()[7:])
        self.point: PatternPoint = self.pattern.tick(0.0)
        self._t = self.farthest = self.approach_time = 0.0

    @property
    def ready(self) -> bool:
        """Whether it is in its posture, and commands count."""
        return self._approach is None

    def begin(self, joints: Mapping[str, float]) -> None:
        """Go into the walk's posture from here [rad]; joints left out are in it."""
        pairs = zip(self._names, self._stance, strict=True)
        first = np.array([joints.get(name, angle) for name, angle in pairs])
        self.farthest = float(np.abs(self._stance - first).max())
        self._t, self._sent = 0.0, first
        self._approach, self.approach_time = _approach(
            first, self._stance, self._robot, self._period
        )
        self.pattern.reset()
        self.point = self.pattern.tick(0.0)

    def tick(self) -> dict[str, float]:
        """Where the joints shall be one period later [rad].

        Raises:
            ControlError: the legs do not reach a step.
        """
        self._t += self._period
        if self._approach is not None:
            self._sent = self._approach.at(self._t)
            if self._approach.over(self._t):
                self._approach, self._t = None, 0.0
        else:
            self.point = self.pattern.tick(self._t)
            self._sent = self._of(self.point.joints)
        return dict(zip(self._names, self._sent.tolist(), strict=True))

    def off(self, joints: Mapping[str, float]) -> float:
        """How far a joint is at most from its set point [rad]."""
        pairs = zip(self._names, self._sent.tolist(), strict=True)
        return max(abs(joints.get(name, angle) - angle) for name, angle in pairs)

    def _of(self, joints: np.ndarray) -> np.ndarray:
        """Of all joints of the model, those that have a servo."""
        return np.array(joints[self._columns])
