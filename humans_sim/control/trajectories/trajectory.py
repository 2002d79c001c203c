# SPDX-License-Identifier: Apache-2.0
r"""Trajectories through stable and intermediate positions (manual section 8.2).

Positions alternate: stable ones, reached at a given time with zero velocity and
acceleration, and intermediate ones, passed in the middle of the time between their
stable neighbours **(assumed:** the manual gives them no time**)**. A segment goes from
one stable position to the next through the intermediate one, each coordinate alone.

**The curve (not in the manual).** Through a, b, c, at rest in a and c, the curve of
least jerk (Flash and Hogan 1985) is two quintics that pass b with

.. math:: v_b = \tfrac{15}{16}(c - a), \qquad a_b = \tfrac{10}{3}(a - 2 b + c)

per half duration. Unless b is near the middle of a and c it overshoots, by 13 % of
c - a when b equals one of them. So v_b is zero where b is an extremum, and both are
scaled down as far as needed, and no further, for each half to be monotone. The halves
meet with equal position, velocity and acceleration, and a coordinate never leaves the
range of a, b, c.

Also a slow periodic motion of some joints, for demonstrations and display tests.

*Files*, ``.traj3`` (manual section 8.2.2): text with three blocks, each below its
label. The layout of the blocks is assumed, the manual's figure being lost; numbers of
the second block may stand on several lines::

    Nombre de points
    3
    Temps et contacts
    0.0 1 2.0
    Coordonnees points
    0.0 0.0 0.5
    0.1 0.2 0.5
    0.0 0.4 0.5

The number of positions n; times of stable positions [s] and contact codes of
intermediate ones, alternating; n lines, a position each. Blank lines do not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from humans_sim.core.errors import FileError, ParameterError
from humans_sim.core.files import read_text, write_atomically
from humans_sim.core.resources import resource
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models import Model


class ContactPhase(IntEnum):
    """The support of the robot along a segment (manual table 8.2)."""

    RIGHT_FOOT = 1
    LEFT_FOOT = 2
    DOUBLE = 3
    SUSPENSION = 4
    TRANSITION = 5


class TrajectoryError(ParameterError):
    """Positions or data make no trajectory.

    Attributes:
        point: the position at fault, counted from 0, or None.
    """

    def __init__(self, message: str, point: int | None = None) -> None:
        self.point = point
        self.reason = message
        super().__init__(message if point is None else f"point {point + 1}: {message}")


class TrajectoryPoint(NamedTuple):
    """Position, velocity and acceleration at one time (m,), and what carries it."""

    value: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    phase: ContactPhase


class TrajectorySamples(NamedTuple):
    """The same at n times (n, m); phases are codes of :class:`ContactPhase` (n,)."""

    value: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    phase: np.ndarray


class Trajectory:
    """A twice differentiable motion through given positions.

    Args:
        positions: stable and intermediate ones, alternating (n, m), n odd, 3 at least;
            the first and the last are stable.
        times: when the (n + 1) / 2 stable positions are reached, increasing [s].
        phases: what carries the robot along each of the (n - 1) / 2 segments.

    Raises:
        TrajectoryError: they do not fit together.
    """

    def __init__(
        self,
        positions: ArrayLike,
        times: Sequence[float],
        phases: Sequence[ContactPhase],
    ) -> None:
        points = np.array(positions, dtype=float)
        if points.ndim != 2 or len(points) < 3 or len(points) % 2 == 0:
            raise TrajectoryError(
                "positions begin and end with a stable one and alternate: their "
                f"rows must be odd in number, 3 at least, not shape {points.shape}"
            )
        segments = len(points) // 2
        if len(times) != segments + 1 or len(phases) != segments:
            raise TrajectoryError(
                f"{len(points)} positions have {segments + 1} times and {segments} "
                f"phases, not {len(times)} and {len(phases)}"
            )
        bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if bad.size:
            raise TrajectoryError("a coordinate is not a finite number", int(bad[0]))
        self.times = np.array(times, dtype=float)
        for i, time in enumerate(self.times):
            if not np.isfinite(time):
                raise TrajectoryError("the time is not a finite number", 2 * i)
            if i and time <= self.times[i - 1]:
                raise TrajectoryError(
                    f"the time {time:g} s does not come after {self.times[i - 1]:g} s",
                    2 * i,
                )
        self.positions = points
        self.phases = tuple(_phase(code, 2 * i + 1) for i, code in enumerate(phases))
        self.size = points.shape[1]
        self._codes = np.array(self.phases, dtype=int)
        with np.errstate(over="ignore", invalid="ignore"):
            self._powers = _halves(points)
        beyond = np.flatnonzero(~np.isfinite(self._powers).all(axis=(0, 2)))
        if beyond.size:
            raise TrajectoryError(
                "it is too far from the next for a finite curve",
                2 * (int(beyond[0]) // 2) + 1,
            )
        for array in (self.positions, self.times):
            array.setflags(write=False)

    @classmethod
    def from_data(cls, positions: np.ndarray, data: Sequence[float]) -> Trajectory:
        """Of the manual's two arguments (WriteTrajectoryFile).

        The data are one number a position: the time of a stable one [s], the contact
        code 1..5 of an intermediate one.
        """
        if len(data) != len(positions):
            raise TrajectoryError(
                f"{len(positions)} positions and {len(data)} numbers of times and "
                "contacts: must be one a position"
            )
        phases = [_phase(code, 2 * i + 1) for i, code in enumerate(data[1::2])]
        return cls(positions, data[::2], phases)

    @property
    def data(self) -> tuple[float, ...]:
        """Times at the stable positions, contact codes at the intermediate ones."""
        mixed: list[float] = [float(self.times[0])]
        for phase, time in zip(self.phases, self.times[1:], strict=True):
            mixed += [phase, float(time)]
        return tuple(mixed)

    @property
    def start(self) -> float:
        """Time of the first position [s]."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Time of the last position [s]."""
        return float(self.times[-1])

    def at(self, t: float) -> TrajectoryPoint:
        """The trajectory at a time [s]; it rests before its start and after its end.

        At the time of a stable position the phase is that of the segment to come.
        """
        value, velocity, acceleration, phase = self.sample(np.array([t]))
        return TrajectoryPoint(
            value[0], velocity[0], acceleration[0], ContactPhase(phase[0])
        )

    def sample(self, times: np.ndarray) -> TrajectorySamples:
        """The trajectory at many times (n,) [s]."""
        t = np.clip(np.asarray(times, dtype=float), self.times[0], self.times[-1])
        if t.ndim != 1 or not np.isfinite(t).all():
            raise ParameterError("times must be a vector of finite numbers")
        last = len(self.phases) - 1
        segment = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, last)
        begin, end = self.times[segment], self.times[segment + 1]
        second = t - begin > end - t
        # Time from the nearer stable position, in half durations; back in time in the
        # second half.
        half = np.where(second, -0.5, 0.5) * (end - begin)
        u = (np.where(second, t - end, t - begin) / half)[:, None]
        half = half[:, None]
        c3, c4, c5 = self._powers[:, 2 * segment + second]
        rest = self.positions[2 * (segment + second)]
        value = rest + u**3 * (c3 + u * (c4 + u * c5))
        velocity = u**2 * (3 * c3 + u * (4 * c4 + u * 5 * c5)) / half
        acceleration = u * (6 * c3 + u * (12 * c4 + u * 20 * c5)) / half**2
        return TrajectorySamples(value, velocity, acceleration, self._codes[segment])


