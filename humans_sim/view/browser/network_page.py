# SPDX-License-Identifier: Apache-2.0
"""A run of a network as one web page that plays in any browser.

Drawn from the front: splines, links, masses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
from humans_sim.results.run import Run
from humans_sim.soft.networks.puppet import CURVES, drawn_curves
from humans_sim.view.browser.page import FRAME_PERIOD, PAUSE, silence, titled
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import STAGE, free_port

_PICTURE_CURVE, _COAT, _PICTURE_LINK, _MASS = "#3d7ab8", "#d1603d", "#c9cdd3", "#45484e"


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
            list(self.lines(k)[:, :, 1:]), colors=_PICTURE_LINK, linewidths=0.7
        )
        panel.add_collection(links)
        for number, curve in enumerate(self.curves(k)):
            coat = number >= len(CURVES)
            panel.plot(
                curve[:, 1],
                curve[:, 2],
                color=_COAT if coat else _PICTURE_CURVE,
                linewidth=1.4 if coat else 4.0,
                solid_capstyle="round",
                zorder=3 if coat else 2,
            )
        panel.plot(*self.places[k][:, 1:].T, ".", color=_MASS, markersize=4, zorder=4)


_HOST = "127.0.0.1"
_CURVE, _LINK = (61, 122, 184), (170, 174, 180)


def network_page(run: Run) -> str:
    """The text of a page that plays a run of a network, again and again.

    Raises:
        RunFileError: what is recorded of the network is damaged.
    """
    picture = NetworkPicture(run)
    with silence():
        page = PageServer(_HOST, free_port(_HOST, 0))
    try:
        scene = page.viser.scene
        scene.set_up_direction("+z")
        scene.add_grid(f"{STAGE}/floor", cell_size=0.1, section_size=0.5)
        links = scene.add_line_segments(
            f"{STAGE}/links", _links(picture, 0), _LINK, thickness=0.002
        )
        curves = scene.add_line_segments(
            f"{STAGE}/curves", _curves(picture, 0), _CURVE, thickness=0.012
        )
        size = float((picture.high - picture.low).max())
        middle = np.array([0.0, *(picture.low + picture.high) / 2])
        camera = page.viser.initial_camera
        camera.up, camera.look_at = (0.0, 0.0, 1.0), tuple(middle)
        camera.position = tuple(middle + size * np.array([1.6, 0.3, 0.2]))
        recording = page.viser.get_scene_serializer()
        last = 0
        for k in range(1, len(run.t)):
            if run.t[k] - run.t[last] >= FRAME_PERIOD * (1 - 1e-6):
                recording.insert_sleep(float(run.t[k] - run.t[last]))
                links.points, curves.points = _links(picture, k), _curves(picture, k)
                last = k
        recording.insert_sleep(PAUSE)
        return titled(recording.as_html(), str(run.info.get("system", "network")))
    finally:
        with silence():
            page.stop()


def _links(picture: NetworkPicture, k: int) -> np.ndarray:
    return picture.lines(k).astype(np.float32)


def _curves(picture: NetworkPicture, k: int) -> np.ndarray:
    parts = [np.stack([c[:-1], c[1:]], axis=1) for c in picture.curves(k)]
    return np.concatenate(parts or [picture.lines(k)]).astype(np.float32)
