# SPDX-License-Identifier: Apache-2.0
"""A viser server behind a gate: only its user is let in, and only so many clients.

viser offers no place to look at requests or messages before it does. It opens its
socket by ``websockets``' ``serve``, which takes a function that answers requests and a
class of connections; both are put in there, while a server opens and for viser alone.
A socket becomes a connection once it has shown the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection, serve
from websockets.server import ServerProtocol

from humans_sim.core.errors import HumansError
from humans_sim.view.browser.entrance import (
    ACCEPTED_AT_ONCE,
    NEWCOMERS,
    REQUEST_TIME,
    Entrance,
    Newcomer,
    lengthen_queue,
)
from humans_sim.view.browser.gate import CLIENTS, Gate, anywhere, is_loopback
from humans_sim.view.browser.incoming import LARGEST_MESSAGE, Incoming
from humans_sim.view.browser.page_scripts import with_scripts

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

    Attributes:
        viser: what is on the page.
        url: address of the page, with its token.
        incoming: judges what the browsers say.
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
        """Open the page.

        Args:
            host: address to listen on.
            port: to listen on.
            label: title of the page.
            clients: browsers that may watch at the same time.
            patience: how long a browser may take to receive a message [s].
            largest: message of a browser that is read at all [bytes].
            newcomers: most sockets that have not shown the token.
            request_time: how long they may take to [s].

        Raises:
            HumansError: this viser cannot be guarded.
        """
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
        self._make_thread_safe()
        self.incoming.watch(self.viser.gui)
        self.url = self._gate.url(self.viser.get_port())
        self._gate.open = True

    def _make_thread_safe(self) -> None:
        """Have other threads wake the server's loop by its own queue alone.

        viser sets an asyncio event in the thread that changes the scene, too. That
        walks through the list of those that wait while the loop changes it, and ends
        now and then in an error in the thread of the simulation.
        """
        server = self.viser._websock_server
        server.get_message_buffer().message_event = _LoopEvent(server._server_thread)

    def stop(self) -> None:
        """Close the page."""
        self._gate.open = False
        with contextlib.suppress(RuntimeError):  # it was stopped before
            loop = self.viser._websock_server._background_event_loop
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
    """What it means to listen on an address; empty for this machine only."""
    if is_loopback(host):
        return ""
    where = "all addresses of this machine" if anywhere(host) else host
    return (
        f"The page listens on {where}: whoever reaches this machine over the network "
        "and has the address with its token sees the page and uses its controls; the "
        "connection is not encrypted, so whoever listens in on it has the token too."
    )