def _phase(code: float, point: int) -> ContactPhase:
    try:
        return ContactPhase(code)  # type: ignore[arg-type]
    except ValueError:
        raise TrajectoryError(
            f"the contact code is {code:g}, not an integer of 1..5", point
        ) from None


def _halves(points: np.ndarray) -> np.ndarray:
    """Coefficients of u^3, u^4, u^5 of each half segment (3, halves, m).

    Each half is followed from its stable position, u = 0, to the middle, u = 1.
    """
    rise, fall = points[1::2] - points[:-2:2], points[1::2] - points[2::2]
    between = np.sign(rise) * np.sign(fall) < 0
    velocity = np.where(between, 15 / 16 * (rise - fall), 0.0)
    acceleration = -10 / 3 * (rise + fall)
    scale = np.minimum(
        _monotone_scale(rise, velocity, acceleration),
        _monotone_scale(fall, -velocity, acceleration),
    )
    velocity, acceleration = scale * velocity, scale * acceleration
    powers = np.empty((3, 2 * len(rise), points.shape[1]))
    for first, step, v in ((0, rise, velocity), (1, fall, -velocity)):
        powers[0, first::2] = 10 * step - 4 * v + acceleration / 2
        powers[1, first::2] = -15 * step + 7 * v - acceleration
        powers[2, first::2] = 6 * step - 3 * v + acceleration / 2
    return powers


