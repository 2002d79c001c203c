# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters for markers: zero-phase for whole trials, causal for live ones.

Also occlusions filled by cubic splines through the samples around them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfilt_zi, sosfiltfilt

from humans_sim.core.arrays import by_rows, column_of, put_column
from humans_sim.core.budget import NUMBERS
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.trial import MarkerTrial

CUTOFF = 8.0
"""Cut-off frequency where nothing else is said [Hz]."""
ORDER = 2
"""Order of the filter where nothing else is said."""
MOST = 8
"""Highest order."""
_SETTLED = 3.0
"""Periods of the cut-off after which a start is forgotten."""
JUMP, JUMP_ACCELERATION = 0.05, 500.0
"""A change of a marker's step from one sample to the next that is a jump: a distance
[m], and what an acceleration makes of it [m/s^2]."""
_CALM = 0.5
"""Share of a jump that the changes of steps beside it may have."""
_LOST = 1.5
"""A step in time longer than so many usual ones has lost samples."""


def smooth_markers(
    trial: MarkerTrial,
    cutoff: float = CUTOFF,
    order: int = ORDER,
    *,
    jump: float = JUMP,
    jump_acceleration: float = JUMP_ACCELERATION,
) -> MarkerTrial:
    """Low-pass a trial without any delay: Butterworth, forward and backward.

    The two passes together have the gain of one Butterworth filter at the cut-off [Hz],
    -3 dB: each pass has a higher cut-off. Stretches between gaps and jumps
    (:func:`jumps`, by a distance [m] and an acceleration [m/s^2]) are filtered each on
    its own, so that a marker that was exchanged for another is not drawn between both;
    a single sample stays as it is.

    Raises:
        ParameterError: the cut-off is not between zero and half the sampling rate, or
            the order is not one of 1 to 8.
    """
    if len(trial) < 2:
        return trial
    steps = np.diff(trial.times)
    lost = steps > _LOST * np.median(steps)
    rate = float(1.0 / steps[~lost].mean())
    _checked(rate, cutoff, order)
    positions = by_rows(np.copy, trial.positions)
    broken = np.concatenate([lost, [True]])
    bound = jump + jump_acceleration / rate**2
    for column, occluded in enumerate(trial.occluded.T):
        values = column_of(positions, column)
        parted = broken | jumps(values, bound)
        for rows in _stretches(~occluded, parted):
            if len(rows) > 1:
                values[rows] = zero_phase(values[rows], rate, cutoff, order)
        put_column(positions, column, values)
    return trial.moved(positions)


def jumps(positions: np.ndarray, bound: float) -> np.ndarray:
    """Samples after which a marker (n, 3) [m] jumps (n,).

    A step that is unlike both its neighbours, which are like each other: the two
    changes of the step, at its ends, are larger than the bound [m] and opposite, and
    those beside them are small. The same with one sample that is elsewhere alone, which
    is parted from both its neighbours.
    """
    n = len(positions)
    jumping = np.zeros(n, dtype=bool)
    if n < 4:
        return jumping
    # bends[k] is the change of the step at sample k.
    bends = np.zeros((n, 3))
    bends[1:-1] = np.nan_to_num(np.diff(positions, 2, axis=0))
    size = np.linalg.norm(bends, axis=1)
    candidates = np.flatnonzero(size > bound)
    for k in candidates[(candidates > 1) & (candidates < n - 3)]:
        first, second, third = bends[k : k + 3]
        small = _CALM * size[k]
        calm = size[k - 1] < small
        if calm and np.linalg.norm(first + second) < small and size[k + 2] < small:
            jumping[k] = True
        elif (
            calm
            and np.linalg.norm(2.0 * first + second) < small
            and np.linalg.norm(first - third) < small
            and (k + 3 >= n or size[k + 3] < small)
        ):
            jumping[k] = jumping[k + 1] = True
    return jumping


def zero_phase(
    values: np.ndarray, rate: float, cutoff: float = CUTOFF, order: int = ORDER
) -> np.ndarray:
    """Columns (n, k), n > 1, low-passed without delay, -3 dB at the cut-off."""
    # Two passes have -3 dB at the cut-off, each at a higher one.
    narrower = (math.sqrt(2.0) - 1.0) ** (1.0 / (2 * order))
    lowest = math.tan(math.pi * _checked(rate, cutoff, order) / rate)
    one_pass = rate / math.pi * math.atan(lowest / narrower)
    sections = butter(order, one_pass, fs=rate, output="sos")
    # The ends are mirrored through themselves, as often as it takes for the filter to
    # settle: short stretches stay where they are.
    pad = math.ceil(_SETTLED * rate / cutoff)
    what = f"a filter of {cutoff:g} Hz at {rate:g} Hz"
    NUMBERS.check(what, 2 * pad + len(values), values.shape[1])
    longer = np.pad(values, ((pad, pad), (0, 0)), mode="reflect", reflect_type="odd")
    return np.asarray(sosfiltfilt(sections, longer, axis=0, padlen=0)[pad:-pad])


