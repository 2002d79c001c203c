# SPDX-License-Identifier: Apache-2.0
"""Hold to run: what a page moves stops when its browser is no longer heard."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_client import packed
from tab import Tab, wait
from websockets.sync.client import ClientConnection

from humans_sim.control.walking import Velocity
from humans_sim.view.browser.heartbeat import HEARTBEAT, PERIOD, RELEASED, SILENCE
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.panel import Limits, Panel, Status
from humans_sim.view.browser.robot_panel import ARM, STOP
from humans_sim.view.browser.scene import free_port

from .test_hostile_pages import _DRAG
from .test_panel import Calls, control
from .test_robot_panel import FORWARD, Robot

BRIEF, PATIENT = 0.3, 5.0
"""How long a browser may say nothing here; long enough for a busy machine [s]."""


@pytest.fixture
def robot() -> Iterator[Robot]:
    """A robot that can walk."""
    made = Robot(BRIEF)
    made.panel.show_walk()
    yield made
    made.page.stop()


def beat(line: ClientConnection) -> None:
    """Say that a page is there."""
    line.send(packed(HEARTBEAT))


def test_a_robot_stands_when_its_browser_is_silent(robot: Robot) -> None:
    """It is disarmed, the page says why, and another browser is of no help."""
    with robot.browser() as one, robot.browser() as other:
        robot.arm(one)
        robot.press(one, FORWARD, 0.05)
        assert robot.take() == [Velocity(0.05, 0.0, 0.0)]

        def released() -> bool:
            beat(other)
            robot.panel.show(Status())
            return robot.panel.led is None

        wait(released, "the release")
        assert robot.take() == [Velocity()]
        assert RELEASED in robot.panel._status._shown
        assert robot.control(FORWARD).disabled and robot.control(FORWARD).value == 0.0
        robot.press(one, STOP)
        assert robot.take() == ["!"]
        assert robot.page.incoming.refused == 0


@pytest.mark.study
def test_a_robot_walks_while_its_browser_is_heard() -> None:
    """Beats alone are enough, and viser hears nothing of them."""
    robot = Robot(PATIENT)
    robot.panel.show_walk()
    try:
        with robot.browser() as line:
            robot.arm(line)
            robot.press(line, FORWARD, 0.05)
            robot.take()
            end = time.monotonic() + 1.5 * PATIENT
            while time.monotonic() < end:
                beat(line)
                robot.panel.show(Status())
                time.sleep(PERIOD)
            assert robot.panel.led == Velocity(0.05, 0.0, 0.0)
            assert not robot.received and robot.page.incoming.refused == 0
    finally:
        robot.page.stop()


def test_a_simulated_walk_stands_when_its_browser_is_silent() -> None:
    """A walk that the program asked for goes on; one that a page asked for ends."""
    page, calls = PageServer("127.0.0.1", free_port("127.0.0.1", 0)), Calls()
    try:
        panel = Panel(page.viser, calls.actions(), Limits(forward=0.1))
        robot = Robot.__new__(Robot)
        robot.page = page
        panel.set_velocity(Velocity(vx=0.1))
        panel.show(Status())
        with robot.browser() as line:
            robot.press(line, FORWARD, 0.05)
            wait(lambda: bool(calls.made), "the walk")
            assert calls.take() == [("walk", Velocity(0.05, 0.0, 0.0))]

            def released() -> bool:
                panel.show(Status())
                return bool(calls.made)

            wait(released, "the release")
            assert calls.take() == [("walk", Velocity())]
            assert RELEASED in panel._status._shown
            assert control(page.viser, FORWARD).value == 0.0
            robot.press(line, FORWARD, 0.05)
            wait(lambda: bool(calls.made), "the walk")
            panel.show(Status())
            assert RELEASED not in panel._status._shown
    finally:
        page.stop()


class LedByTab:
    """A robot that a real browser leads, and whose page is kept up to date."""

    def __init__(self, folder: Path) -> None:
        """Have the browser lead it."""
        self.robot, self._ended = Robot(PATIENT), threading.Event()
        self.robot.panel.show_walk()
        self._thread = threading.Thread(target=self._show)
        self._thread.start()
        self.tab = Tab(self.robot.page.url, folder, (480, 640))
        try:
            self._lead()
        except BaseException:
            self.close()
            raise

    def _show(self) -> None:
        while not self._ended.wait(1 / 30):
            self.robot.panel.show(Status())

    def _lead(self) -> None:
        wait(lambda: bool(self.robot.page.viser.get_clients()), "the browser")
        wait(self._steady, "beats")
        self.tab.click(ARM)
        wait(lambda: not self.robot.control(FORWARD).disabled, "the sliders")
        press = f"({_DRAG})({json.dumps(FORWARD)}, 'ArrowRight')"
        panel = self.robot.panel
        # The page may draw the slider as enabled later than it is.
        wait(lambda: bool(self.tab.value(press)) and panel.led is not None, "the lead")

    def _steady(self) -> bool:
        """Whether the page beats: the first picture may take a browser seconds."""
        connections = self.robot.page.viser._websock_server._live_connections
        (connection,) = connections.values()
        heard = set()
        end = time.monotonic() + 20 * PERIOD
        while time.monotonic() < end:
            heard.add(connection.heard)
            time.sleep(PERIOD / 10)
        return len(heard) > 10

    def close(self) -> None:
        """End everything."""
        self._ended.set()
        self._thread.join()
        self.tab.close()
        self.robot.page.stop()


def freeze(tab: Tab) -> None:
    """As browsers do with tabs that nobody looks at."""
    tab.call("Page.setWebLifecycleState", state="frozen")


def hang(tab: Tab) -> None:
    """The page hangs; the worker that holds its connection does not."""
    tab.call("Debugger.enable")
    tab.call("Debugger.pause")


def stop_processes(tab: Tab) -> None:
    """As a lid that is closed, or a network that is lost."""
    os.killpg(tab._browser.pid, signal.SIGSTOP)


def kill(tab: Tab) -> None:
    """It has no time to say goodbye."""
    os.killpg(tab._browser.pid, signal.SIGKILL)


def leave(tab: Tab) -> None:
    """The tab is closed."""
    tab.call("Page.close")


@pytest.mark.study
@pytest.mark.browser
@pytest.mark.parametrize("fail", [freeze, hang, stop_processes, kill, leave])
def test_a_tab_that_fails(fail: Callable[[Tab], Any], tmp_path: Path) -> None:
    """The robot walks while the tab lives, moved or not, and stands soon after."""
    led = LedByTab(tmp_path / "profile")
    robot = led.robot
    try:
        time.sleep(1.5 * PATIENT)
        assert robot.panel.led is not None and Velocity() not in robot.take()
        fail(led.tab)
        assert robot.take() == [Velocity()]
        assert robot.panel.led is None
        assert robot.panel._note in (RELEASED, "disarmed: the browser that led it left")
    finally:
        led.close()


def test_the_beat_is_faster_than_the_silence() -> None:
    """Several beats may be lost, and the robot stands within a second."""
    assert 3 * PERIOD < SILENCE < 1.0 and PERIOD <= 0.5
