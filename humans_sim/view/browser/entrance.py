# SPDX-License-Identifier: Apache-2.0
"""Sockets that have not shown the token of a page: few, brief, oldest out first.

Whoever reaches the port may open sockets and say nothing, half a request or a wrong
one. Such a socket is no connection of the page yet: it is a buffer of bytes beside the
others of its kind, closed after a short time whatever it sends, and earlier where too
many newer ones came. Once its request is complete and has the token it becomes a
connection, which is counted apart. So those without a token never keep out, and hardly
delay, those with one.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

from websockets.asyncio.server import Server, ServerConnection
from websockets.http11 import Request
from websockets.server import ServerProtocol

from humans_sim.view.browser.gate import Gate, with_headers

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
    """Where sockets wait until they have shown the token. One loop uses it."""

    def __init__(
        self,
        gate: Gate,
        newcomers: int = NEWCOMERS,
        request_time: float = REQUEST_TIME,
    ) -> None:
        """Nobody waits.

        Args:
            gate: judges requests.
            newcomers: most sockets that wait.
            request_time: how long a socket may wait [s].
        """
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
    """A socket that has not shown the token."""

    def __init__(
        self,
        entrance: Entrance,
        protocol: ServerProtocol,
        connection: Callable[[], ServerConnection],
    ) -> None:
        """Wait for a request.

        Args:
            entrance: where it waits.
            protocol: of the connection; websockets asks for it here.
            connection: makes the connection that it becomes.
        """
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
            self._become_connection()
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

    def _become_connection(self) -> None:
        self._forget()
        connection = self._connection()
        self._transport.set_protocol(connection)
        connection.connection_made(self._transport)
        connection.data_received(bytes(self._head))

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