class CausalFilter:
    """Butterworth low-pass filter of markers that come one sample at a time.

    It starts as if the first sample had always been there, and starts again so for a
    marker that comes back after a gap.
    """

    def __init__(
        self, rate: float, cutoff: float = CUTOFF, order: int = ORDER, columns: int = 1
    ) -> None:
        """Design the filter of so many markers, as :func:`smooth_markers`."""
        cutoff = _checked(rate, cutoff, order)
        self._sections = butter(order, cutoff, fs=rate, output="sos")
        self._steady = sosfilt_zi(self._sections)
        self._state = np.zeros((len(self._sections), 2, columns, 3))
        self._running = np.zeros(columns, dtype=bool)

    def reset(self) -> None:
        """Forget all samples."""
        self._running[:] = False

    def push(self, positions: np.ndarray) -> np.ndarray:
        """Filter one sample (m, 3), NaN for markers that are not seen."""
        sample = np.asarray(positions, dtype=float)
        state = self._state
        if sample.shape != state.shape[2:]:
            raise ParameterError(
                f"a sample of {state.shape[2]} markers has shape {state.shape[2:]}, "
                f"not {sample.shape}"
            )
        seen = ~np.isnan(sample).any(axis=1)
        new = seen & ~self._running
        if new.any():
            state[:, :, new] = self._steady[:, :, None, None] * sample[new]
        self._running = seen
        value = np.where(seen[:, None], sample, 0.0)
        for (b0, b1, b2, _, a1, a2), z in zip(self._sections, state, strict=True):
            out = b0 * value + z[0]
            z[0] = b1 * value - a1 * out + z[1]
            z[1] = b2 * value - a2 * out
            value = out
        value[~seen] = np.nan
        return value


def _checked(rate: float, cutoff: float, order: int) -> float:
    """The cut-off, if a filter can have it."""
    if not (math.isfinite(rate) and rate > 0):
        raise ParameterError(f"the sampling rate is {rate:g} Hz: it must be positive")
    if not 0 < cutoff < rate / 2:
        raise ParameterError(
            f"the cut-off of {cutoff:g} Hz must lie between 0 and {rate / 2:g} Hz, "
            f"half the sampling rate of {rate:g} Hz"
        )
    if not 1 <= order <= MOST:
        raise ParameterError(f"the order of the filter is {order}, not 1 to {MOST}")
    return float(cutoff)


def _stretches(seen: np.ndarray, broken: np.ndarray) -> list[np.ndarray]:
    """Rows seen one after the other; ``broken`` rows end a stretch."""
    rows = np.flatnonzero(seen)
    ends = np.flatnonzero((np.diff(rows) > 1) | broken[rows[:-1]]) + 1
    return np.split(rows, ends) if len(rows) else []


MAX_GAP = 0.1
"""Longest gap that is filled where nothing else is said [s]."""
ROUNDING = 1e-6
"""Times of files are rounded: a gap may be longer by so much [s]."""


def fill_gaps(trial: MarkerTrial, max_gap: float | None = MAX_GAP) -> MarkerTrial:
    """Fill the gaps of each marker by a cubic spline of each coordinate.

    Nothing is extrapolated before the first and after the last sample of a marker. A
    spline runs through all samples between two gaps that stay open; where these are
    three or two, it is a parabola or a line. The longest gap to fill [s] is from its
    first missing sample to the next seen one; None fills any.

    Raises:
        ParameterError: the longest gap is not a positive number.
    """
    if max_gap is not None and not max_gap > 0:
        raise ParameterError(f"the longest gap is {max_gap:g} s: it must be positive")
    longest = np.inf if max_gap is None else max_gap + ROUNDING
    occluded = trial.occluded
    if not occluded.any():
        return trial
    positions = by_rows(np.copy, trial.positions)
    filled = trial.filled.copy()
    for column in np.flatnonzero(occluded.any(axis=0)):
        values = column_of(trial.positions, int(column))
        seen = np.flatnonzero(~occluded[:, column])
        for stretch in joined_rows(trial.times, seen, longest):
            inside = np.arange(stretch[0], stretch[-1] + 1)
            missing = inside[occluded[inside, column]]
            if len(missing):
                start = trial.times[stretch[0]]
                spline = CubicSpline(trial.times[stretch] - start, values[stretch])
                values[missing] = spline(trial.times[missing] - start)
                filled[missing, column] = True
        put_column(positions, int(column), values)
    return replace(trial, positions=positions, filled=filled)


def joined_rows(
    times: np.ndarray, seen: np.ndarray, longest: float
) -> list[np.ndarray]:
    """Rows that were seen, parted where the gap between two is too long [s]."""
    if not len(seen):
        return []
    before, after = seen[:-1], seen[1:]
    gap = np.where(after > before + 1, times[after] - times[before + 1], 0.0)
    return np.split(seen, np.flatnonzero(gap > longest) + 1)
