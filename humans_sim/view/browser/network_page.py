# SPDX-License-Identifier: Apache-2.0
"""A run of a network as one web page that plays in any browser."""

from __future__ import annotations

import numpy as np

from humans_sim.results.run import Run
from humans_sim.view.browser.page import FRAME_PERIOD, PAUSE, silence, titled
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import STAGE, free_port
from humans_sim.view.network_picture import NetworkPicture

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
