# SPDX-License-Identifier: Apache-2.0
"""Runs of networks in the browser: splines and links, seen from the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.results.record import sound_record
from humans_sim.results.run import Run
from humans_sim.soft.networks.puppet import drawn_curves
from humans_sim.view.browser.scene import STAGE, PageView, set_camera


class NetworkMotion:
    """Masses, links and splines of a network's run.

    Attributes:
        places: of the masses (samples, n, 3) [m].
        low, high: corners of what is seen, y and z (2,) [m].

    Raises:
        RunFileError: what is recorded of it is damaged.
    """

    def __init__(self, run: Run) -> None:
        with sound_record("its network"):
            record = run.info["network"]
            self.places = run.q.reshape(len(run.t), -1, 3)
            self._links = np.array(record["links"], dtype=int).reshape(-1, 2)
            self._curves = [
                ([int(k) for k in rows], bool(closed))
                for rows, closed in record["curves"]
            ]
            used = np.concatenate([self._links.ravel(), *(k for k, _ in self._curves)])
            if not all(0 <= k < self.places.shape[1] for k in used):
                raise ValueError("a mass that is not there")
        flat = self.places[:, :, 1:].reshape(-1, 2)
        margin = 0.08 * float(np.ptp(flat, axis=0).max())
        self.low, self.high = flat.min(axis=0) - margin, flat.max(axis=0) + margin

    def curves(self, k: int) -> list[np.ndarray]:
        """Splines at a sample (points, 3) [m]."""
        return drawn_curves(self.places[k], self._curves)

    def lines(self, k: int) -> np.ndarray:
        """Links at a sample (n, 2, 3) [m]."""
        return np.asarray(self.places[k][self._links])


_CURVE, _LINK = (61, 122, 184), (170, 174, 180)


class NetworkView(PageView):
    """A run of a network on a page, as of :class:`PageView`.

    Raises:
        RunFileError: what is recorded of the network is damaged.
    """

    def __init__(self, run: Run, **place: Any) -> None:
        self._motion = NetworkMotion(run)
        super().__init__(str(run.info.get("system", "network")), **place)
        scene = self.server.scene
        scene.set_up_direction("+z")
        scene.add_grid(f"{STAGE}/floor", cell_size=0.1, section_size=0.5)
        links, curves = self._lines(0)
        self._links = scene.add_line_segments(
            f"{STAGE}/links", links, _LINK, thickness=0.002
        )
        self._curves = scene.add_line_segments(
            f"{STAGE}/curves", curves, _CURVE, thickness=0.012
        )
        low, high = self._motion.low, self._motion.high
        middle = np.array([0.0, *(low + high) / 2])
        sight = float((high - low).max()) * np.array([1.6, 0.3, 0.2])
        set_camera(self.server, middle, middle + sight)

    def show(self, k: int) -> None:
        """Show a sample."""
        self._links.points, self._curves.points = self._lines(k)

    def _lines(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Links, and the pieces of the splines (n, 2, 3) [m]."""
        links = self._motion.lines(k).astype(np.float32)
        curves = self._motion.curves(k)
        parts = [np.stack([c[:-1], c[1:]], axis=1) for c in curves]
        return links, np.concatenate(parts or [links]).astype(np.float32)
