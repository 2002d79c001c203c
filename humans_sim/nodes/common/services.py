# SPDX-License-Identifier: Apache-2.0
"""Services and actions that do not keep an executor busy.

A service answers later. A coroutine that awaits would do it with rclpy's classic
executor, but keeps the one that is led by events busy for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import SetSimulationState

from humans_sim.core.errors import HumansError


class Reply:
    """The answer to one request."""

    def __init__(self, message: Any) -> None:
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
    """Serve ``name`` by a callback that takes the request and the reply.

    It or a later callback of the node calls ``reply.send()``, once.
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


def answered(response: Any, work: Callable[[], str]) -> Any:
    """A response that work was done, with what it says, or why it was not."""
    try:
        response.success, response.message = True, work()
    except HumansError as error:
        response.success, response.message = False, str(error)
    return response


class PatientServer(ActionServer):
    """Runs no callback while a goal is executed, only at its end.

    A callback that waits would keep rclpy's executor busy. Every goal may be cancelled.
    ``on_goal`` is called with the handle of each goal that was accepted.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        on_goal: Callable[[Any], None],
        **options: Any,
    ) -> None:
        super().__init__(
            node,
            kind,
            name,
            execute_callback=lambda _: None,
            handle_accepted_callback=on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            **options,
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Execute where there is something to, at the end of the goal."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, handle: Any, result: Any, done: bool, cancelled: bool) -> None:
        """End a goal: it is reached, was cancelled, or is aborted."""

        def end(_: Any) -> Any:
            if done:
                handle.succeed()
            elif cancelled:
                handle.canceled()
            else:
                handle.abort()
            return result

        self.notify_execute(handle, end)


_PATIENCE = 3.0
"""Wall time after which an answer is given up [s]."""


class Requests:
    """Calls the services of others; an answer that does not come holds up nobody.

    All methods belong to the thread of the node. What is refused or not answered is
    reported, one line each.
    """

    def __init__(self, node: Node, report: Callable[[str], None]) -> None:
        self._node, self._report = node, report
        self._clients: dict[str, Any] = {}
        self._waiting: list[tuple[float, str, Any]] = []

    def add(self, name: str, kind: Any, topic: str = "") -> None:
        """Use a service, called like its name unless its topic is given."""
        self._clients[name] = self._node.create_client(kind, topic or name)

    def ready(self, name: str) -> bool:
        """Whether somebody offers a service."""
        return bool(self._clients[name].service_is_ready())

    def call(
        self, name: str, request: Any, done: Callable[[], None] = lambda: None
    ) -> None:
        """Ask; ``done`` is called when the answer is that it was done."""
        if not self.ready(name):
            self._report(f"nobody offers '{name}'")
            return
        future = self._clients[name].call_async(request)
        self._waiting.append((time.monotonic() + _PATIENCE, name, future))
        future.add_done_callback(lambda answered: self._judge(name, answered, done))

    def look(self) -> None:
        """Give up what was not answered in time."""
        now, kept = time.monotonic(), []
        for deadline, name, future in self._waiting:
            if future.done():
                continue
            if now < deadline:
                kept.append((deadline, name, future))
                continue
            future.cancel()
            self._clients[name].remove_pending_request(future)
            self._report(f"'{name}' was not answered in {_PATIENCE:g} s")
        self._waiting = kept

    def _judge(self, name: str, answered: Any, done: Callable[[], None]) -> None:
        if answered.cancelled():
            return
        if answered.exception() is not None:
            self._report(f"'{name}' failed: {answered.exception()}")
            return
        ok, reason = _verdict(answered.result())
        if ok:
            done()
        else:
            self._report(f"'{name}' was refused: {reason}")


def _verdict(response: Any) -> tuple[bool, str]:
    """Whether a response says yes, and what else it says."""
    if hasattr(response, "results"):  # of set_parameters
        bad = [result.reason for result in response.results if not result.successful]
        return not bad, ", ".join(bad)
    if hasattr(response, "result"):  # of simulation_interfaces
        fine = (Result.RESULT_OK, SetSimulationState.Response.ALREADY_IN_TARGET_STATE)
        return response.result.result in fine, str(response.result.error_message)
    return bool(response.success), str(response.message)
