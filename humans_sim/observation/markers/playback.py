# SPDX-License-Identifier: Apache-2.0
"""A trial played with its own timing, on a clock of nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from humans_sim.core.errors import ParameterError

PLAYING, PAUSED, ENDED = "playing", "paused", "ended"
FACTORS = (0.01, 100.0)
"""Slowest and fastest speed, over that of the trial."""
_LATE = 500_000_000
"""A frame later than this is shown now, and those after it later too [ns]."""
_SINGLE = 0.01
"""How long a trial of one sample lasts [s]."""


@dataclass(frozen=True)
class DueFrame:
    """A frame that is due.

    Attributes:
        row: of the trial.
        stamp: when it was due [ns].
        round: how often the trial was played before.
    """

    row: int
    stamp: int
    round: int


class TimedSamples(Protocol):
    """Samples that can be played: a trial of markers, or others with times."""

    @property
    def times(self) -> np.ndarray:
        """Of the samples, rising (n,) [s]."""

    def __len__(self) -> int:
        """How many samples."""


class Playback:
    """Says which frames of a trial are due.

    Attributes:
        trial: what is played.
        slips: how often the frames fell behind and were shifted.
    """

    def __init__(
        self, trial: TimedSamples, factor: float = 1.0, loop: bool = False
    ) -> None:
        """Prepare; :meth:`restart` begins.

        Args:
            trial: what to play.
            factor: speed over that of the trial.
            loop: begin again at the end, one usual step after the last frame.

        Raises:
            ParameterError: the factor is out of its range.
        """
        low, high = FACTORS
        if not low <= factor <= high:
            raise ParameterError(
                f"the factor of the rate must be {low:g} to {high:g}, not {factor:g}"
            )
        self.trial, self.slips = trial, 0
        since = (trial.times - trial.times[0]) / factor
        period = float(np.median(np.diff(since))) if len(trial) > 1 else _SINGLE
        self._offsets: list[int] = np.round(1e9 * since).astype(np.int64).tolist()
        self._length = self._offsets[-1] + max(1, round(1e9 * period))
        self._loop = loop
        self._origin: int | None = None
        self._paused_at: int | None = None
        self._row = self._round = 0

    @property
    def period(self) -> float:
        """Usual wall time between two frames [s]."""
        return self._length / len(self._offsets) * 1e-9

    @property
    def state(self) -> str:
        """Playing, paused or ended; ended before the start, too."""
        if self._origin is None:
            return ENDED
        return PLAYING if self._paused_at is None else PAUSED

    @property
    def row(self) -> int:
        """Of the next frame."""
        return self._row

    def restart(self, now: int) -> None:
        """Begin with the first frame, now [ns]; a pause lasts."""
        self._origin = now
        self._row = self._round = 0
        if self._paused_at is not None:
            self._paused_at = now

    def pause(self, paused: bool, now: int) -> None:
        """Hold the time, or resume it."""
        if paused and self._paused_at is None:
            self._paused_at = now
        elif not paused and self._paused_at is not None:
            if self._origin is not None:
                self._origin += now - self._paused_at
            self._paused_at = None

    def due(self, now: int) -> Iterator[DueFrame]:
        """Frames that are due now [ns] and were not given yet, in their order."""
        while self._origin is not None and self._paused_at is None:
            stamp = self._origin + self._offsets[self._row]
            if stamp > now:
                return
            if now - stamp > _LATE:
                self._origin += now - stamp
                self.slips += 1
                stamp = now
            yield DueFrame(self._row, stamp, self._round)
            self._row += 1
            if self._row == len(self._offsets):
                self._row = 0
                self._round += 1
                self._origin = self._origin + self._length if self._loop else None
