# SPDX-License-Identifier: Apache-2.0
"""A node as its process sees it: which thread it needs, and how it ends."""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakSet

from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node


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
        super().__init__(name, **options)

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
