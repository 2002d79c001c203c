# SPDX-License-Identifier: Apache-2.0
"""Cables that a robot hangs on in a run, as lines."""

from __future__ import annotations

import numpy as np

from humans_sim.actuation.hoist import CABLES
from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
from humans_sim.models import Model
from humans_sim.results.run import Run

CABLE_COLOUR = (70, 72, 78)
"""Red, green, blue of a cable."""


class RunCables:
    """The cables of a run, from tags of its robot to the anchors that it keeps.

    Args:
        run: of a robot.
        model: its model.

    Raises:
        RunFileError: what is recorded of the cables is damaged.
    """

    def __init__(self, run: Run, model: Model) -> None:
        """Find tags and anchors."""
        try:
            anchors = dict(run.info.get(CABLES, {}))
            self._rows = [model.tag_names.index(name) for name in anchors]
            self._anchors = np.array(list(anchors.values()), float).reshape(-1, 3)
            if len(self._anchors) != len(anchors):
                raise ValueError("an anchor has three coordinates")
            if not np.isfinite(self._anchors).all():
                raise ValueError("an anchor is not finite")
        except MALFORMED_CONTENT as error:
            raise RunFileError(
                f"the run's record of its cables is damaged: {error}"
            ) from error
        self._run, self._model = run, model

    def at(self, k: int) -> np.ndarray:
        """From the tags to the anchors at a sample (n, 2, 3) [m]; empty without any."""
        if not self._rows:
            return np.zeros((0, 2, 3))
        tags = self._model.tags(self._run.q[k])[self._rows]
        return np.stack([tags, self._anchors], axis=1)
