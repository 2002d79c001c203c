# SPDX-License-Identifier: Apache-2.0
"""A run as one web page that plays in any browser, without a server."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact.geometry.ground import Ground
from humans_sim.models import Model
from humans_sim.results.run import Run
from humans_sim.view.browser.bodies_page import BodiesView
from humans_sim.view.browser.network_page import NetworkView
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene import PageView, Scene
from humans_sim.view.browser.scene_layers import touched_pins
from humans_sim.view.html_templates import render

FRAME_PERIOD = 1 / 30
"""Least time between two pictures [s]."""
PAUSE = 1.0
"""How long the last picture stays before it starts again [s]."""
_VISER_TITLE, _BODY = "<title>Viser</title>", "</body>"


class BipedView(PageView):
    """A run of a biped on a page: the model, the forces on it, the time.

    Args:
        label: before the time.
        port: of a new page, where none is given.
        page: to show it on.
        place: where it is there, as of :class:`Scene`.
    """

    def __init__(
        self,
        replay: Replay,
        label: str = "",
        *,
        port: int = 0,
        page: PageServer | None = None,
        **place: Any,
    ) -> None:
        super().__init__(replay.model.title, port, page=page)
        self._replay, self._label = replay, label
        place |= {"ground": replay.ground, "axes": False, "page": self._page}
        self.scene = Scene(replay.model, **place)

    def show(self, k: int) -> None:
        """Show a sample."""
        scene, replay = self.scene, self._replay
        q = replay.run.q[k]
        scene.show(q)
        scene.show_arrows(replay.arrows(k, each=True))
        scene.show_cables(replay.cables(k))
        field = replay.footprints(k)
        if field is not None and replay.history is not None:
            scene.show_ground(field, touched_pins(replay.history.heights))
        above = np.array([*replay.model.com(q)[:2], 1.12 * replay.height])
        above[2] = max(above[2], float(q[2]) + 0.6 * replay.height)
        scene.show_time(f"{self._label} {replay.run.t[k]:.2f} s".strip(), above)

    def look_at_all(self) -> None:
        """Look from where the whole run is seen."""
        places, height = self._replay.run.q[:, :3], self._replay.height
        low, high = places.min(axis=0), places.max(axis=0)
        centre = (low + high) / 2
        centre[2] = max(centre[2] - 0.05 * height, 0.5 * height)
        spread = float(np.linalg.norm(high - low)) / height
        self.scene.look_at(centre, 0.95 + 0.6 * min(spread, 6.0))


def page_of(
    run: Run | WristRun, model: Model | None = None, ground: Ground | None = None
) -> str:
    """The text of a page that plays a run in real time, again and again.

    Args:
        run: of a biped, of free bodies, of a network or of a wrist.
        model: of a biped's run; that of its record unless given.
        ground: of a biped's run; that of its record unless given.

    Raises:
        ParameterError: the run is not of this model or of this scene.
        RunFileError: what is recorded of bodies or of a network is damaged.
    """
    view: PageView
    with silence():
        if isinstance(run, WristRun):
            from humans_sim.view.browser.wrist_page import WristView

            view = WristView(run, port=0)
        elif "network" in run.info:
            view = NetworkView(run, port=0)
        elif "bodies" in run.info:
            view = BodiesView(run, port=0)
        else:
            view = BipedView(Replay(run, model, ground), port=0)
            view.look_at_all()
    try:
        view.show(0)
        recording = view.server.get_scene_serializer()
        last, end = 0, len(run.t) - 1
        for k in range(1, len(run.t)):
            passed = float(run.t[k] - run.t[last])
            if passed >= FRAME_PERIOD * (1 - 1e-6) or k == end:
                recording.insert_sleep(passed)
                view.show(k)
                last = k
        recording.insert_sleep(PAUSE)
        page = titled(recording.as_html(), view.title)
        return page.replace(_BODY, view.legend + _BODY, 1)
    finally:
        with silence():
            view.stop()


def titled(page: str, title: str) -> str:
    """A page of viser under another title than viser's."""
    return page.replace(_VISER_TITLE, render("scene_title", title=title), 1)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep the server's own words off the terminal: nobody is to open its address."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
