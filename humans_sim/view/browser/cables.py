# SPDX-License-Identifier: Apache-2.0
"""Cables that a robot hangs on in a run, as lines."""

from __future__ import annotations

import re

import numpy as np

from humans_sim.actuation.hoist import LENGTH
from humans_sim.models import Model
from humans_sim.results.run import Run

CABLE_COLOUR = (70, 72, 78)
"""Red, green, blue of a cable."""
_TENSION = re.compile(r"(?:.*/)?hoist/([^/]+)/tension")


class RunCables:
    """The cables of a run: those whose tensions are among its signals.

    Anchors are straight above where the tags are at the first sample, at the usual
    length of a cable: runs keep tensions, not anchors.

    Args:
        run: of a robot.
        model: its model.
    """

    def __init__(self, run: Run, model: Model) -> None:
        """Find tags and anchors."""
        found = (_TENSION.fullmatch(n) for n in run.info.get("signal_names", ()))
        names = [match[1] for match in found if match is not None]
        self._rows = [model.tag_names.index(n) for n in names if n in model.tag_names]
        self._run, self._model = run, model
        self._anchors = np.zeros((0, 3))
        if self._rows:
            self._anchors = self._tags(0) + [0.0, 0.0, LENGTH]

    def _tags(self, k: int) -> np.ndarray:
        places: np.ndarray = self._model.tags(self._run.q[k])[self._rows]
        return places

    def at(self, k: int) -> np.ndarray:
        """From the tags to the anchors at a sample (n, 2, 3) [m]; empty without any."""
        if not self._rows:
            return np.zeros((0, 2, 3))
        return np.stack([self._tags(k), self._anchors], axis=1)
