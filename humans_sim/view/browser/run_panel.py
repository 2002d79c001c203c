# SPDX-License-Identifier: Apache-2.0
"""The controls of a page that plays stored runs: a time line, the view, pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import viser

from humans_sim.view.browser.time_line import TimeLine
from humans_sim.view.browser.watch_panel import add_view
from humans_sim.view.html_templates import render

SLOWEST, FASTEST = 0.1, 4.0
"""Speeds that can be chosen, of the run over the wall."""
_TICKS = 2000
"""Most places of the time line's slider."""
_CALM = 0.1
"""Least time between two moves of the slider by the page itself [s]."""


@dataclass(frozen=True)
class RunActions:
    """What the controls call, in threads of the page.

    Attributes:
        follow: whether the view goes along with the bodies; None where nothing of the
            view can be changed.
        see_through: whether bodies are transparent.
        screenshot: a picture for a browser.
        film: a film for a browser.
    """

    follow: Callable[[bool], None] | None
    see_through: Callable[[bool], None]
    screenshot: Callable[[viser.ClientHandle], None]
    film: Callable[[viser.ClientHandle], None]


class RunPanel:
    """Play, time, speed, view and pictures of a page that plays runs.

    Args:
        gui: of the page.
        line: the time that is shown.
        period: of the samples [s].
        actions: what the controls call.
    """

    def __init__(
        self, gui: viser.GuiApi, line: TimeLine, period: float, actions: RunActions
    ) -> None:
        self._line, self._moved = line, -1.0
        self._message = gui.add_html("")
        self._said = ""
        self._play = gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self._play.on_click(lambda _: line.play(not line.playing))
        step = max(period, (line.end - line.start) / _TICKS, 1e-6)
        last = max(line.end, line.start + step)
        self._slider = gui.add_slider("Time [s]", line.start, last, step, line.start)
        self._slider.on_update(self._scrub)
        with gui.add_folder("Single samples", expand_by_default=False):
            for word, ahead in (("Back", -period), ("Forward", period)):
                button = gui.add_button(word)
                button.on_click(lambda _, by=ahead: line.seek(line.time + by))
        with gui.add_folder("Speed"):
            speed = gui.add_slider("Real time ×", SLOWEST, FASTEST, 0.1, 1.0)
            loop = gui.add_checkbox("Loop", True)
        speed.on_update(lambda _: line.set_speed(float(speed.value)))
        loop.on_update(lambda _: setattr(line, "loop", bool(loop.value)))
        if actions.follow is not None:
            add_view(gui, actions.follow, actions.see_through)
        with gui.add_folder("Pictures"):
            picture = gui.add_button("Screenshot", icon=viser.Icon.CAMERA)
            film = gui.add_button("Film", icon=viser.Icon.MOVIE)
        picture.on_click(lambda event: _for_client(event, actions.screenshot))
        film.on_click(lambda event: _for_client(event, actions.film))

    def _scrub(self, event: Any) -> None:
        """Somebody moves the time; what the page itself does has no browser."""
        if event.client is not None:
            self._line.seek(float(self._slider.value))

    def show(self, wall: float) -> None:
        """Show where the time is, and whether it runs."""
        label = "Pause" if self._line.playing else "Play"
        if self._play.label != label:
            self._play.label = label
            icons = {"Play": viser.Icon.PLAYER_PLAY, "Pause": viser.Icon.PLAYER_PAUSE}
            self._play.icon = icons[label]
        now, shown = self._line.time, float(self._slider.value)
        if wall - self._moved >= _CALM and abs(now - shown) > self._slider.step / 2:
            self._moved = wall
            steps = round((now - self._line.start) / self._slider.step)
            self._slider.value = round(
                min(self._line.start + steps * self._slider.step, self._slider.max), 6
            )

    def say(self, text: str, failed: bool = False) -> None:
        """Show what happens, or nothing."""
        colour = "#c92a2a" if failed else "inherit"
        content = text and render("status", rows=[], message=text, colour=colour)
        if content != self._said:
            self._said = self._message.content = content


def _for_client(event: Any, action: Callable[[viser.ClientHandle], None]) -> None:
    if event.client is not None:
        action(event.client)
