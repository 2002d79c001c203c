# SPDX-License-Identifier: Apache-2.0
"""A run as one web page that plays in any browser, without a server."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import viser

from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene import Scene
from humans_sim.view.browser.scene_layers import touched_pins
from humans_sim.view.html_templates import render

FRAME_PERIOD = 1 / 30
"""Least time between two pictures [s]."""
PAUSE = 1.0
"""How long the last picture stays before it starts again [s]."""
_VISER_TITLE = "<title>Viser</title>"


def page_of(replay: Replay) -> str:
    """The text of a page that plays a run in real time, again and again."""
    model, run = replay.model, replay.run
    with silence():
        scene = Scene(model, port=0, ground=replay.ground, axes=False)
    try:
        show_sample(scene, replay, 0)
        scene.look_at(*camera(replay))
        recording = scene.server.get_scene_serializer()
        chosen = replay.indices(FRAME_PERIOD)
        for last, k in zip(chosen, chosen[1:], strict=False):
            recording.insert_sleep(float(run.t[k] - run.t[last]))
            show_sample(scene, replay, k)
        recording.insert_sleep(PAUSE)
        return titled(recording.as_html(), model.title)
    finally:
        with silence():
            scene.stop()


class SampleView(Protocol):
    """A page that shows samples of a run."""

    server: viser.ViserServer

    def show(self, k: int) -> None:
        """Show a sample."""

    def stop(self) -> None:
        """Close the page."""


def recorded_page(view: SampleView, t: np.ndarray, title: str) -> str:
    """The text of a page that plays samples in real time; the view is closed.

    Args:
        view: that shows them, now the first.
        t: times of the samples (n,) [s].
        title: of the page.
    """
    try:
        recording = view.server.get_scene_serializer()
        last = 0
        for k in range(1, len(t)):
            if t[k] - t[last] >= FRAME_PERIOD * (1 - 1e-6):
                recording.insert_sleep(float(t[k] - t[last]))
                view.show(k)
                last = k
        recording.insert_sleep(PAUSE)
        return titled(recording.as_html(), title)
    finally:
        with silence():
            view.stop()


def titled(page: str, title: str) -> str:
    """A page of viser under another title than viser's."""
    return page.replace(_VISER_TITLE, render("scene_title", title=title), 1)


def show_sample(scene: Scene, replay: Replay, k: int, label: str = "") -> None:
    """Show a sample of a run: the model, the forces on it, the time."""
    q = replay.run.q[k]
    scene.show(q)
    scene.show_arrows(replay.arrows(k, each=True))
    scene.show_cables(replay.cables(k))
    field = replay.footprints(k)
    if field is not None and replay.history is not None:
        scene.show_ground(field, touched_pins(replay.history.heights))
    above = np.array([*replay.model.com(q)[:2], 1.12 * replay.height])
    above[2] = max(above[2], float(q[2]) + 0.6 * replay.height)
    scene.show_time(f"{label} {replay.run.t[k]:.2f} s".strip(), above)


def camera(replay: Replay) -> tuple[np.ndarray, float]:
    """Where to look and from how far [body heights], so that the whole run is seen."""
    places = replay.run.q[:, :3]
    low, high = places.min(axis=0), places.max(axis=0)
    centre = (low + high) / 2
    centre[2] = max(centre[2] - 0.05 * replay.height, 0.5 * replay.height)
    spread = float(np.linalg.norm(high - low)) / replay.height
    return centre, 0.95 + 0.6 * min(spread, 6.0)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep the server's own words off the terminal: nobody is to open its address."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
