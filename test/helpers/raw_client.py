# SPDX-License-Identifier: Apache-2.0
"""A program that speaks to a page as a browser's script does, or worse."""

from __future__ import annotations

import http.client
import threading
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect

CAMERA = {
    "kind": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 1.0, 1.0],
    "fov": 1.0,
    "image_height": 480,
    "image_width": 640,
    "near": 0.01,
    "far": 100.0,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}
"""What a browser says first."""


def status(
    url: str, path: str = "/", limit: float = 20.0, **headers: str
) -> tuple[int, http.client.HTTPMessage]:
    """Status and headers of the answer to a request."""
    port = urlsplit(url).port
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=limit)
    try:
        line.request("GET", path, headers=headers)
        answer = line.getresponse()
        answer.read()
        return answer.status, answer.headers
    finally:
        line.close()


def token_of(url: str) -> str:
    """The token in the address of a page."""
    return parse_qs(urlsplit(url).query)["token"][0]


def cookie_of(url: str) -> str:
    """What a browser sends along once it opened a page."""
    return f"humans_sim_{urlsplit(url).port}={token_of(url)}"


def connected(url: str, cookie: str | None = None, **options: Any) -> ClientConnection:
    """A connection to a page, with its cookie unless another is given."""
    headers = {"Cookie": cookie_of(url) if cookie is None else cookie}
    headers |= options.pop("headers", {})
    return connect(
        f"ws://127.0.0.1:{urlsplit(url).port}",
        additional_headers=headers,
        subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None,
        compression=None,
        **{"open_timeout": 20, **options},
    )


def packed(kind: str, **content: Any) -> bytes:
    """A message of a browser as it goes over the line."""
    return msgspec.msgpack.encode({"type": kind, **content})


def messages_of(raw: bytes) -> list[dict[str, Any]]:
    """Messages in what a page sent: two lengths, packed messages, arrays."""
    packed_length = int.from_bytes(raw[8:16], "little")
    text = zstandard.decompress(raw[16 : 16 + packed_length])
    return list(msgspec.msgpack.decode(text)["messages"])


def load_and_press(url: str, button: viser.GuiButtonHandle, limit: float) -> float:
    """Load a page, connect to it and press a button, as a browser does.

    Args:
        url: of the page.
        button: on it.
        limit: how long each of the three may take [s].

    Returns:
        How long it took until the button was heard [s].
    """
    pressed, begun = threading.Event(), time.monotonic()
    button.on_click(lambda _: pressed.set())
    assert status(url, f"/?token={token_of(url)}", limit)[0] == 200
    with connected(url, open_timeout=limit) as line:
        line.send(packed(**CAMERA))
        line.recv(timeout=limit)
        name = button._impl.uuid
        line.send(packed("GuiUpdateMessage", uuid=name, updates={"value": True}))
        assert pressed.wait(limit), "the button was not heard"
        return time.monotonic() - begun
