"""The controls of a page that shows a simulation, and of one that shows a walk.

The panel knows buttons, sliders and numbers, nothing of what answers them: it takes
plain functions and shows a plain status. The functions are called in threads of the
page; what they do must be safe there, and short.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import viser

from humans_sim.control.walking.footsteps import FootstepPlanner, Velocity
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.models import Model

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
_PUSH_SPEED = 0.023
"""Change of a KHR-1's speed by a push of middle strength [m/s]."""
_PUSH_HEIGHT = 0.328
"""Height of a KHR-1 [m]."""


@dataclass(frozen=True)
class Limits:
    """What can be asked for.

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

    @classmethod
    def of_model(
        cls, model: Model, height: float, settings: WalkSettings | None = None
    ) -> Limits:
        """What a biped can follow; without settings it does not walk.

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


@dataclass(frozen=True)
class Actions:
    """What the controls call.

    Attributes:
        pause: stop the time (true), or let it go on.
        reset: begin anew.
        push: push with an impulse, x and y in the axes of the body (2,) [N s].
        speed: simulated over wall time; :data:`UNLIMITED`: as fast as it can.
        walk: walk with a velocity; all zero stops.
        follow: whether the camera follows the body.
        see_through: whether the body is transparent.
    """

    pause: Callable[[bool], None]
    reset: Callable[[], None]
    push: Callable[[np.ndarray], None]
    speed: Callable[[float], None]
    walk: Callable[[Velocity], None]
    follow: Callable[[bool], None] = lambda wanted: None
    see_through: Callable[[bool], None] = lambda wanted: None


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


class Panel:
    """Buttons, sliders and numbers of a page.

    Attributes:
        walking: whether the controls of a walk are seen.
    """

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
        self.walking = walking
        self._paused, self._shown = False, ""
        self._setting = False
        self._status = self._gui.add_html("")
        self._play = self._gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self._play.on_click(lambda _: actions.pause(not self._paused))
        reset = self._gui.add_button("Reset", icon=viser.Icon.REFRESH)
        reset.on_click(lambda _: actions.reset())
        self._add_walk(limits)
        self._add_push(limits)
        self._add_speed()
        self._add_view()
        self.show(Status())

    def _add_walk(self, limits: Limits) -> None:
        gui = self._gui
        self._walk = gui.add_folder("Walk", visible=self.walking)
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        wanted = (
            ("vx", "Forward [m/s]", -limits.backward, limits.forward),
            ("vy", "Left [m/s]", -limits.sideways, limits.sideways),
            ("wz", "Turn [rad/s]", -limits.turn, limits.turn),
        )
        with self._walk:
            for name, label, low, high in wanted:
                if high > low:
                    step = _step(high - low)
                    low, high = (step * round(x / step) for x in (low, high))
                    slider = gui.add_slider(label, low, high, step, 0.0)
                    slider.on_update(self._on_velocity)
                    self._sliders[name] = slider
            stop = gui.add_button("Stop", icon=viser.Icon.HAND_STOP)

        @stop.on_click
        def _(_: object) -> None:
            self.set_velocity(Velocity())
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

        @push.on_click
        def _(_: object) -> None:
            direction = DIRECTIONS[self._direction.value]
            self._actions.push(self._impulse.value * np.array(direction))

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

    def _add_view(self) -> None:
        gui = self._gui
        with gui.add_folder("View"):
            follow = gui.add_checkbox("Follow", True)
            through = gui.add_checkbox("See through", False)
        follow.on_update(lambda _: self._actions.follow(bool(follow.value)))
        through.on_update(lambda _: self._actions.see_through(bool(through.value)))

    def _on_velocity(self, _: object) -> None:
        if not self._setting:
            self._actions.walk(
                Velocity(**{k: float(s.value) for k, s in self._sliders.items()})
            )

    def set_velocity(self, velocity: Velocity) -> None:
        """Put the sliders where a velocity has them, as near as they go."""
        self._setting = True
        try:
            for name, slider in self._sliders.items():
                value = getattr(velocity, name)
                slider.value = float(np.clip(value, slider.min, slider.max))
        finally:
            self._setting = False

    def show_walk(self) -> None:
        """Show the controls of a walk from now on."""
        self.walking = self._walk.visible = True

    def show(self, status: Status) -> None:
        """Show how things are."""
        self._paused = status.paused
        label = "Play" if status.paused else "Pause"
        if self._play.label != label:
            self._play.label = label
            icons = {"Play": viser.Icon.PLAYER_PLAY, "Pause": viser.Icon.PLAYER_PAUSE}
            self._play.icon = icons[label]
        text = status_html(status, self.walking)
        if text != self._shown:
            self._shown = self._status.content = text


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
    cells = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    note = ""
    if status.message:
        colour = "#c92a2a" if status.failed else "inherit"
        note = (
            f"<div style='color:{colour};overflow-wrap:anywhere;padding-top:.3em'>"
            f"{html.escape(status.message)}</div>"
        )
    return (
        "<div style='padding:.2em .9em .5em;font-size:.85em;line-height:1.45;"
        f"font-variant-numeric:tabular-nums'><table>{cells}</table>{note}</div>"
    )


def _cell(pair: tuple[str, str]) -> str:
    name, value = map(html.escape, pair)
    return (
        f"<td style='opacity:.65;padding-right:.6em'>{name}</td>"
        f"<td style='width:7.2em'>{value}</td>"
    )


def _step(span: float) -> float:
    """A round step that divides a span into a hundred or so."""
    return float(10.0 ** math.floor(math.log10(span / 50.0)))
