# SPDX-License-Identifier: Apache-2.0
"""Trials: optical markers over time, of every reader and for every step.

Events, analogue channels and force plates of the recording keep their own times, on the
same clock, when samples are chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from humans_sim.core.arrays import by_rows
from humans_sim.core.errors import FileError, ParameterError
from humans_sim.observation.markers.force_plate import ForcePlate


@dataclass(frozen=True)
class TrialEvent:
    """A moment that somebody marked.

    Attributes:
        time: on the clock of the trial [s]; below 0 before its first sample.
        label: what happened, e.g. Foot Strike.
        context: whose or which side, e.g. Left; empty where the file has none.
    """

    time: float
    label: str
    context: str = ""


@dataclass(frozen=True)
class FileHeader:
    """Units and axes, as the file has them and as they were read.

    Attributes:
        units: of length, e.g. mm; empty where the file has none.
        x_screen: axis to the right on the screen of the program that wrote the file,
            e.g. +X; empty where the file has none.
        y_screen: axis upwards on that screen; empty where the file has none.
        up: axis that was taken for upwards, one of x, -x, y, -y, z, -z.
    """

    units: str
    x_screen: str
    y_screen: str
    up: str


def _columns(word: str, names: Sequence[str], known: Sequence[str]) -> list[int]:
    place = {name: column for column, name in enumerate(known)}
    for name in names:
        if name not in place:
            raise ParameterError(
                f"no {word} is called '{name}' (there are: {', '.join(known)})"
            )
    return [place[name] for name in names]


@dataclass(frozen=True, eq=False)
class AnalogChannels:
    """Channels sampled together, on the clock of the trial they belong to.

    Attributes:
        names: of the channels, each once.
        units: of each channel, as the file has them.
        rate: samples a second [Hz].
        values: scaled, one row a sample (n, c); NaN where the file has no number.
        start: time of the first sample [s].
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    rate: float
    values: np.ndarray
    start: float = 0.0

    def __post_init__(self) -> None:
        """Check sizes."""
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise ParameterError(
                f"values of {len(self.names)} channels have shape {self.values.shape}"
            )
        if len(self.units) != len(self.names) or len(set(self.names)) < len(self.names):
            raise ParameterError("each channel has one name of its own and one unit")
        if not self.rate > 0:
            raise ParameterError(f"channels are not sampled at {self.rate} Hz")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        """Size and rate."""
        return (
            f"<AnalogChannels: {len(self)} samples of {len(self.names)} channels, "
            f"{self.rate:g} Hz>"
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """The samples of one channel (n,)."""
        return np.asarray(self.select([name]).values[:, 0])

    @property
    def times(self) -> np.ndarray:
        """Of the samples (n,) [s]."""
        return np.asarray(self.start + np.arange(len(self)) / self.rate)

    def select(self, names: Sequence[str]) -> AnalogChannels:
        """These channels only, in this order; ParameterError where one is not there."""
        columns = _columns("channel", names, self.names)
        return replace(
            self,
            names=tuple(names),
            units=tuple(self.units[k] for k in columns),
            values=self.values[:, columns],
        )


@dataclass(frozen=True, eq=False)
class MarkerTrial:
    """Positions of named markers, one row a sample.

    Attributes:
        names: labels of the markers, each once.
        times: of the samples, growing (n,) [s].
        positions: in the laboratory's frame, z up; NaN where a marker was not seen
            (n, m, 3) [m].
        frames: numbers of the samples as the file counts (n,).
        filled: samples that were interpolated, not measured (n, m).
        camera_residuals: the cameras' own uncertainty (n, m) [m], or None.
        source: file it came from, or None.
        events: what happened, in the order of time.
        analog: channels recorded beside the markers, or None.
        plates: force plates.
        header: what the file says about units and axes, or None.
        notes: what is not as it should be in the file, and how it was read.
    """

    names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    frames: np.ndarray
    filled: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    camera_residuals: np.ndarray | None = None
    source: Path | None = None
    events: tuple[TrialEvent, ...] = ()
    analog: AnalogChannels | None = None
    plates: tuple[ForcePlate, ...] = ()
    header: FileHeader | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check sizes and order."""
        n, m = len(self.times), len(self.names)
        if not self.filled.size:
            object.__setattr__(self, "filled", np.zeros((n, m), dtype=bool))
        for word, array, shape in (
            ("times", self.times, (n,)),
            ("positions", self.positions, (n, m, 3)),
            ("frames", self.frames, (n,)),
            ("filled", self.filled, (n, m)),
            ("camera_residuals", self.camera_residuals, (n, m)),
        ):
            if array is not None and np.shape(array) != shape:
                raise ParameterError(
                    f"{word} of {n} samples of {m} markers have shape "
                    f"{np.shape(array)}, not {shape}"
                )
        if n == 0 or m == 0:
            raise ParameterError(f"a trial of {n} samples of {m} markers is empty")
        if len(set(self.names)) < m:
            twice = (name for name, count in Counter(self.names).items() if count > 1)
            raise ParameterError(f"two markers are called '{min(twice)}'")
        if not np.isfinite(self.times).all() or (np.diff(self.times) <= 0).any():
            raise ParameterError("the times of the samples are not finite and growing")
        if by_rows(lambda p: np.isinf(p).any(axis=(1, 2)), self.positions).any():
            raise ParameterError("a marker is at infinity")

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        """Size and rate."""
        return (
            f"<MarkerTrial: {len(self)} samples of {len(self.names)} markers, "
            f"{self.rate:g} Hz>"
        )

    @property
    def rate(self) -> float:
        """Samples a second [Hz]; nan for a single sample."""
        if len(self) < 2:
            return float("nan")
        return float((len(self) - 1) / (self.times[-1] - self.times[0]))

    @property
    def occluded(self) -> np.ndarray:
        """Markers that have no position (n, m)."""
        return by_rows(lambda p: np.isnan(p).any(axis=2), self.positions)

    def select(self, names: Sequence[str]) -> MarkerTrial:
        """These markers only, in this order; ParameterError where one is not there."""
        columns = _columns("marker", names, self.names)
        if columns == list(range(len(self.names))):
            return self
        residuals = self.camera_residuals
        return replace(
            self,
            names=tuple(names),
            positions=by_rows(lambda p: p[:, columns], self.positions),
            filled=self.filled[:, columns],
            camera_residuals=None if residuals is None else residuals[:, columns],
        )

    def samples(self, which: slice | np.ndarray) -> MarkerTrial:
        """Some of the samples: a slice, indices or a mask."""
        residuals = self.camera_residuals
        return replace(
            self,
            times=self.times[which],
            positions=self.positions[which],
            frames=self.frames[which],
            filled=self.filled[which],
            camera_residuals=None if residuals is None else residuals[which],
        )

    def between(self, start: float, end: float) -> MarkerTrial:
        """Samples from ``start`` to ``end`` [s], both included."""
        chosen = (self.times >= start) & (self.times <= end)
        if not chosen.any():
            raise ParameterError(
                f"no sample lies between {start:g} and {end:g} s: the trial runs from "
                f"{self.times[0]:g} to {self.times[-1]:g} s"
            )
        return self if chosen.all() else self.samples(chosen)

    def moved(self, positions: np.ndarray) -> MarkerTrial:
        """The same markers at other positions (n, m, 3) [m]."""
        return replace(self, positions=positions)


def part_of(trial: MarkerTrial, start: float, end: float) -> MarkerTrial:
    """Samples from ``start`` to ``end`` [s], in the trial's own time; 0: to its end.

    Raises:
        ParameterError: the times are not in order, or nothing lies between them.
    """
    if not (math.isfinite(start) and math.isfinite(end)):
        raise ParameterError(f"times must be finite, not {start:g} and {end:g} s")
    if end != 0.0 and end <= start:
        raise ParameterError(
            f"the end at {end:g} s is not after the start, {start:g} s"
        )
    first = start if start != 0.0 else -math.inf
    return trial.between(first, end if end != 0.0 else math.inf)


class MarkerFileError(FileError):
    """A file of markers, or of what was made of them, cannot be read.

    Its key is the parameter or the byte at fault (C3D), or None.
    """