def _monotone_scale(
    step: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray
) -> np.ndarray:
    r"""Largest factor on the end rates, 1 at most, with which a half is monotone.

    A quintic from rest over the unit step to the end velocity V and acceleration A,
    scaled by k, has the slope :math:`u^2 (30 (1-u)^2 + k w(u))`, with
    :math:`w = w_0 + w_1 u + w_2 u^2` linear in V and A and w(1) = V >= 0. The quadratic
    in brackets first touches zero at u = 0, or inside (0, 1) when its discriminant
    :math:`k (k (w_1^2 - 4 w_0 w_2) - 120 V)` becomes positive.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v, a = velocity / step, acceleration / step
        w0, w1, w2 = -12 * v + 1.5 * a, 28 * v - 4 * a, -15 * v + 2.5 * a
        at_start = np.where(w0 < 0, -30 / w0, 1.0)
        touch = 120 * v / (w1 * w1 - 4 * w0 * w2)
        place = (60 - touch * w1) / (2 * (30 + touch * w2))
        inside = (v > 0) & (touch > 0) & (place > 0) & (place < 1)
        scale = np.minimum(at_start, np.where(inside, touch, 1.0))
    # A half that does not move lets nothing move in the middle.
    return np.where(np.isfinite(w0), np.minimum(scale, 1.0), 0.0)


_COUNT, _DATA, _POINTS = LABELS = (
    "Nombre de points",
    "Temps et contacts",
    "Coordonnees points",
)
"""The labels of the blocks, in order."""
_DIGITS = 9


class TrajectoryFileError(FileError):
    """A trajectory file is malformed or cannot be read."""


def write_traj3(path: Path | str, trajectory: Trajectory) -> Path:
    """Write a trajectory; reading it gives the same numbers to the last bit.

    Args:
        path: of the file.
        trajectory: to write.
    """
    lines = [_COUNT, str(len(trajectory.positions)), _DATA]
    lines.append(" ".join(_text(number) for number in trajectory.data))
    lines.append(_POINTS)
    rows = trajectory.positions.tolist()
    lines += [" ".join(_text(number) for number in row) for row in rows]
    path = Path(path)
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def read_traj3(path: Path | str, size: int | None = None) -> Trajectory:
    """Read a trajectory.

    Args:
        path: the file.
        size: number of coordinates a position must have (21 for Bip), if given.

    Raises:
        TrajectoryFileError: no such file, or it is malformed.
    """
    path = Path(path)
    blocks = _blocks(path)
    label_lines = {label: block[0] for label, block in blocks.items()}
    count = _count(path, *blocks[_COUNT])
    data, data_lines = [], []
    for line, words in blocks[_DATA][1]:
        for word in words:
            data.append(_number(path, line, word))
            data_lines.append(line)
    if len(data) != count:
        at = data_lines[-1] if data else label_lines[_DATA]
        message = f"'{_DATA}' holds {len(data)} numbers, not {count}"
        raise TrajectoryFileError(message, path, at)
    rows = blocks[_POINTS][1]
    if len(rows) != count:
        at = rows[-1][0] if rows else label_lines[_POINTS]
        message = f"'{_POINTS}' holds {len(rows)} lines, not {count}"
        raise TrajectoryFileError(message, path, at)
    width = len(rows[0][1]) if size is None else size
    points = []
    for line, words in rows:
        if len(words) != width:
            message = f"a position has {width} coordinates, this line {len(words)}"
            raise TrajectoryFileError(message, path, line)
        points.append([_number(path, line, word) for word in words])
    try:
        return Trajectory.from_data(np.array(points), data)
    except TrajectoryError as error:
        at = label_lines[_COUNT] if error.point is None else data_lines[error.point]
        raise TrajectoryFileError(error.reason, path, at) from error


_Lines = list[tuple[int, list[str]]]


def _blocks(path: Path) -> dict[str, tuple[int, _Lines]]:
    """Line of each label, and the numbered lines of words below it."""
    text = read_text(path, TrajectoryFileError)
    blocks: dict[str, tuple[int, _Lines]] = {}
    lines: _Lines = []
    for i, content in enumerate(text.split("\n"), start=1):
        words = content.split()
        if not words:
            continue
        label = " ".join(words)
        if label[0].isalpha():
            expected = LABELS[len(blocks)] if len(blocks) < len(LABELS) else None
            if label != expected:
                allowed = "numbers" if expected is None else f"'{expected}'"
                message = f"must be {allowed}, not '{label[:40]}'"
                raise TrajectoryFileError(message, path, i)
            lines = []
            blocks[label] = (i, lines)
        elif not blocks:
            message = f"the label '{_COUNT}' must stand before any number"
            raise TrajectoryFileError(message, path, i)
        else:
            lines.append((i, words))
    if len(blocks) < len(LABELS):
        missing = LABELS[len(blocks)]
        raise TrajectoryFileError(f"the block '{missing}' is missing", path)
    return blocks


def _count(path: Path, label_line: int, lines: _Lines) -> int:
    """The number of positions."""
    words = [(line, word) for line, row in lines for word in row]
    if len(words) != 1:
        at = words[1][0] if words else label_line
        raise TrajectoryFileError(f"'{_COUNT}' holds one number", path, at)
    line, word = words[0]
    if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS):
        message = f"'{word[:40]}' is not a number of points"
        raise TrajectoryFileError(message, path, line)
    return int(word)


def _number(path: Path, line: int, word: str) -> float:
    """A finite number."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in word:
        raise TrajectoryFileError(f"'{word[:40]}' is not a finite number", path, line)
    return value


