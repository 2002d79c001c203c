# SPDX-License-Identifier: Apache-2.0
"""The page beside a real robot: it shows; it commands only when armed; it stops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import viser
from raw_client import CAMERA, connected, packed
from tab import wait
from websockets.sync.client import ClientConnection

import humans_sim as hs
from humans_sim.control.walking import Velocity
from humans_sim.view.browser.heartbeat import Hold
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.panel import Limits, Status
from humans_sim.view.browser.robot_panel import (
    AGAIN,
    ARM,
    DISARM,
    ENERGIZE,
    STOP,
    Arming,
    RobotActions,
    RobotPanel,
    SeenRobot,
)
from humans_sim.view.browser.scene import free_port
from humans_sim.view.browser.walk_page import WalkPage

from .test_panel import control

FORWARD = "Forward [m/s]"


class Robot:
    """A page with the controls of a robot that notes its commands."""

    def __init__(self, silence: float = math.inf) -> None:
        """Nobody leads it.

        Args:
            silence: how long a browser may say nothing while it leads [s].
        """
        self.now, self.received = 0.0, []
        self.page = PageServer("127.0.0.1", free_port("127.0.0.1", 0))
        actions = RobotActions(
            walk=self.received.append,
            stop=lambda: self.received.append("!"),
            energize=lambda: self.received.append("on"),
        )
        limits = Limits(forward=0.1, backward=0.1)
        arming, confirming = (Arming(t, lambda: self.now) for t in (30.0, 10.0))
        hold = Hold(self.page.viser, silence)
        self.panel = RobotPanel(
            self.page.viser, actions, limits, arming, hold, confirming
        )

    def control(self, label: str) -> Any:
        """One of its controls."""
        return control(self.page.viser, label)

    def press(self, line: ClientConnection, label: str, value: Any = True) -> None:
        """Have a browser use a control."""
        name = self.control(label)._impl.uuid
        line.send(packed("GuiUpdateMessage", uuid=name, updates={"value": value}))

    def browser(self) -> ClientConnection:
        """A browser that watches."""
        count = len(self.page.viser.get_clients())
        line = connected(self.page.url)
        line.send(packed(**CAMERA))
        wait(lambda: len(self.page.viser.get_clients()) > count, "the browser")
        return line

    def arm(self, line: ClientConnection) -> None:
        """Have a browser armed."""
        self.press(line, ARM)
        wait(lambda: not self.control(FORWARD).disabled, "the sliders")

    def take(self) -> list[Any]:
        """Commands since the last time."""
        wait(lambda: bool(self.received), "a command")
        taken, self.received[:] = list(self.received), []
        return taken


@pytest.fixture
def robot() -> Iterator[Robot]:
    """A robot that can walk."""
    made = Robot()
    made.panel.show_walk()
    yield made
    made.page.stop()


def test_one_browser_leads_once_it_is_armed(robot: Robot) -> None:
    """Before that, and for others, the sliders do nothing; anybody may stop it."""
    with robot.browser() as one, robot.browser() as other:
        robot.press(one, FORWARD, 0.05)
        wait(lambda: robot.page.incoming.refused == 1, "the refusal")
        robot.arm(one)
        robot.press(one, FORWARD, 0.05)
        assert robot.take() == [Velocity(0.05, 0.0, 0.0)] == [robot.panel.led]
        robot.press(other, FORWARD, 0.1)
        wait(lambda: robot.control(FORWARD).value == 0.1, "the other's slider")
        robot.press(other, STOP)
        assert robot.take()[0] == "!"
        wait(lambda: robot.control(FORWARD).disabled, "the end")
        wait(lambda: robot.control(FORWARD).value == 0.0, "the slider")
        assert robot.received in ([], [Velocity()]) and robot.panel.led is None


def test_the_stop_needs_nothing(robot: Robot) -> None:
    """No arming, no walk."""
    with robot.browser() as line:
        robot.press(line, STOP)
        assert robot.take() == ["!"]


def test_who_leaves_leads_no_more(robot: Robot) -> None:
    """The robot stands, and another must arm anew."""
    with robot.browser() as other:
        with robot.browser() as one:
            robot.arm(one)
            robot.press(one, FORWARD, 0.05)
            assert robot.take() == [Velocity(0.05, 0.0, 0.0)]
        assert robot.take() == [Velocity()]
        wait(lambda: robot.control(FORWARD).disabled, "the end")
        robot.arm(other)


def test_who_does_nothing_leads_no_more(robot: Robot) -> None:
    """After its time the robot stands; who leads it on has more time."""
    with robot.browser() as line:
        robot.arm(line)
        robot.now = 29.0
        robot.press(line, FORWARD, 0.05)
        robot.take()
        robot.now = 58.0
        robot.panel.show(Status())
        assert not robot.received and "armed for 1 s" in robot.panel._status._shown
        robot.now = 59.5
        robot.press(line, FORWARD, 0.02)
        wait(lambda: robot.control(FORWARD).value == 0.02, "the slider")
        assert not robot.received
        robot.panel.show(Status())
        assert robot.take() == [Velocity()]
        assert "not led for 30 s" in robot.panel._status._shown
        assert robot.control(ARM).label == ARM


def test_disarmed_by_hand(robot: Robot) -> None:
    """The same button, which says so."""
    with robot.browser() as line:
        robot.arm(line)
        wait(lambda: robot.control(DISARM) is not None, "the other label")
        robot.press(line, DISARM)
        assert robot.take() == [Velocity()]


STOPPED = SeenRobot("stopped", "the line was lost", "l_knee moves by 35 degrees")


def test_a_stopped_robot_is_energised_on_purpose(robot: Robot) -> None:
    """The page says what will move; one browser presses twice, within ten seconds."""
    with robot.browser() as one, robot.browser() as other:
        assert not robot.control(ENERGIZE).visible
        robot.press(one, ENERGIZE)
        wait(lambda: robot.page.incoming.refused == 1, "the refusal")
        robot.panel.show_robot(STOPPED)
        robot.panel.show(Status(message="walking"))
        for words in ("the line was lost", "l_knee moves by 35 degrees"):
            assert words in robot.panel._status._shown
        robot.press(one, ENERGIZE)
        wait(lambda: robot.panel._energize.label == AGAIN, "the question")
        first = robot.panel._confirming._client
        robot.press(other, AGAIN)
        wait(lambda: robot.panel._confirming._client != first, "the other browser")
        robot.now = 11.0
        robot.panel.show(Status())
        assert robot.panel._energize.label == ENERGIZE
        assert not robot.received
        robot.press(one, ENERGIZE)
        wait(lambda: robot.panel._energize.label == AGAIN, "the question")
        robot.press(one, AGAIN)
        assert robot.take() == ["on"]
        robot.panel.show_robot(SeenRobot("holding"))
        robot.panel.show(Status())
        assert not robot.control(ENERGIZE).visible
        assert "stopped" not in robot.panel._status._shown


def test_what_does_not_walk_is_not_armed() -> None:
    """There is a stop alone."""
    robot = Robot()
    try:
        with robot.browser() as line:
            robot.press(line, ARM)
            wait(lambda: robot.page.incoming.refused == 1, "the refusal")
            assert robot.panel._arming.left == 0.0
    finally:
        robot.page.stop()


def test_a_page_that_only_shows(khr1: hs.Model) -> None:
    """It shows how things are and has nothing to command with."""
    page = WalkPage(khr1, port=0)
    try:
        page.add_watch_panel()
        page.panel.show_walk()
        page.panel.show(Status(phase="walking"))
        assert "walking" in page.panel._shown
        controls = page.scene.server.gui._gui_input_handle_from_uuid.values()
        assert {c.label for c in controls} == {"Follow", "See through"}
        assert all(isinstance(c, viser.GuiCheckboxHandle) for c in controls)
    finally:
        page.stop()
