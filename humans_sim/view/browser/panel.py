# SPDX-License-Identifier: Apache-2.0
"""The controls of a page that shows a simulation, and of one that shows a walk.

The panel knows buttons, sliders and numbers, nothing of what answers them: it takes
plain functions and shows a plain status. The functions are called in threads of the
page; what they do must be safe there, and short. A walk that a browser asked for ends
when that browser is no longer heard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import viser

from humans_sim.control.walking.footsteps import Velocity
from humans_sim.view.browser.heartbeat import RELEASED, Hold
from humans_sim.view.browser.limits import Limits
from humans_sim.view.browser.velocity_sliders import VelocitySliders
from humans_sim.view.browser.watch_panel import Status, StatusText, add_view

DIRECTIONS = {
    "left": (0.0, 1.0),
    "right": (0.0, -1.0),
    "front": (1.0, 0.0),
    "back": (-1.0, 0.0),
}
"""Where a push goes: x and y in the axes of the body."""
SLOWEST, FASTEST = 0.1, 4.0
"""Speeds that can be chosen, simulated over wall time."""
UNLIMITED = 0.0
"""Speed that stands for: as fast as it can."""


@dataclass(frozen=True)
class Actions:
    """What the controls call.

    Attributes:
        pause: stop the time (true), or resume it.
        reset: begin anew.
        push: push with an impulse, x and y in the axes of the body (2,) [N s].
        speed: simulated over wall time; :data:`UNLIMITED`: as fast as it can.
        walk: walk with a velocity; all zero stops.
        follow: whether the camera follows the body.
        see_through: whether the body is transparent.
        get_up: get up after a fall; None where it cannot.
    """

    pause: Callable[[bool], None]
    reset: Callable[[], None]
    push: Callable[[np.ndarray], None]
    speed: Callable[[float], None]
    walk: Callable[[Velocity], None]
    follow: Callable[[bool], None] = lambda on: None
    see_through: Callable[[bool], None] = lambda on: None
    get_up: Callable[[], None] | None = None


class Panel:
    """Buttons, sliders and numbers of a page that shows a simulation."""

    def __init__(
        self,
        server: viser.ViserServer,
        actions: Actions,
        limits: Limits,
        walking: bool = True,
    ) -> None:
        """Add the controls to a page.

        Args:
            server: of the page.
            actions: what the controls call.
            limits: what can be asked for.
            walking: whether the controls of a walk are seen from the beginning.
        """
        self._gui, self._actions = server.gui, actions
        self._paused, self._note = False, ""
        # A walk that is ended must not be asked for after its end.
        self._lock, self._hold = threading.Lock(), Hold(server)
        self._status = StatusText(self._gui, walking)
        self._play = self._gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self._play.on_click(lambda _: actions.pause(not self._paused))
        reset = self._gui.add_button("Reset", icon=viser.Icon.REFRESH)
        reset.on_click(lambda _: actions.reset())
        if actions.get_up is not None:
            rise = actions.get_up
            get_up = self._gui.add_button("Get up", icon=viser.Icon.ARROW_UP)
            get_up.on_click(lambda _: rise())
        self._walk = VelocitySliders(self._gui, limits, self._lead, walking)
        self._add_push(limits)
        self._add_speed()
        add_view(self._gui, actions.follow, actions.see_through)

    def _lead(self, velocity: Velocity, client: int | None) -> None:
        with self._lock:
            self._hold.take(client if any(velocity) else None)
            self._note = ""
            self._actions.walk(velocity)

    def release_silent(self) -> None:
        """End the walk whose browser is no longer heard."""
        with self._lock:
            if self._hold.lost():
                self._note = RELEASED
                self._walk.set(Velocity())
                self._actions.walk(Velocity())

    def _add_push(self, limits: Limits) -> None:
        gui = self._gui
        with gui.add_folder("Push"):
            self._direction = gui.add_dropdown("Towards", tuple(DIRECTIONS))
            self._impulse = gui.add_slider(
                "Impulse [N s]",
                0.0,
                4.0 * limits.push,
                limits.push / 6.0,
                limits.push,
            )
            push = gui.add_button("Push", icon=viser.Icon.WIND)
            over = gui.add_button("Push over", icon=viser.Icon.TORNADO)

        def pushed(impulse: float) -> None:
            direction = DIRECTIONS[self._direction.value]
            self._actions.push(impulse * np.array(direction))

        push.on_click(lambda _: pushed(float(self._impulse.value)))
        over.on_click(lambda _: pushed(limits.push_over))

    def _add_speed(self) -> None:
        gui = self._gui
        with gui.add_folder("Speed"):
            self._speed = gui.add_slider("Real time ×", SLOWEST, FASTEST, 0.1, 1.0)
            self._unlimited = gui.add_checkbox(
                "Full speed", False, hint="As fast as the machine can."
            )

        def changed(_: object) -> None:
            free = self._unlimited.value
            self._speed.disabled = free
            self._actions.speed(UNLIMITED if free else float(self._speed.value))

        self._speed.on_update(changed)
        self._unlimited.on_update(changed)

    @property
    def walking(self) -> bool:
        """Whether the controls of a walk are seen."""
        return self._status.walking

    def set_velocity(self, velocity: Velocity) -> None:
        """Put the sliders where a velocity has them, as near as they go."""
        self._walk.set(velocity)

    def show_walk(self) -> None:
        """Show the controls of a walk from now on."""
        self._status.walking = True
        self._walk.show()

    def show(self, status: Status) -> None:
        """Show how things are."""
        self.release_silent()
        self._paused = status.paused
        label = "Play" if status.paused else "Pause"
        if self._play.label != label:
            self._play.label = label
            icons = {"Play": viser.Icon.PLAYER_PLAY, "Pause": viser.Icon.PLAYER_PAUSE}
            self._play.icon = icons[label]
        self._status.show(replace(status, message=status.message or self._note))
