# SPDX-License-Identifier: Apache-2.0
"""Positions of a coat's masses over time as short text, for the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
from humans_sim.soft.screens.packed_heights import packed_heights, unpacked_heights


def packed_tracks(tracks: np.ndarray) -> str:
    """Positions (samples, masses, 3) to a tenth of a micrometre, as text."""
    return packed_heights(np.diff(tracks, axis=0, prepend=0.0))


class CoatTracks:
    """The coat of a run over time.

    Args:
        info: of the run.

    Attributes:
        times: of the positions (n,) [s].
        places: of all masses (n, masses, 3) [m].
        lines: masses that are linked (k, 2).

    Raises:
        RunFileError: what is recorded of the coat is damaged.
    """

    def __init__(self, info: Mapping[str, Any]) -> None:
        """Unpack what the run keeps; nothing where there is no coat."""
        self.times, self.places = np.zeros(0), np.zeros((0, 0, 3))
        self.lines = np.zeros((0, 2), dtype=int)
        coat = info.get("coat", {})
        if "tracks" not in coat:
            return
        try:
            shape = tuple(int(n) for n in coat["shape"])
            if len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
                raise ValueError("three counts are wanted")
            steps = unpacked_heights(str(coat["tracks"]), shape)
            self.places = np.cumsum(steps, axis=0)
            self.times = np.array(coat["times"], dtype=float)
            self.lines = np.array(coat["lines"], dtype=int).reshape(-1, 2)
            if (
                len(self.times) != shape[0]
                or not ((self.lines >= 0) & (self.lines < shape[1])).all()
            ):
                raise ValueError("times or lines do not fit")
        except MALFORMED_CONTENT as error:
            raise RunFileError(
                f"the run's record of its coat is damaged: {error}"
            ) from error

    def at(self, t: float) -> np.ndarray:
        """Links as lines at a time (k, 2, 3) [m]; none without a coat."""
        if not len(self.times):
            return np.zeros((0, 2, 3))
        return self.places[int(np.argmin(np.abs(self.times - t)))][self.lines]
