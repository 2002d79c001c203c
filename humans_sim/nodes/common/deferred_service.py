# SPDX-License-Identifier: Apache-2.0
"""A service that answers later, without keeping its executor busy.

A coroutine that awaits would do it with rclpy's classic executor, but keeps the one
that is led by events busy for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node


class Reply:
    """The answer to one request.

    Args:
        message: to fill in.
    """

    def __init__(self, message: Any) -> None:
        """Begin with an answer that is not complete."""
        self.message = message
        self._complete = False
        self._send: Callable[[], None] | None = None

    def send(self) -> None:
        """Send the message, now or as soon as the service's callback is over."""
        self._complete = True
        if self._send is not None:
            self._send()

    def attach(self, send: Callable[[], None]) -> None:
        """How to send it."""
        self._send = send
        if self._complete:
            send()


def create_deferred_service(
    node: Node,
    service_type: Any,
    name: str,
    callback: Callable[[Any, Reply], None],
) -> None:
    """Serve ``name``.

    Args:
        node: the server.
        service_type: type of the service.
        name: of the service.
        callback: takes the request and the reply; it or a later callback of the node
            calls ``reply.send()``, once.
    """

    def on_request(request: Any, message: Any) -> Reply:
        reply = Reply(message)
        callback(request, reply)
        return reply

    service = node.create_service(service_type, name, on_request)
    send_response = service.send_response

    def attach(reply: Reply, header: Any) -> None:
        reply.attach(lambda: send_response(reply.message, header))

    # Executors hand what the callback returns to this method of the service.
    service.send_response = attach
