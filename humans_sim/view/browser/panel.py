# SPDX-License-Identifier: Apache-2.0
"""The controls of a page that shows a simulation, and of one that shows a walk.

The panel knows buttons, sliders and numbers, nothing of what answers them: it takes
plain functions and shows a plain status. The functions are called in threads of the
page; what they do must be safe there, and short. A walk that a browser asked for ends
when that browser is no longer heard.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import viser

from humans_sim.control.walking.footsteps import FootstepPlanner, Velocity
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.models import Model
from humans_sim.view.browser.heartbeat import RELEASED, Hold
from humans_sim.view.html_templates import render

_PUSH_SPEED = 0.023
"""Change of a KHR-1's speed by a push of middle strength [m/s]."""
_PUSH_HEIGHT = 0.328
"""Height of a KHR-1 [m]."""
_OVER = 50.0
"""Pushes of middle strength that throw a biped over at once."""


@dataclass(frozen=True)
class Limits:
    """Limits of the controls.

    Attributes:
        forward: largest speed forwards [m/s].
        backward: largest speed backwards [m/s].
        sideways: largest speed to a side [m/s].
        turn: largest rate of turning [rad/s].
        push: impulse of a push of middle strength [N s].
    """

    forward: float = 0.0
    backward: float = 0.0
    sideways: float = 0.0
    turn: float = 0.0
    push: float = 0.03

    @property
    def push_over(self) -> float:
        """Impulse that throws it over [N s]."""
        return _OVER * self.push

    @classmethod
    def of_model(
        cls, model: Model, height: float, settings: WalkSettings | None = None
    ) -> Limits:
        """Limits of a biped; without settings it does not walk.

        A push of middle strength is 0.03 N s for the KHR-1; others get one that their
        mass and height make as strong.
        """
        strength = math.sqrt(height / _PUSH_HEIGHT) * _PUSH_SPEED * model.mass
        push = float(f"{strength:.1g}")
        if settings is None:
            return cls(push=push)
        limited, much = FootstepPlanner(settings).limited, 1e6
        return cls(
            forward=limited(Velocity(vx=much)).vx,
            backward=-limited(Velocity(vx=-much)).vx,
            sideways=limited(Velocity(vy=much)).vy,
            turn=limited(Velocity(wz=much)).wz,
            push=push,
        )


class VelocitySliders:
    """A folder with a slider for each velocity that can be asked for, and a stop.

    Args:
        limits: what can be asked for.
        walk: called with a velocity and the number of the browser that asks.
        visible: whether the folder is seen from the beginning.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        limits: Limits,
        walk: Callable[[Velocity, int | None], None],
        visible: bool = True,
    ) -> None:
        self._walk, self._setting = walk, False
        self._folder = gui.add_folder("Walk", visible=visible)
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        bounds = (
            ("vx", "Forward [m/s]", -limits.backward, limits.forward),
            ("vy", "Left [m/s]", -limits.sideways, limits.sideways),
            ("wz", "Turn [rad/s]", -limits.turn, limits.turn),
        )
        with self._folder:
            for name, label, low, high in bounds:
                if high > low:
                    step = _step(high - low)
                    low, high = (step * round(x / step) for x in (low, high))
                    slider = gui.add_slider(label, low, high, step, 0.0)
                    slider.on_update(self._on_velocity)
                    self._sliders[name] = slider
            self._stop = gui.add_button("Stop", icon=viser.Icon.HAND_STOP)

        @self._stop.on_click
        def _(event: Any) -> None:
            self.set(Velocity())
            self._walk(Velocity(), event.client_id)

    def _on_velocity(self, event: Any) -> None:
        if not self._setting:
            values = {k: float(s.value) for k, s in self._sliders.items()}
            self._walk(Velocity(**values), event.client_id)

    def set(self, velocity: Velocity) -> None:
        """Put the sliders where a velocity has them, as near as they go."""
        self._setting = True
        try:
            for name, slider in self._sliders.items():
                value = getattr(velocity, name)
                slider.value = float(np.clip(value, slider.min, slider.max))
        finally:
            self._setting = False

    @property
    def visible(self) -> bool:
        """Whether the folder is seen."""
        return bool(self._folder.visible)

    def show(self) -> None:
        """Show the folder from now on."""
        self._folder.visible = True

    def enable(self, enabled: bool) -> None:
        """Whether the sliders can be used; others than enabled ones are not heard."""
        for control in (*self._sliders.values(), self._stop):
            control.disabled = not enabled


def _step(span: float) -> float:
    """A round step that divides a span into a hundred or so."""
    return float(10.0 ** math.floor(math.log10(span / 50.0)))


@dataclass(frozen=True)
class Status:
    """The status that is shown.

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

    Args:
        walking: whether it shows a walk.
    """

    def __init__(self, gui: viser.GuiApi, walking: bool = True) -> None:
        self.walking = walking
        self._text, self._shown = gui.add_html(""), ""
        self.show(Status())

    def show_walk(self) -> None:
        """Show a walk from now on."""
        self.walking = True

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
    """Add what changes the sight alone: following, and transparent bodies."""
    with gui.add_folder("View"):
        following = gui.add_checkbox("Follow", True)
        through = gui.add_checkbox("See through", False)
    following.on_update(lambda _: follow(bool(following.value)))
    through.on_update(lambda _: see_through(bool(through.value)))


def show_playing(button: viser.GuiButtonHandle, playing: bool) -> None:
    """Let a button say what it does: pause what plays, or play."""
    label = "Pause" if playing else "Play"
    if button.label != label:
        icons = {"Play": viser.Icon.PLAYER_PLAY, "Pause": viser.Icon.PLAYER_PAUSE}
        button.label, button.icon = label, icons[label]


class WatchPanel(StatusText):
    """A panel that shows how things are and has nothing to command with."""

    def __init__(
        self,
        gui: viser.GuiApi,
        follow: Callable[[bool], None],
        see_through: Callable[[bool], None],
    ) -> None:
        super().__init__(gui, walking=False)
        add_view(gui, follow, see_through)


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
    """Functions that the controls call.

    Attributes:
        pause: stop the time (true), or resume it.
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
    """Buttons, sliders and numbers of a page that shows a simulation.

    Args:
        limits: what can be asked for.
        walking: whether the controls of a walk are seen from the beginning.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        actions: Actions,
        limits: Limits,
        walking: bool = True,
    ) -> None:
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
            most, step = 4.0 * limits.push, limits.push / 6.0
            self._impulse = gui.add_slider(
                "Impulse [N s]", 0.0, most, step, limits.push
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
        self._status.show_walk()
        self._walk.show()

    def show(self, status: Status) -> None:
        """Show how things are."""
        self.release_silent()
        self._paused = status.paused
        show_playing(self._play, not status.paused)
        self._status.show(replace(status, message=status.message or self._note))