def _text(number: float) -> str:
    """Shortest text that reads as the same number; codes stay integers."""
    return str(int(number)) if isinstance(number, int) else repr(number)


_DEFAULT_FRACTION = 0.25


@dataclass(frozen=True)
class Sway:
    r"""Joints that go to and fro, each inside its limits.

    :math:`q_j(t) = c_j + a_j \sin(2 \pi t / T + \phi_j)`, cut to the joint's limits.

    In the order of ``model.joint_names``: centres c, amplitudes a and phases phi [rad];
    the period is T [s].
    """

    model: Model
    centres: np.ndarray
    amplitudes: np.ndarray
    phases: np.ndarray
    period: float

    @classmethod
    def from_file(cls, model: Model, path: Path) -> Sway:
        """Read a motion file (see ``config/motions``); other joints stay at zero."""
        fields = read_yaml(path).fields(("period", "joints"))
        columns = np.zeros((3, len(model.joint_names)))
        for name, value in fields["joints"].mapping().items():
            if name not in model.joint_names:
                raise value.error(f"{model.name} has no joint '{name}'")
            columns[:, model.joint_names.index(name)] = np.radians(value.vector(3))
        centres, amplitudes, phases = columns
        period = fields["period"].positive()
        return cls(model, centres, amplitudes, phases, period)

    @classmethod
    def of_model(cls, model: Model) -> Sway:
        """The sway that comes with the package, or one of all joints."""
        path = resource("config", "motions", f"{model.name}.yaml")
        return cls.from_file(model, path) if path.is_file() else cls.of_all(model)

    @classmethod
    def of_all(cls, model: Model, period: float = 4.0) -> Sway:
        """Every joint moves a little about zero, as its limits allow."""
        room = np.minimum(-model.lower_limits, model.upper_limits)
        amplitudes = _DEFAULT_FRACTION * np.clip(room, 0.0, 1.0)
        zeros = np.zeros_like(amplitudes)
        return cls(model, zeros, amplitudes, zeros, period)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Joint angles [rad] and speeds [rad/s] at a time [s]."""
        rate = 2 * np.pi / self.period
        angle = rate * t + self.phases
        angles = self.centres + self.amplitudes * np.sin(angle)
        joints = np.clip(angles, self.model.lower_limits, self.model.upper_limits)
        speeds = np.where(joints == angles, rate * self.amplitudes * np.cos(angle), 0.0)
        return joints, speeds
