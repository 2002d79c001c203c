# SPDX-License-Identifier: Apache-2.0
"""How a ground was deformed in the course of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.soft.screens.packed_heights import packed_series, rounded_heights

PERIOD = 0.04
"""Time between two pictures of the ground, at first [s]."""
MOST = 600
"""Pictures that are kept; beyond them every other one is, from then on as well."""


class HistoryRecorder:
    """Keeps heights of a screen from time to time."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._times: list[float] = []
        self._heights: list[np.ndarray] = []
        self._period = PERIOD

    def note(self, t: float, heights: np.ndarray) -> None:
        """Keep the heights at a time where it is time for it.

        Args:
            t: [s].
            heights: above rest (n, m) [m].
        """
        if self._times and t < self._times[-1] + self._period - 1e-9:
            return
        self._times.append(float(t))
        self._heights.append(rounded_heights(heights))
        if len(self._times) > MOST:
            self._times, self._heights = self._times[::2], self._heights[::2]
            self._period *= 2.0

    def record(self) -> dict[str, Any]:
        """As plain data; empty where nothing was noted."""
        if not self._times:
            return {}
        return {"times": self._times, "heights": packed_series(self._heights)}
