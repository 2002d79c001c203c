# SPDX-License-Identifier: Apache-2.0
"""A node as its process sees it: which thread it needs, and how it ends."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar
from weakref import WeakSet

from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node
from rclpy.qos import QoSProfile

from humans_sim.nodes.common.qos import (
    overriding,
    own_profile,
    reported_overrides,
)


class ProcessNode(Node):
    """A node that a :class:`~humans_sim.nodes.common.process.NodeProcess` can run.

    The end comes in three parts: :meth:`make_safe`, :meth:`close`, ``destroy_node``.
    What must not be lost belongs into the first two: the last one talks with the
    middleware, and is cut short where that hangs.
    """

    blocks = False
    """Whether callbacks may take long: in a composed graph it has its own thread."""

    living: ClassVar[WeakSet[ProcessNode]] = WeakSet()
    """The nodes of this process, also those that are not complete yet."""

    def __init__(self, name: str, **options: Any) -> None:
        """Note that there is a node."""
        ProcessNode.living.add(self)
        self._complete = False
        super().__init__(name, **options)
        self._complete = True

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: QoSProfile | int, **options: Any
    ) -> Any:
        """As rclpy's, with parameters that override the quality of service."""
        if self._complete:  # before, rclpy makes topics of its own
            options.setdefault("qos_overriding_options", overriding())
        with reported_overrides(topic):
            return super().create_publisher(
                msg_type, topic, own_profile(qos_profile), **options
            )

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Any,
        qos_profile: QoSProfile | int,
        **options: Any,
    ) -> Any:
        """As rclpy's, with parameters that override the quality of service."""
        if self._complete:
            options.setdefault("qos_overriding_options", overriding())
        with reported_overrides(topic):
            return super().create_subscription(
                msg_type, topic, callback, own_profile(qos_profile), **options
            )

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Any, **options: Any
    ) -> Any:
        """As rclpy's; its services of parameters do not end the node any more."""
        if not self._complete:
            callback = partial(self._answer_parameters, callback)
        return super().create_service(srv_type, srv_name, callback, **options)

    def _answer_parameters(self, callback: Any, request: Any, response: Any) -> Any:
        """Refuse what rclpy raises at, for example a type that does not exist."""
        try:
            return callback(request, response)
        except (TypeError, ValueError) as error:
            self.get_logger().warning(f"a request of parameters is refused: {error}")
            refusal = SetParametersResult(successful=False, reason=str(error))
            if hasattr(response, "results"):
                missing = len(request.parameters) - len(response.results)
                response.results = [*response.results, *[refusal] * missing]
            elif hasattr(response, "result") and hasattr(request, "parameters"):
                response.result = refusal
            return response

    def make_safe(self) -> None:
        """Stop what moves: called first at the end, while callbacks may still run."""

    def close(self) -> None:
        """Free what the node holds beside its topics, and write what it keeps."""

    def destroy_node(self) -> None:
        """Destroy the node with its actions, which rclpy leaves to others."""
        for waitable in list(self.waitables):
            if isinstance(waitable, ActionClient | ActionServer):
                waitable.destroy()
        super().destroy_node()
