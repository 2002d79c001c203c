# SPDX-License-Identifier: Apache-2.0
"""What a page shows of a robot, and how it is looked at: nothing here commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import viser

from humans_sim.view.html_templates import render


@dataclass(frozen=True)
class Status:
    """What is shown.

    Attributes:
        time: simulated [s].
        real_time_factor: simulated over wall time.
        paused: whether time stands still.
        phase: what the walk is doing, one word; empty without a walk.
        steps: made so far.
        speed: over the ground [m/s].
        distance: from the start [m].
        message: what went wrong, or what just happened.
        failed: whether the message is of something that went wrong.
    """

    time: float = 0.0
    real_time_factor: float = 0.0
    paused: bool = False
    phase: str = ""
    steps: int = 0
    speed: float = 0.0
    distance: float = 0.0
    message: str = ""
    failed: bool = False


class StatusText:
    """How things are, as a text on a page.

    Attributes:
        walking: whether it shows a walk.
    """

    def __init__(self, gui: viser.GuiApi, walking: bool = True) -> None:
        """Add the text to a page.

        Args:
            gui: of the page.
            walking: whether it shows a walk.
        """
        self.walking = walking
        self._text, self._shown = gui.add_html(""), ""
        self.show(Status())

    def show(self, status: Status) -> None:
        """Show how things are."""
        text = status_html(status, self.walking)
        if text != self._shown:
            self._shown = self._text.content = text


def add_view(
    gui: viser.GuiApi,
    follow: Callable[[bool], None],
    see_through: Callable[[bool], None],
) -> None:
    """Add what changes the sight alone.

    Args:
        gui: of the page.
        follow: called with whether the camera follows the body.
        see_through: called with whether the body is transparent.
    """
    with gui.add_folder("View"):
        following = gui.add_checkbox("Follow", True)
        through = gui.add_checkbox("See through", False)
    following.on_update(lambda _: follow(bool(following.value)))
    through.on_update(lambda _: see_through(bool(through.value)))


class WatchPanel:
    """A panel that shows how things are and has nothing to command with."""

    def __init__(
        self,
        gui: viser.GuiApi,
        follow: Callable[[bool], None],
        see_through: Callable[[bool], None],
    ) -> None:
        """Add it to a page; parameters as of :func:`add_view`."""
        self._status = StatusText(gui, walking=False)
        add_view(gui, follow, see_through)

    @property
    def walking(self) -> bool:
        """Whether it shows a walk."""
        return self._status.walking

    def show_walk(self) -> None:
        """Show a walk from now on."""
        self._status.walking = True

    def show(self, status: Status) -> None:
        """Show how things are."""
        self._status.show(status)


def status_html(status: Status, walking: bool = True) -> str:
    """A status as a small table, for a page."""
    pace = "paused" if status.paused else f"{status.real_time_factor:.2f} ×"
    rows = [[("time", f"{status.time:.2f} s"), ("pace", pace)]]
    if walking:
        rows += [
            [("phase", status.phase or "–"), ("steps", str(status.steps))],
            [
                ("speed", f"{status.speed:.3f} m/s"),
                ("distance", f"{status.distance:.2f} m"),
            ],
        ]
    colour = "#c92a2a" if status.failed else "inherit"
    return render("status", rows=rows, message=status.message, colour=colour)
