# SPDX-License-Identifier: Apache-2.0
"""The controls of a page, pressed without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import viser

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.view.browser.panel import (
    DIRECTIONS,
    UNLIMITED,
    Actions,
    Limits,
    Panel,
    Status,
    status_html,
)
from humans_sim.view.browser.scene import free_port
from humans_sim.view.browser.scene_layers import body_height


class Calls:
    """Notes what the controls call."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.made: list[tuple[str, Any]] = []

    def actions(self) -> Actions:
        """Functions that note their arguments."""

        def note(name: str) -> Any:
            return lambda *values: self.made.append((name, *values))

        names = ("pause", "reset", "push", "speed", "walk", "follow", "see_through")
        names = (*names, "get_up")
        return Actions(**{name: note(name) for name in names})

    def take(self) -> list[tuple[str, Any]]:
        """What was called since the last time."""
        taken, self.made = self.made, []
        return taken


def control(server: viser.ViserServer, label: str) -> Any:
    """A control of a page by its label."""
    handles = server.gui._gui_input_handle_from_uuid.values()
    return next(h for h in handles if getattr(h, "label", None) == label)


@pytest.fixture(scope="module")
def server() -> Iterator[viser.ViserServer]:
    """An empty page."""
    made = viser.ViserServer("127.0.0.1", free_port("127.0.0.1", 0), verbose=False)
    yield made
    made.stop()


@pytest.fixture
def calls() -> Calls:
    """What the panel below calls."""
    return Calls()


@pytest.fixture
def panel(server: viser.ViserServer, calls: Calls) -> Iterator[Panel]:
    """A panel of a robot that walks."""
    limits = Limits(forward=0.09, backward=0.07, sideways=0.03, turn=0.4)
    yield Panel(server, calls.actions(), limits)
    server.gui.reset()


def test_buttons(panel: Panel, calls: Calls, server: viser.ViserServer) -> None:
    """Pause becomes Play once the time stands, not before."""
    control(server, "Pause").value = True
    assert calls.take() == [("pause", True)]
    panel.show(Status(paused=True))
    control(server, "Play").value = True
    control(server, "Reset").value = True
    assert calls.take() == [("pause", False), ("reset",)]


@pytest.mark.parametrize("towards", DIRECTIONS)
def test_push(
    panel: Panel, calls: Calls, server: viser.ViserServer, towards: str
) -> None:
    """Into the direction that was chosen, with the impulse that was chosen."""
    control(server, "Towards").value = towards
    control(server, "Impulse [N s]").value = 0.05
    control(server, "Push").value = True
    ((name, impulse),) = calls.take()
    assert name == "push"
    assert impulse == pytest.approx(0.05 * np.array(DIRECTIONS[towards]))


def test_push_over_and_get_up(
    panel: Panel, calls: Calls, server: viser.ViserServer
) -> None:
    """One push that no walk takes, and one button for what follows."""
    control(server, "Towards").value = "back"
    control(server, "Push over").value = True
    control(server, "Get up").value = True
    (name, impulse), rises = calls.take()
    assert name == "push" and rises == ("get_up",)
    assert impulse == pytest.approx([-Limits().push_over, 0.0])
    assert Limits().push_over > 1.0


def test_speed(panel: Panel, calls: Calls, server: viser.ViserServer) -> None:
    """A factor, or none at all."""
    control(server, "Real time ×").value = 2.5
    control(server, "Full speed").value = True
    assert control(server, "Real time ×").disabled
    control(server, "Full speed").value = False
    assert calls.take() == [("speed", 2.5), ("speed", UNLIMITED), ("speed", 2.5)]


def test_walk(panel: Panel, calls: Calls, server: viser.ViserServer) -> None:
    """Each slider sends the whole velocity; what the program sets sends nothing."""
    panel.set_velocity(Velocity(0.06, 0.0, 9.0))
    assert control(server, "Turn [rad/s]").value == pytest.approx(0.4)
    assert calls.take() == []
    control(server, "Left [m/s]").value = -0.02
    ((name, velocity),) = calls.take()
    assert name == "walk" and velocity == pytest.approx((0.06, -0.02, 0.4))
    control(server, "Stop").value = True
    assert calls.take() == [("walk", Velocity())]
    assert control(server, "Forward [m/s]").value == 0.0


def test_view(panel: Panel, calls: Calls, server: viser.ViserServer) -> None:
    """Camera and body."""
    control(server, "Follow").value = False
    control(server, "See through").value = True
    assert calls.take() == [("follow", False), ("see_through", True)]


def test_what_cannot_walk_has_no_sliders(server: viser.ViserServer) -> None:
    """Nothing to walk with: Pause, Reset, Push and speed alone."""
    panel = Panel(server, Calls().actions(), Limits(), walking=False)
    assert not panel.walking
    with pytest.raises(StopIteration):
        control(server, "Forward [m/s]")
    assert not panel._walk.visible
    panel.show_walk()
    assert panel._walk.visible
    server.gui.reset()


def test_limits(khr1: hs.Model, human: hs.Model) -> None:
    """Those of the walk's settings; a push in proportion to the body."""
    settings = WalkSettings.of_model(khr1)
    limits = Limits.of_model(khr1, body_height(khr1), settings)
    step = settings.step_duration
    assert limits.forward == pytest.approx(settings.max_forward / step)
    assert limits.backward == pytest.approx(settings.max_backward / step)
    aside = settings.sideways_share * settings.max_sideways  # of the body, not the foot
    assert limits.sideways == pytest.approx(0.5 * aside / step)
    assert limits.push == pytest.approx(0.03)
    large = Limits.of_model(human, body_height(human))
    assert (large.forward, large.turn) == (0.0, 0.0)
    # as fast a push, for its height, of a body that is so much heavier
    ratio = human.mass / khr1.mass * np.sqrt(body_height(human) / body_height(khr1))
    assert large.push == pytest.approx(0.03 * ratio, rel=0.3)


def test_status() -> None:
    """Numbers with units; what topics say is text, not HTML."""
    status = Status(
        time=12.345,
        real_time_factor=0.5,
        phase="walking",
        steps=7,
        speed=0.0612,
        distance=0.5,
        message="<b>& fallen",
        failed=True,
    )
    text = status_html(status)
    for words in ("12.35 s", "0.50 ×", "walking", ">7<", "0.061 m/s", "0.50 m"):
        assert words in text
    assert "&lt;b&gt;&amp; fallen" in text and "<b>" not in text
    assert "paused" in status_html(Status(paused=True))
    assert "walking" not in status_html(status, walking=False)
