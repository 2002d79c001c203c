# SPDX-License-Identifier: Apache-2.0
"""A page with a simulated biped: its scene, its walk, and controls."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.models import Model
from humans_sim.view.browser.panel import Actions, Limits, Panel, Status, WatchPanel
from humans_sim.view.browser.robot_panel import RobotActions, RobotPanel
from humans_sim.view.browser.scene import DEFAULT_PORT, Follower, Scene
from humans_sim.view.browser.touches import Touches
from humans_sim.view.browser.walk_layer import PlannedStep, WalkLayer

_STRIDES, _WALL = 2.0, 1.0
"""Times over which speeds are taken, its own (a body sways) and of the wall [s]."""


class Progress:
    """Keeps the path of a base and the pace of its time.

    Attributes:
        distance: from where it began, over the ground [m].
        speed: over the last two seconds of its own time [m/s].
        real_time_factor: its time over the wall's, over the last second of the wall.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._start: np.ndarray | None = None
        self._places: deque[tuple[float, np.ndarray]] = deque()
        self._beats: deque[tuple[float, float]] = deque()
        self.distance = self.speed = self.real_time_factor = 0.0

    def update(self, t: float, place: np.ndarray, wall: float) -> bool:
        """Note x and y [m] at its and the wall's time [s]; whether time went back."""
        restarted = bool(self._places) and t < self._places[-1][0]
        if restarted:
            self.clear()
        here = np.array(place[:2], float)
        if self._start is None:
            self._start = here
        self.distance = float(np.linalg.norm(here - self._start))
        if not self._places or t > self._places[-1][0]:
            self._places.append((t, here))
            _forget(self._places, t - _STRIDES)
        first, there = self._places[0]
        span = t - first
        self.speed = float(np.linalg.norm(here - there)) / span if span > 0 else 0.0
        self._beats.append((wall, t))
        _forget(self._beats, wall - _WALL)
        span = wall - self._beats[0][0]
        passed = t - self._beats[0][1]
        self.real_time_factor = passed / span if span > 0 else 0.0
        return restarted

    def hold(self) -> None:
        """Time stands still: what comes later is not measured against now."""
        self._beats.clear()
        self.real_time_factor = 0.0


def _forget(
    kept: deque[tuple[float, np.ndarray]] | deque[tuple[float, float]], t: float
) -> None:
    """Leave out what is older than t, but one: the window begins with it."""
    while len(kept) > 1 and kept[1][0] <= t + 1e-9 * max(1.0, math.fabs(t)):
        kept.popleft()


_PUSH_SHOWN = 0.6
"""How long the arrow of a push is seen [s]."""
_SIGHT = (0.8, 0.95, 0.5)
"""From where one sees what lies before the feet, and what behind."""
_CALM = 0.1
"""Least time between two statuses: faster numbers cannot be read [s]."""


@dataclass(frozen=True, kw_only=True)
class Seen(Status):
    """A simulated biped at one time; places are in the world.

    Its speeds and its distance are worked out by the page.

    Attributes:
        touches: contacts; None where they are not known.
        planned: steps to come.
    """

    q: np.ndarray
    touches: Touches | None = None
    planned: tuple[PlannedStep, ...] = ()


class WalkPage:
    """Serves a page and keeps it up to date. One thread shows, any thread may ask.

    Attributes:
        scene: the scene, for additions.
        panel: the controls; None until there is something to control or to show.
    """

    def __init__(
        self,
        model: Model,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        ground: Ground | None = None,
    ) -> None:
        self._model = model
        self.scene = Scene(model, host, port, ground)
        self._layer = WalkLayer(self.scene, model)
        self._follower = Follower(self.scene.size)
        self._progress = Progress()
        self.panel: Panel | RobotPanel | WatchPanel | None = None
        self._push: tuple[np.ndarray, float] | None = None
        self._status_time = 0.0
        self._shown: tuple[float, bytes] | None = None
        middle = np.array([0.0, 0.0, 0.45 * self.scene.size])
        self.scene.look_at(middle, 1.1, _SIGHT)

    @property
    def url(self) -> str:
        """Address of the page, with its token."""
        return self.scene.url

    def add_panel(
        self,
        actions: Actions,
        settings: WalkSettings | None = None,
        walking: bool = True,
    ) -> Panel:
        """Add the controls of a simulation.

        Args:
            actions: what they call, in threads of the page.
            settings: how the biped walks, for the ranges of the sliders.
            walking: whether the controls of a walk are seen from the beginning.
        """

        def push(impulse: np.ndarray) -> None:
            actions.push(impulse)
            self._push = (impulse, time.monotonic())

        limits = Limits.of_model(self._model, self.scene.size, settings)
        mine = replace(
            actions, push=push, follow=self._follow, see_through=self.scene.see_through
        )
        self.panel = panel = Panel(self.scene.server, mine, limits, walking)
        return panel

    def add_robot_panel(
        self, actions: RobotActions, settings: WalkSettings | None = None
    ) -> RobotPanel:
        """Add the controls of a real robot; those of a walk must be armed."""
        limits = Limits.of_model(self._model, self.scene.size, settings)
        mine = replace(actions, follow=self._follow, see_through=self.scene.see_through)
        self.panel = panel = RobotPanel(self.scene.server, mine, limits)
        return panel

    def add_watch_panel(self) -> None:
        """Add what shows how things are, and nothing that commands."""
        gui = self.scene.server.gui
        self.panel = WatchPanel(gui, self._follow, self.scene.see_through)

    def _follow(self, follow: bool) -> None:
        self._follower.on = follow

    def show(self, seen: Seen) -> None:
        """Show how things are; 30 times a second is enough."""
        wall, q = time.monotonic(), seen.q
        if self._progress.update(seen.time, q, wall):
            self._layer.clear()
        if seen.paused:
            self._progress.hold()
        state = (seen.time, q.tobytes())
        with self.scene.server.atomic():
            # The simulation may want the time that a picture takes.
            if state != self._shown:
                self._shown = state
                self.scene.show(q)
                if seen.touches is not None:
                    self._layer.show(q, seen.touches, seen.planned)
            self.scene.centre(self._follower.update(q, wall))
            if self._push is not None:
                impulse, since = self._push
                strength, direction = float(np.linalg.norm(impulse)), None
                if strength > 0.0 and wall - since <= _PUSH_SHOWN:
                    base = pin.Quaternion(q[3:7]).matrix()
                    direction = base @ np.append(impulse / strength, 0.0)
                else:
                    self._push = None
                self._layer.show_push(q[:3], direction)
        if self.panel is not None and wall - self._status_time >= _CALM:
            self._status_time = wall
            speed, distance = self._progress.speed, self._progress.distance
            pace = self._progress.real_time_factor
            status = replace(seen, speed=speed, distance=distance)
            self.panel.show(replace(status, real_time_factor=pace))

    def stop(self) -> None:
        """Close the page."""
        self.scene.stop()
