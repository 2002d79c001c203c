# SPDX-License-Identifier: Apache-2.0
"""The controls of a page beside a real robot: a stop for everybody, a walk for one.

A robot that is stopped or limp follows nothing until somebody energises it: the page
says why it is stopped and what would move, and its button must be pressed twice.

The stop is always there. The sliders of the walk are dead until somebody presses Arm,
and then act for that browser alone. When it leaves, is no longer heard while it leads,
or leads nowhere for some time, the sliders are dead again and the robot is commanded to
stand.

Only the browser that armed it leads a robot.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import viser

from humans_sim.control.walking.footsteps import Velocity
from humans_sim.view.browser.heartbeat import RELEASED, Hold
from humans_sim.view.browser.panel import (
    Limits,
    Status,
    StatusText,
    VelocitySliders,
    add_view,
)

PATIENCE = 30.0
"""How long a browser stays armed without leading [s]."""


class Arming:
    """At most one browser is armed. One thread asks at a time.

    Args:
        patience: how long a browser stays armed without leading [s].
        clock: the time [s].
    """

    def __init__(
        self,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience = patience
        self._clock = clock
        self._client: int | None = None
        self._end = -math.inf

    @property
    def left(self) -> float:
        """How long the browser stays armed if it does nothing [s]; 0: none is."""
        return 0.0 if self._client is None else max(0.0, self._end - self._clock())

    def arm(self, client: int) -> None:
        """Let a browser lead, and no other."""
        self._client, self._end = client, self._clock() + self.patience

    def use(self, client: int | None) -> bool:
        """Whether a browser may lead now; if so, it stays armed for longer."""
        if client is None or client != self._client or not self.left:
            return False
        self._end = self._clock() + self.patience
        return True

    def disarm(self, client: int | None = None) -> bool:
        """Let nobody lead any more.

        Args:
            client: the browser that left; another one's leaving changes nothing.
                None: whoever it is.

        Returns:
            Whether somebody was armed, though its time may have passed.
        """
        if self._client is None or client not in (None, self._client):
            return False
        self._client = None
        return True

    def expired(self) -> bool:
        """Whether somebody was armed whose time has passed; nobody is then."""
        return not self.left and self.disarm()


ARM, DISARM = "Arm", "Disarm"
STOP = "Stop the robot"
ENERGIZE, AGAIN = "Energize", "Energize: press again"
_CONFIRM = 10.0
"""Within so long the button must be pressed again [s]."""
_RESTS, _WRONG = ("stopped", "limp"), ("stopped", "lost")
"""States of a robot that can be energised, and that somebody must look at."""
_RED = (201, 42, 42)


@dataclass(frozen=True)
class RobotActions:
    """Functions that the controls call, in threads of the page.

    Attributes:
        walk: walk with a velocity; all zero stands.
        stop: stop at once, whatever it does.
        energize: hold the servos where they are, and follow commands again.
        follow: whether the camera follows the body.
        see_through: whether the body is transparent.
    """

    walk: Callable[[Velocity], None]
    stop: Callable[[], None]
    energize: Callable[[], None] = lambda: None
    follow: Callable[[bool], None] = lambda on: None
    see_through: Callable[[bool], None] = lambda on: None


@dataclass(frozen=True)
class SeenRobot:
    """How a real robot is.

    Attributes:
        reason: of it; empty where it was asked for.
        moves: what energising would move, in words; empty where that is not known.
    """

    state: str = ""
    reason: str = ""
    moves: str = ""

    @property
    def text(self) -> str:
        """The notice about it; empty while it follows."""
        if self.state not in (*_RESTS, *_WRONG):
            return ""
        text = f"the robot is {self.state}"
        text += f": {self.reason}" if self.reason else ""
        return f"{text}. Energized: {self.moves}" if self.moves else text


class RobotPanel:
    """A stop, and sliders that are armed first.

    Args:
        limits: what can be asked for.
        arming: who may lead; nobody at first.
        hold: who must be heard while it leads.
        confirming: who pressed the button that energises once.

    Attributes:
        led: what the armed browser asked for last; None: nobody leads.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        actions: RobotActions,
        limits: Limits,
        arming: Arming | None = None,
        hold: Hold | None = None,
        confirming: Arming | None = None,
    ) -> None:
        gui, self._actions = server.gui, actions
        self._arming = Arming() if arming is None else arming
        self._hold = Hold(server) if hold is None else hold
        self._confirming = Arming(_CONFIRM) if confirming is None else confirming
        self._robot = SeenRobot()
        # What led the robot before it was disarmed must not be asked for after it.
        self._lock = threading.RLock()
        self._status = StatusText(gui, walking=False)
        self._note = ""
        self.led: Velocity | None = None
        stop = gui.add_button(STOP, icon=viser.Icon.HAND_STOP, color=_RED)
        stop.on_click(lambda _: self._stop())
        self._energize = gui.add_button(ENERGIZE, icon=viser.Icon.BOLT, visible=False)
        self._energize.on_click(self._on_energize)
        self._arm = gui.add_button(ARM, icon=viser.Icon.LOCK_OPEN, visible=False)
        self._arm.on_click(self._on_arm)
        self._walk = VelocitySliders(gui, limits, self._lead, visible=False)
        self._walk.enable(False)
        add_view(gui, actions.follow, actions.see_through)
        server.on_client_disconnect(self._on_leaving)

    @property
    def walking(self) -> bool:
        """Whether the controls of a walk are seen."""
        return self._status.walking

    def show_walk(self) -> None:
        """Show the controls of a walk from now on."""
        self._status.walking = self._arm.visible = True
        self._walk.show()

    def release_silent(self) -> None:
        """Have the robot stand whose browser is no longer heard."""
        with self._lock:
            if self._hold.lost():
                self._arming.disarm()
                self._end(RELEASED)

    def show(self, status: Status) -> None:
        """Show how things are; whoever led nowhere for too long is disarmed."""
        self.release_silent()
        with self._lock:
            if self._arming.expired():
                self._end(f"disarmed: not led for {self._arming.patience:g} s")
            left = self._arming.left
            if self._confirming.expired():
                self._energize.label = ENERGIZE
        note = f"armed for {left:.0f} s" if left else self._note
        self._status.show(
            replace(
                status,
                message=self._robot.text or status.message or note,
                failed=status.failed or self._robot.state in _WRONG,
            )
        )

    def show_robot(self, robot: SeenRobot) -> None:
        """Show how the robot is, from the next :meth:`show` on."""
        with self._lock:
            self._robot = robot
            rests = robot.state in _RESTS
            if self._energize.visible != rests:
                self._energize.visible = rests
                self._confirming.disarm()
                self._energize.label = ENERGIZE

    def _stop(self) -> None:
        # First of all: nothing that may fail comes before it.
        self._actions.stop()
        with self._lock:
            if self._arming.disarm():
                self._end("disarmed: the robot was stopped")

    def _on_energize(self, event: Any) -> None:
        with self._lock:
            client = event.client_id
            if client is None or self._robot.state not in _RESTS:
                return
            if not self._confirming.use(client):
                self._confirming.arm(client)
                self._energize.label = AGAIN
                return
            self._confirming.disarm()
            self._energize.label = ENERGIZE
        self._actions.energize()

    def _on_arm(self, event: Any) -> None:
        with self._lock:
            if self._arming.disarm():
                self._end("disarmed")
            elif event.client_id is not None:
                self._arming.arm(event.client_id)
                self._arm.label = DISARM
                self._walk.enable(True)

    def _on_leaving(self, client: viser.ClientHandle) -> None:
        with self._lock:
            if self._arming.disarm(client.client_id):
                self._end("disarmed: the browser that led it left")

    def _lead(self, velocity: Velocity, client: int | None) -> None:
        with self._lock:
            if self._arming.use(client):
                self.led = velocity
                self._hold.take(client)
                self._actions.walk(velocity)

    def _end(self, reason: str) -> None:
        """Nobody leads: the robot stands, and the sliders are dead."""
        self.led = None
        self._hold.take(None)
        self._actions.walk(Velocity())
        self._note = reason
        self._arm.label = ARM
        self._walk.enable(False)
        self._walk.set(Velocity())
