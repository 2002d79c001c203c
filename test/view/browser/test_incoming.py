# SPDX-License-Identifier: Apache-2.0
"""What a browser may say: values that its controls can have, and nothing else."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from raw_client import CAMERA, connected, packed
from tab import wait
from viser import _messages

from humans_sim.view.browser.gate import Incoming
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import free_port


@dataclasses.dataclass
class Controls:
    """A page with one control of each kind."""

    page: PageServer
    slider: Any
    number: Any
    count: Any
    check: Any
    choice: Any
    button: Any
    text: Any
    disabled: Any
    hidden: Any
    folded: Any


@pytest.fixture(scope="module")
def controls() -> Iterator[Controls]:
    """Of all kinds, seen and not."""
    page = PageServer("127.0.0.1", free_port("127.0.0.1", 0))
    gui = page.viser.gui
    made = Controls(
        page,
        slider=gui.add_slider("slider", -0.5, 2.0, 0.1, 0.0),
        number=gui.add_number("number", 1.0, min=0.0),
        count=gui.add_slider("count", 0, 9, 1, 3),
        check=gui.add_checkbox("check", False),
        choice=gui.add_dropdown("choice", ("left", "right")),
        button=gui.add_button("button"),
        text=gui.add_text("text", "words"),
        disabled=gui.add_slider("disabled", 0.0, 1.0, 0.1, 0.0, disabled=True),
        hidden=gui.add_checkbox("hidden", False, visible=False),
        folded=None,
    )
    with gui.add_folder("folder", visible=False), gui.add_folder("inner"):
        made.folded = gui.add_checkbox("folded", False)
    yield made
    page.stop()


def update(control: Any, **updates: Any) -> bytes:
    """A message that sets attributes of a control."""
    return packed("GuiUpdateMessage", uuid=control._impl.uuid, updates=updates)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slider", 1.5),
        ("slider", -0.5),
        ("slider", 2),
        ("number", 1e6),
        ("count", 9),
        ("check", True),
        ("choice", "right"),
        ("button", True),
    ],
)
def test_what_a_control_can_have(controls: Controls, name: str, value: Any) -> None:
    """Is heard."""
    assert controls.page.incoming.accepts(update(getattr(controls, name), value=value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slider", 1e9),
        ("slider", 2.01),
        ("slider", -1e-3 - 0.5),
        ("slider", math.nan),
        ("slider", math.inf),
        ("slider", "1.0"),
        ("slider", True),
        ("slider", None),
        ("slider", [1.0]),
        ("number", -1.0),
        ("number", math.inf),
        ("count", 2.5),
        ("check", 1),
        ("check", "true"),
        ("choice", "up"),
        ("choice", 0),
        ("choice", ["left"]),
        ("button", "click"),
        ("text", "other words"),
        ("disabled", 0.5),
        ("hidden", True),
        ("folded", True),
    ],
)
def test_what_it_cannot_have(controls: Controls, name: str, value: Any) -> None:
    """Is not."""
    message = update(getattr(controls, name), value=value)
    assert not controls.page.incoming.accepts(message)


@pytest.mark.parametrize(
    "raw", [b"\xa2\xff\xfe", b"\x81\xa1\xff\x01", b"\xc1", b"\x91" * 100_000, b""]
)
def test_bytes_that_are_no_message(controls: Controls, raw: bytes) -> None:
    """Texts that are no UTF-8 among them."""
    assert not controls.page.incoming.accepts(raw)


@pytest.mark.parametrize(
    "updates",
    [
        {"visible": False},
        {"value": 1.0, "order": 1.0},
        {"max": 1e9},
        {"update_cb": []},
        {"removed": True},
        {},
    ],
)
def test_only_values_are_set(controls: Controls, updates: dict[str, Any]) -> None:
    """No bounds, no place on the page, nothing inside viser."""
    assert not controls.page.incoming.accepts(update(controls.slider, **updates))


@pytest.mark.parametrize(
    "raw",
    [
        "text",
        b"",
        b"\xff\xff",
        b"\x91" * 5000,
        packed("NoSuchMessage"),
        packed("ShareUrlRequest"),
        packed("ShareUrlDisconnect"),
        packed("GuiUpdateMessage", uuid="none", updates={"value": 1.0}),
        packed("GuiUpdateMessage", uuid=["none"], updates={"value": 1.0}),
        packed("GuiUpdateMessage", uuid="none", updates=[]),
        packed("GuiUpdateMessage"),
        packed("ViewerCameraMessage"),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode({1: 2}),
        msgspec.msgpack.encode({"type": ["GuiUpdateMessage"]}),
        packed("GuiRemoveMessage", uuid="none"),
        packed("RemoveSceneNodeMessage", name="/stage"),
        packed(**{**CAMERA, "fov": math.nan}),
        packed(**{**CAMERA, "position": [1.0]}),
        packed(**{**CAMERA, "wxyz": "quaternion"}),
        packed(**CAMERA, excluded_self_client=1),
    ],
    ids=lambda raw: str(raw)[:30],
)
def test_other_messages(controls: Controls, raw: str | bytes) -> None:
    """Files, public addresses, the scene, other cameras: not by a browser."""
    assert not controls.page.incoming.accepts(raw)


def test_no_kind_of_message_is_forgotten(controls: Controls) -> None:
    """Of all that viser knows, two kinds alone can be heard."""
    kinds = {kind.__name__ for kind in _messages.Message.get_subclasses()}
    assert {"ViewerCameraMessage", "GuiUpdateMessage"} < kinds and len(kinds) > 50
    assert controls.page.incoming.accepts(packed(**CAMERA))
    others = kinds - {"ViewerCameraMessage", "GuiUpdateMessage"}
    assert not any(map(controls.page.incoming.accepts, map(packed, others)))


def test_warnings_do_not_flood(caplog: pytest.LogCaptureFixture) -> None:
    """A thousand refusals in ten seconds are three lines."""
    now = 0.0
    incoming = Incoming(lambda: now)
    with caplog.at_level(logging.WARNING):
        for k in range(1000):
            now = 0.01 * k + 5.0
            assert not incoming.accepts(b"")
    assert incoming.refused == 1000
    assert 2 <= len(caplog.records) <= 3
    assert "ignored" in caplog.text and "499 before it" in caplog.text


def test_over_a_connection(controls: Controls) -> None:
    """What is refused changes nothing and ends nothing; the next one is heard."""
    heard: list[float] = []
    controls.number.on_update(lambda _: heard.append(controls.number.value))
    refused = controls.page.incoming.refused
    with connected(controls.page.url) as line:
        line.send(packed(**CAMERA))
        line.send(b"\xff")
        line.send(update(controls.number, value=-4.0))
        line.send(update(controls.number, visible=False))
        line.send(update(controls.number, value=7.5))
        wait(lambda: bool(heard), "the value")
    assert heard == [7.5]
    assert controls.number.visible
    assert controls.page.incoming.refused == refused + 3


def test_a_page_without_controls() -> None:
    """Hears no values at all."""
    raw = packed("GuiUpdateMessage", uuid="x", updates={"value": 1.0})
    assert not Incoming().accepts(raw)


def picture(**changes: Any) -> bytes:
    """A picture that a browser drew."""
    return packed(
        "GetRenderResponseMessage",
        **{"payload": b"\x89PNG", "render_uuid": "one", **changes},
    )


def test_pictures_are_heard_when_asked_for() -> None:
    """Only while the page waits for one, and of the right kind."""
    incoming = Incoming()
    assert not incoming.accepts(picture())
    with incoming.expecting_picture():
        assert incoming.accepts(picture())
        assert incoming.accepts(picture(payload=b"x" * 100_000))
        for bad in ({"payload": "text"}, {"render_uuid": 3}, {"more": 1}):
            assert not incoming.accepts(picture(**bad))
        assert not incoming.accepts(packed("RunJavascriptMessage", source="alert(1)"))
    assert not incoming.accepts(picture())
    assert incoming.refused == 6


def test_long_messages_are_not_looked_at() -> None:
    """Unless a picture is awaited, nothing needs so many bytes."""
    incoming = Incoming()
    assert not incoming.accepts(b"\x00" * 70_000)
    assert incoming.refused == 1


def test_acknowledgements_are_dropped_in_silence() -> None:
    """A browser that saves a file says so, which nobody needs to hear."""
    incoming = Incoming()
    assert not incoming.accepts(packed("FileTransferPartAck", transfer_uuid="x"))
    assert incoming.refused == 0
