# SPDX-License-Identifier: Apache-2.0
"""A viser server behind a gate: only its user is let in, and only so many clients.

viser offers no place to look at requests or messages before it does. It opens its
socket by ``websockets``' ``serve``, which takes a function that answers requests and a
class of connections; both are put in there, while a server opens and for viser alone.
A socket becomes a connection once it has shown the token.

*Sockets without the token*: few, brief, oldest out first. Whoever reaches the port may
open sockets and say nothing, half a request or a wrong one. Such a socket is no
connection of the page yet: it is a buffer of bytes beside the others of its kind,
closed after a short time whatever it sends, and earlier where too many newer ones came.
Once its request is complete and has the token it becomes a connection, which is counted
apart. So those without a token never keep out, and hardly delay, those with one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Any, cast

import viser
import websockets.asyncio.server
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from humans_sim.core.errors import HumansError
from humans_sim.view.browser.gate import (
    CLIENTS,
    LARGEST_MESSAGE,
    Answer,
    Gate,
    Incoming,
    anywhere,
    is_loopback,
    with_headers,
)
from humans_sim.view.browser.heartbeat import HEARTBEAT, PERIOD
from humans_sim.view.html_templates import render

_HEAD = b"<head>"


def with_scripts(answer: Answer) -> Answer:
    """Have a page take the system's colours, name its controls, and say it is there.

    viser draws a page dark whose address says so. A script at the beginning of the page
    adds that to the address before viser reads it, and loads the page again when the
    system changes its mind. Another one gives names to controls that have none, and
    a third says at short intervals that the page is seen and runs.
    """

    def scripted(connection: ServerConnection, request: Request) -> Response | None:
        response = answer(connection, request)
        if response is None or not response.body:
            return response
        kind = response.headers.get("Content-Type", "")
        if not kind.startswith("text/html"):
            return response
        zipped = response.headers.get("Content-Encoding") == "gzip"
        response.body = _with_script(bytes(response.body), zipped)
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
        return response

    return scripted


@lru_cache(maxsize=4)
def _with_script(page: bytes, zipped: bool) -> bytes:
    text = gzip.decompress(page) if zipped else page
    beat = render("heartbeat", kind=HEARTBEAT, period=round(1e3 * PERIOD))
    script = (render("colour_scheme") + render("control_names") + beat).encode()
    text = text.replace(_HEAD, _HEAD + script, 1)
    return gzip.compress(text) if zipped else text


NEWCOMERS = 512
"""Most sockets without the token; several times what one turn of the loop accepts."""
REQUEST_TIME = 3.0
"""How long a socket may take for its request, and to read a refusal [s]."""
ACCEPTED_AT_ONCE = 100
"""Sockets that one turn of the loop accepts."""
_QUEUE = 1024
"""Sockets that the system keeps until the loop accepts them."""
_REFUSAL_PERIOD = 0.02
"""Between two refusals [s]: who asks again at once takes little of the processor."""
_LARGEST_REQUEST = 32_768
"""Largest head of a request [bytes]; cookies of other pages of this machine count."""
_END = b"\r\n\r\n"


class Entrance:
    """Where sockets wait until they have shown the token. One loop uses it.

    Args:
        request_time: how long a socket may wait [s].
    """

    def __init__(
        self,
        gate: Gate,
        newcomers: int = NEWCOMERS,
        request_time: float = REQUEST_TIME,
    ) -> None:
        self.gate, self.request_time = gate, request_time
        self._newcomers, self._closed = newcomers, False
        self._waiting: dict[Newcomer, None] = {}
        self._next_refusal = -math.inf

    def __len__(self) -> int:
        """How many sockets wait."""
        return len(self._waiting)

    def enter(self, newcomer: Newcomer) -> None:
        """Let a socket wait, in the place of the oldest where there are too many."""
        self._waiting[newcomer] = None
        if self._closed:
            newcomer.abort()
        elif len(self._waiting) > self._newcomers:
            next(iter(self._waiting)).abort()

    def leave(self, newcomer: Newcomer) -> None:
        """Forget a socket."""
        self._waiting.pop(newcomer, None)

    def refusal_time(self) -> float:
        """When a refusal may be sent, one after the other [s]; inf: not at all."""
        now = asyncio.get_running_loop().time()
        due = max(now, self._next_refusal)
        if due - now > self.request_time:
            return math.inf
        self._next_refusal = due + _REFUSAL_PERIOD
        return due

    def close(self) -> None:
        """Close all that wait, and all that come."""
        self._closed = True
        for newcomer in tuple(self._waiting):
            newcomer.abort()


class Newcomer(asyncio.Protocol):
    """A socket that has not shown the token.

    Args:
        protocol: of the connection; websockets asks for it here.
        connection: makes the connection that it becomes.
    """

    def __init__(
        self,
        entrance: Entrance,
        protocol: ServerProtocol,
        connection: Callable[[], ServerConnection],
    ) -> None:
        self.protocol = protocol
        self._entrance, self._connection = entrance, connection
        self._head = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait, for a limited time."""
        self._transport = cast(asyncio.Transport, transport)
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.call_later(self._entrance.request_time, self.abort)
        self._entrance.enter(self)

    def data_received(self, data: bytes) -> None:
        """Judge the request once it is complete."""
        before = max(len(self._head) - len(_END), 0)
        self._head += data
        if self._head.find(_END, before) >= 0:
            self._judge()
        elif len(self._head) > _LARGEST_REQUEST:
            self._transport.pause_reading()

    def _judge(self) -> None:
        request = _parsed(bytes(self._head))
        port = int(self._transport.get_extra_info("sockname")[1])
        refused = request and self._entrance.gate.refusal(request, port)
        if request is not None and refused is None:
            self._forget()
            connection = self._connection()
            self._transport.set_protocol(connection)
            connection.connection_made(self._transport)
            connection.data_received(bytes(self._head))
            return
        # What is no request waits for its end: closed at once, it would come again.
        self._transport.pause_reading()
        due = self._entrance.refusal_time() if refused else math.inf
        if refused and due < self._end.when():
            self._end.cancel()
            self._end = self._loop.call_at(due, self._refuse, *refused)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        response = with_headers(self.protocol.reject(status, reason))
        self._transport.write(response.serialize())
        self._transport.close()
        self._forget()

    def _forget(self) -> None:
        self._end.cancel()
        self._entrance.leave(self)

    def abort(self) -> None:
        """Close the socket at once."""
        self._forget()
        self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget it."""
        self._forget()


def _parsed(head: bytes) -> Request | None:
    """The request that begins some bytes; None where there is none."""
    parser = ServerProtocol()
    parser.receive_data(head)
    events = parser.events_received()
    return events[0] if events and isinstance(events[0], Request) else None


def lengthen_queue(server: Server) -> None:
    """Have the system keep more sockets than one turn of the loop accepts.

    Where its queue is full, it drops a newcomer, who asks again after a second.
    """
    for listening in server.sockets:
        with socket.socket(fileno=socket.dup(listening.fileno())) as same:
            same.listen(_QUEUE)


SEND_PATIENCE = 20.0
"""How long a browser may take to receive a message before it is dropped [s]."""
RENDERED_MESSAGE = 16_000_000
"""Largest message where browsers are asked for pictures [bytes]."""
_SOCKETS_PER_CLIENT = 4
"""Sockets with the token for each browser that may watch; more are closed at once."""
_VISER = "viser.infra"
"""Where viser opens its sockets."""
_OPENING = threading.Lock()
"""One server opens at a time."""


class PageServer:
    """A page that only its user reaches.

    Args:
        clients: browsers that may watch at the same time.
        patience: how long a browser may take to receive a message [s].
        largest: message of a browser that is read at all [bytes].
        newcomers: most sockets that have not shown the token.
        request_time: how long they may take to [s].

    Attributes:
        viser: what is on the page.
        url: address of the page, with its token.
        incoming: judges what the browsers say.

    Raises:
        HumansError: this viser cannot be guarded.
    """

    def __init__(
        self,
        host: str,
        port: int,
        label: str | None = None,
        clients: int = CLIENTS,
        patience: float = SEND_PATIENCE,
        largest: int = LARGEST_MESSAGE,
        newcomers: int = NEWCOMERS,
        request_time: float = REQUEST_TIME,
    ) -> None:
        self._gate, self.incoming = Gate(host, clients), Incoming()
        self._entrance = Entrance(self._gate, newcomers, request_time)
        served: list[serve] = []

        def newcomer(protocol: ServerProtocol, *parts: Any, **options: Any) -> Newcomer:
            def connection() -> ServerConnection:
                return _Connection(
                    self.incoming, patience, clients, protocol, *parts, **options
                )

            return Newcomer(self._entrance, protocol, connection)

        def guarded(*parts: Any, **options: Any) -> serve:
            answer = options.pop("process_request")
            options |= {
                "process_request": self._gate.before(with_scripts(answer)),
                "create_connection": newcomer,
                "max_size": largest,
                "backlog": ACCEPTED_AT_ONCE,
            }
            served.append(serve(*parts, **options))
            return served[-1]

        # viser's own words name the page without its token.
        with _replaced_serve(guarded), contextlib.redirect_stdout(io.StringIO()):
            self.viser = viser.ViserServer(
                host=host, port=port, label=label, verbose=False
            )
        if not served or not hasattr(self.viser._websock_server, "_live_connections"):
            self.viser.stop()
            raise HumansError(
                f"viser {viser.__version__} cannot be guarded: install another version"
            )
        lengthen_queue(served[-1].server)
        # viser sets an asyncio event in the thread that changes the scene, too. That
        # walks through the list of those that wait while the loop changes it, and ends
        # now and then in an error there: others wake the loop by its own queue alone.
        server: Any = self.viser._websock_server
        server.get_message_buffer().message_event = _LoopEvent(server._server_thread)
        self.incoming.watch(self.viser.gui)
        self.url = self._gate.url(self.viser.get_port())
        self._gate.open = True

    def stop(self) -> None:
        """Close the page."""
        self._gate.open = False
        with contextlib.suppress(RuntimeError):  # it was stopped before
            loop: Any = self.viser._websock_server._background_event_loop
            loop.call_soon_threadsafe(self._entrance.close)
        self.viser.stop()


class _Connection(ServerConnection):
    """A browser's connection: filtered, and dropped where nobody reads.

    Attributes:
        heard: when the browser last said anything, by the monotonic clock [s].
    """

    def __init__(
        self,
        incoming: Incoming,
        patience: float,
        clients: int,
        *parts: Any,
        **options: Any,
    ) -> None:
        super().__init__(*parts, **options)
        self._incoming, self._patience = incoming, patience
        self.heard = -math.inf
        self._most_sockets = _SOCKETS_PER_CLIENT * clients

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self.server.handlers) > self._most_sockets:
            self.transport.abort()

    async def recv(self, decode: bool | None = None) -> Any:
        while True:
            raw = await super().recv(decode)
            self.heard = time.monotonic()
            if self._incoming.accepts(raw):
                return raw

    async def send(self, message: Any, text: bool | None = None) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await super().send(message, text)
        except TimeoutError:
            self.transport.abort()


class _LoopEvent(asyncio.Event):
    """An event that other threads than the loop's leave alone.

    Whoever changes the scene elsewhere also asks the loop to set it.
    """

    def __init__(self, thread: threading.Thread) -> None:
        super().__init__()
        self._thread = thread

    def set(self) -> None:
        if threading.current_thread() is self._thread:
            super().set()


@contextlib.contextmanager
def _replaced_serve(guarded: Any) -> Iterator[None]:
    """Let viser open its sockets by another function; others open theirs as ever."""

    def chosen(handler: Any, *parts: Any, **options: Any) -> serve:
        of_viser = str(handler.__module__).startswith(_VISER)
        return (guarded if of_viser else serve)(handler, *parts, **options)

    with _OPENING:
        websockets.asyncio.server.serve = chosen  # type: ignore
        try:
            yield
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore


def warning_of(host: str) -> str:
    """The warning for an address to listen on; empty for this machine only."""
    if is_loopback(host):
        return ""
    where = "all addresses of this machine" if anywhere(host) else host
    return (
        f"The page listens on {where}: whoever reaches this machine over the network "
        "and has the address with its token sees the page and uses its controls; the "
        "connection is not encrypted, so whoever listens in on it has the token too."
    )
