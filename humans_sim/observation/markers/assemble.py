# SPDX-License-Identifier: Apache-2.0
"""The last step of every reader: from columns to a checked trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.disk_arrays import by_rows
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.axes import METRES, check_units, check_up, to_z_up
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.trial import MarkerTrial

FARTHEST = 1e4
"""No marker is further from the origin of a laboratory [m]."""
LOWEST_RATE, HIGHEST_RATE = 1e-3, 1e6
"""Rates of sampling outside are taken for mistakes [Hz]."""


@dataclass(frozen=True)
class ReadOptions:
    """What the caller knows better than the file; None: as the file says.

    Attributes:
        up: axis that points up.
        units: of the positions.
        rate: samples a second [Hz].
    """

    up: str | None = None
    units: str | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Check the words.

        Raises:
            ParameterError: one cannot be used.
        """
        if self.up is not None:
            check_up(self.up)
        if self.units is not None:
            check_units(self.units)
        if self.rate is not None and not LOWEST_RATE <= self.rate <= HIGHEST_RATE:
            raise ParameterError(
                f"a rate of {self.rate} Hz cannot be: it lies from {LOWEST_RATE:g} to "
                f"{HIGHEST_RATE:g} Hz"
            )


def length_of(
    word: str, options: ReadOptions, error: Callable[[str], MarkerFileError]
) -> float:
    """Length of the unit of a file [m], or of the one that the caller gave.

    Args:
        word: the unit as the file names it.
        options: what the caller knows better.
        error: makes an error that points at the unit in the file.
    """
    try:
        return METRES[check_units(word if options.units is None else options.units)]
    except ParameterError as fault:
        raise error(f"{fault}; or give units") from fault


def check_rate(rate: float, error: Callable[[str], MarkerFileError]) -> float:
    """A rate that a file gives, if it can be one [Hz]."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise error(
            f"a rate of {rate:g} Hz cannot be: it lies from {LOWEST_RATE:g} to "
            f"{HIGHEST_RATE:g} Hz; or give rate"
        )
    return rate


def make_trial(
    path: Path,
    names: tuple[str, ...],
    times: np.ndarray,
    positions: np.ndarray,
    frames: np.ndarray,
    *,
    up: str,
    error: Callable[[str, int], MarkerFileError],
    residuals: np.ndarray | None = None,
) -> MarkerTrial:
    """A trial, z up, once every position is whole and near.

    Args:
        path: the file.
        names: of the markers.
        times: of the samples (n,) [s].
        positions: on the axes of the file (n, m, 3) [m], NaN where missing.
        frames: numbers of the samples (n,).
        up: axis of the file that points up.
        error: makes an error that points at a row.
        residuals: of the cameras (n, m) [m].

    Raises:
        MarkerFileError: a position has one or two of its three coordinates, or lies
            too far away.
    """
    lacking = by_rows(lambda p: np.isnan(p).sum(axis=2, dtype=np.uint8), positions)
    partial = np.argwhere((lacking > 0) & (lacking < 3))
    if partial.size:
        row, column = partial[0].tolist()
        raise error(
            f"the marker '{names[column]}' lacks some of its three coordinates: a "
            "marker that was not seen lacks all",
            row,
        )
    with np.errstate(invalid="ignore"):
        beyond = by_rows(lambda p: np.abs(p) > FARTHEST, positions)
    far = np.argwhere(beyond)
    if far.size:
        row, column, axis = far[0].tolist()
        raise error(
            f"the marker '{names[column]}' is {abs(positions[row, column, axis]):g} m "
            "away: check the file and its units",
            row,
        )
    return MarkerTrial(
        names,
        times,
        by_rows(lambda p: to_z_up(p, up), positions),
        frames,
        camera_residuals=residuals,
        source=path,
    )


def numbered_names(
    labels: Sequence[str], word: str, note: Callable[[str], None]
) -> tuple[str, ...]:
    """Labels as names; one that stands again gets a number, as ``RANK_2``.

    Args:
        labels: as the file has them; an empty one is called after its column.
        word: for what has the labels, e.g. marker.
        note: is called with a note on labels that stand more than once.
    """
    names: list[str] = []
    again: list[str] = []
    seen = set(labels)
    counts: dict[str, int] = {}
    for column, label in enumerate(labels, start=1):
        name = label or f"unnamed{column}"
        if label and label in counts or not label and name in seen:
            again.append(name)
            number = counts.get(name, 1) + 1
            while f"{name}_{number}" in seen:
                number += 1
            counts[name] = number
            name = f"{name}_{number}"
        else:
            counts[name] = 1
        seen.add(name)
        names.append(name)
    if again:
        shown = ", ".join(f"'{name[:40]}'" for name in dict.fromkeys(again[:5]))
        note(
            f"{len(again)} {word}s have the label of another and get a number: {shown}"
        )
    return tuple(names)
