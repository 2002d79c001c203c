# SPDX-License-Identifier: Apache-2.0
"""A run of a network as it can be drawn, from the front: splines, links, masses."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
from humans_sim.results.run import Run
from humans_sim.soft.layers.puppet import CURVES, drawn_curves

_CURVE, _COAT, _LINK, _MASS = "#3d7ab8", "#d1603d", "#c9cdd3", "#45484e"


class NetworkPicture:
    """Draws samples of a network's run in one scale, y to the left and z up.

    Args:
        run: of a network.

    Raises:
        RunFileError: what is recorded of it is damaged.
    """

    def __init__(self, run: Run) -> None:
        """Look at the whole run once."""
        try:
            record = run.info["network"]
            self.places = run.q.reshape(len(run.t), -1, 3)
            self._links = np.array(record["links"], dtype=int).reshape(-1, 2)
            self._curves = [
                ([int(k) for k in rows], bool(closed))
                for rows, closed in record["curves"]
            ]
            used = [*self._links.ravel().tolist()]
            for rows, _ in self._curves:
                used += rows
            if not all(0 <= k < self.places.shape[1] for k in used):
                raise ValueError("a mass that is not there")
        except MALFORMED_CONTENT as error:
            raise RunFileError(
                f"the run's record of its network is damaged: {error}"
            ) from error
        flat = self.places[:, :, 1:].reshape(-1, 2)
        margin = 0.08 * float(np.ptp(flat, axis=0).max())
        self.low, self.high = flat.min(axis=0) - margin, flat.max(axis=0) + margin

    @property
    def ratio(self) -> float:
        """Width over height."""
        width, height = self.high - self.low
        return float(width / height)

    def curves(self, k: int) -> list[np.ndarray]:
        """Splines at a sample (points, 3) [m]."""
        return drawn_curves(self.places[k], self._curves)

    def lines(self, k: int) -> np.ndarray:
        """Links at a sample (n, 2, 3) [m]."""
        return np.asarray(self.places[k][self._links])

    def draw(self, panel: Any, k: int) -> None:
        """Draw a sample into empty matplotlib axes."""
        panel.set_xlim(self.high[0], self.low[0])
        panel.set_ylim(self.low[1], self.high[1])
        panel.set_axis_off()
        panel.axhline(0.0, color="#555b66", linewidth=0.8, zorder=0)
        links = LineCollection(
            list(self.lines(k)[:, :, 1:]), colors=_LINK, linewidths=0.7
        )
        panel.add_collection(links)
        for number, curve in enumerate(self.curves(k)):
            coat = number >= len(CURVES)
            panel.plot(
                curve[:, 1],
                curve[:, 2],
                color=_COAT if coat else _CURVE,
                linewidth=1.4 if coat else 4.0,
                solid_capstyle="round",
                zorder=3 if coat else 2,
            )
        panel.plot(*self.places[k][:, 1:].T, ".", color=_MASS, markersize=4, zorder=4)
