# SPDX-License-Identifier: Apache-2.0
"""Access to a page: this machine's user, by the address that was printed.

A page on 127.0.0.1 is reached by every other page that the same browser has open: a
script elsewhere may connect to it, or have its own name lead to it (DNS rebinding).
So a request must name this server as its host, a script must come from the page itself,
and either must bring the token of the printed address. The token is taken from the
address once and kept as a cookie, for a browser sends no part of the address along when
the page's script opens its connection. Cookies know no ports: the name of this one has
the port in it, and since other pages of this machine send it along too, their origin
counts as well.

*Messages* of a browser: values of its controls, and its camera. viser lets a client set
any attribute of any control to anything, ask for a public address of the page, upload
files and move parts of the scene. A page here needs three messages: where the browser's
own camera is, a new value of a control that is seen and enabled, of the control's own
type and within its range, and a picture while the page waits for one. All else is
dropped before viser hears of it, and so is the beat by which a page says that it runs.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import logging
import math
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import viser
from viser import _messages
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from humans_sim.core.errors import ConfigurationError
from humans_sim.view.browser.heartbeat import HEARTBEAT

CLIENTS = 50
"""Browsers that may watch a page at the same time."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine, for itself alone."""
_TOKEN_BYTES = 24
_HTTP_PORT = 80
_HEADERS = {
    # Nobody may draw the page inside another and have it clicked unseen.
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    # The address holds the token.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Answer = Callable[[ServerConnection, Request], Response | None]
"""Answers a request with a page, or lets it open a connection (None)."""


class Gate:
    """Refuses what does not come from the page's own user.

    Args:
        host: address that it listens on.
        clients: browsers that may watch at the same time.

    Attributes:
        token: secret of the address.
        open: whether anything is let in.
    """

    def __init__(self, host: str, clients: int = CLIENTS) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.clients = clients
        self.open = False
        self._host = host.strip("[]").lower()

    def url(self, port: int) -> str:
        """The address to open; it is as secret as a password."""
        host = "127.0.0.1" if anywhere(self._host) else self._host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/?token={self.token}"

    def before(self, answer: Answer) -> Answer:
        """The answer to a request: refused here, or by ``answer``."""

        def guarded(connection: ServerConnection, request: Request) -> Response | None:
            port = int(connection.local_address[1])
            refused = self.refusal(request, port)
            full = len(connection.server.connections) >= self.clients
            if not refused and "Upgrade" in request.headers and full:
                text = "Too many watch this page.\n"
                refused = HTTPStatus.SERVICE_UNAVAILABLE, text
            if refused is not None:
                return with_headers(connection.respond(*refused))
            response = answer(connection, request)
            if response is None:
                return None
            if self._is_token(_asked_token(request)):
                response.headers["Set-Cookie"] = (
                    f"{cookie_name(port)}={self.token}; HttpOnly; SameSite=Strict;"
                    " Path=/"
                )
            return with_headers(response)

        return guarded

    def refusal(self, request: Request, port: int) -> tuple[HTTPStatus, str] | None:
        """Why a request is refused; None where it comes from the page's user."""
        headers = request.headers
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_here(hosts[0], port):
            return HTTPStatus.FORBIDDEN, "This server has another name.\n"
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return HTTPStatus.FORBIDDEN, "A request of another page is refused.\n"
        # All values of the cookie: others may have set one of the same name.
        parts = ";".join(headers.get_all("Cookie")).split(";")
        pairs = (part.partition("=") for part in parts)
        tokens = [v.strip() for k, _, v in pairs if k.strip() == cookie_name(port)]
        if not any(map(self._is_token, [_asked_token(request), *tokens])):
            text = "Open the address that was printed, with its token.\n"
            return HTTPStatus.FORBIDDEN, text
        if not self.open:
            return HTTPStatus.SERVICE_UNAVAILABLE, "Not ready yet: try again.\n"
        return None

    def _is_token(self, given: str) -> bool:
        # In constant time: how much of a guess is right must not be measurable.
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _is_here(self, host: str, port: int) -> bool:
        """Whether a request was meant for this server, by the name it gives it."""
        try:
            parts = urlsplit(f"//{host}")
            name, asked = parts.hostname or "", parts.port or _HTTP_PORT
        except ValueError:
            return False
        if asked != port or parts.netloc != host or "@" in host:
            return False
        if name == self._host or name in LOOPBACK:
            return True
        # A server for everybody is known by all addresses of the machine. An address
        # is no name that somebody else could let lead here.
        return anywhere(self._host) and (
            _is_address(name) or name == socket.gethostname().lower()
        )


def anywhere(host: str) -> bool:
    """Whether a server that listens there listens on all addresses of the machine."""
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def is_loopback(host: str) -> bool:
    """Whether a server that listens there is reached from this machine only."""
    if _is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() in LOOPBACK


def cookie_name(port: int) -> str:
    """Name of the cookie that holds the token of a page."""
    return f"humans_sim_{port}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _asked_token(request: Request) -> str:
    query = request.path.partition("?")[2]
    return parse_qs(query).get("token", [""])[0]


def with_headers(response: Response) -> Response:
    """An answer with the headers that all answers of a page have."""
    for name, value in _HEADERS.items():
        if name not in response.headers:
            response.headers[name] = value
    return response


_LOG = logging.getLogger(__name__)
_WARNING_PERIOD = 5.0
"""Wall time between two warnings [s]."""
LARGEST_MESSAGE = 65_536
"""Largest message of a browser that is no picture [bytes]; they have some hundreds."""
_PICTURE = {"type", "payload", "render_uuid"}
_ACKNOWLEDGED = "FileTransferPartAck"
"""A browser says how much of a file it has: nobody here waits for it."""
_SLACK = 1e-6
"""By how much of its range a slider may be rounded past its end."""
_CAMERA_KEYS = {"type", *(x.name for x in fields(_messages.ViewerCameraMessage))}
_CAMERA = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
"""Lengths of what describes a camera; all else of it are single numbers."""


class Incoming:
    """Judges the messages of the browsers of a page.

    Args:
        clock: the time, for warnings that do not come too often [s].

    Attributes:
        refused: how many were refused so far.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = 0
        self._gui: viser.GuiApi | None = None
        self._clock, self._warned, self._untold = clock, -math.inf, 0
        self._pictures, self._lock = 0, threading.Lock()

    def watch(self, gui: viser.GuiApi) -> None:
        """Take values for the controls of a page from now on."""
        self._gui = gui

    @contextlib.contextmanager
    def expecting_picture(self) -> Iterator[None]:
        """Let one picture pass meanwhile."""
        with self._lock:
            self._pictures += 1
        try:
            yield
        finally:
            with self._lock:
                self._pictures = max(self._pictures - 1, 0)

    def accepts(self, raw: str | bytes) -> bool:
        """Whether viser may hear a message; a refusal is warned of now and then."""
        try:
            return self._check(raw)
        except ConfigurationError as error:
            self.refused += 1
            self._untold += 1
            now = self._clock()
            if now >= self._warned + _WARNING_PERIOD:
                others = self._untold - 1
                count = f" (and {others} before it)" if others else ""
                _LOG.warning("a message of a browser is ignored: %s%s", error, count)
                self._warned, self._untold = now, 0
            return False

    def _check(self, raw: str | bytes) -> bool:
        """Whether viser hears of it; refuses what no page needs."""
        if len(raw) > LARGEST_MESSAGE and not self._pictures:
            raise ConfigurationError("it is too long")
        if not isinstance(raw, bytes):
            raise ConfigurationError("it is a text")
        try:
            message = msgspec.msgpack.decode(raw)
        except (ValueError, RecursionError):  # also texts that are no UTF-8
            raise ConfigurationError("it is no MessagePack") from None
        if not isinstance(message, dict):
            raise ConfigurationError("it is no table")
        kind = message.get("type")
        if kind == "ViewerCameraMessage":
            _check_camera(message)
        elif kind == "GuiUpdateMessage":
            self._check_update(message)
        elif kind == "GetRenderResponseMessage":
            if not self._pictures:
                raise ConfigurationError("nobody asked for a picture")
            payload, name = message.get("payload"), message.get("render_uuid")
            sound = isinstance(payload, bytes) and isinstance(name, str)
            if set(message) != _PICTURE or not sound:
                raise ConfigurationError("a picture has other parts")
        else:
            if kind not in (_ACKNOWLEDGED, HEARTBEAT):
                raise ConfigurationError("no page here sends such messages")
            return False
        return True

    def _check_update(self, message: dict[str, Any]) -> None:
        name, updates = message.get("uuid"), message.get("updates")
        controls = {} if self._gui is None else self._gui._gui_input_handle_from_uuid
        control = controls.get(name) if isinstance(name, str) else None
        if control is None or set(message) != {"type", "uuid", "updates"}:
            raise ConfigurationError("there is no such control")
        if not isinstance(updates, dict) or set(updates) != {"value"}:
            raise ConfigurationError(f"only the value of {_name(control)} can be set")
        if not self._is_usable(control):
            raise ConfigurationError(f"{_name(control)} is disabled or hidden")
        if not _fits(control, updates["value"]):
            raise ConfigurationError(f"{_name(control)} has no such value")

    def _is_usable(self, control: Any) -> bool:
        if control.disabled or not control.visible:
            return False
        containers = self._gui._container_handle_from_uuid if self._gui else {}
        around = containers.get(control._impl.parent_container_id)
        while isinstance(around, viser.GuiFolderHandle):
            if not around.visible:
                return False
            around = containers.get(around._impl.parent_container_id)
        return True


def _check_camera(message: dict[str, Any]) -> None:
    if set(message) != _CAMERA_KEYS:
        raise ConfigurationError("a camera has other numbers")
    for name in _CAMERA_KEYS - {"type"}:
        value, length = message[name], _CAMERA.get(name)
        if length is None:
            value = [value]
        elif not (isinstance(value, list) and len(value) == length):
            raise ConfigurationError(f"{name} of a camera has another length")
        if not all(map(_is_number, value)):
            raise ConfigurationError(f"{name} of a camera is no finite number")


def _fits(control: Any, value: Any) -> bool:
    """Whether a control can have a value."""
    if isinstance(control, viser.GuiButtonHandle | viser.GuiCheckboxHandle):
        return isinstance(value, bool)
    if isinstance(control, viser.GuiDropdownHandle):
        return isinstance(value, str) and value in control.options
    if isinstance(control, viser.GuiSliderHandle | viser.GuiNumberHandle):
        if not _is_number(value):
            return False
        if isinstance(control.value, int) and value != round(value):
            return False
        low = -math.inf if control.min is None else control.min
        high = math.inf if control.max is None else control.max
        slack = _SLACK * (high - low) if math.isfinite(high - low) else 0.0
        return bool(low - slack <= value <= high + slack)
    return False


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def _name(control: Any) -> str:
    return f"'{getattr(control, 'label', 'a control')}'"
