# SPDX-License-Identifier: Apache-2.0
"""A node with the life cycle of ROS 2: configured, activated, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn

from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.model_node import ModelNode

_AGAIN = 2.0
"""Wall time between two tries to start by itself [s]."""


class LifecycleModelNode(LifecycleNodeMixin, ModelNode):
    """A model node whose stages are changed by services, or by itself.

    Children say in :meth:`configure` and so on what a stage needs; what they raise ends
    the transition as a failure in plain words, and the node stays as it was.

    Attributes:
        stage: unconfigured, inactive, active or finalized.
        failure: why the last transition failed; empty where it did not.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Offer the services of the life cycle; the node is unconfigured."""
        ModelNode.__init__(self, name, **options)
        LifecycleNodeMixin.__init__(self)
        self.stage, self.failure = "unconfigured", ""
        self._starts: Any = None

    def configure(self) -> None:
        """Get ready."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Work no more."""

    def clean_up(self) -> None:
        """Free what :meth:`configure` took."""

    def start_by_itself(self) -> None:
        """Configure and activate, again and again until it works once."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._starts = self.create_timer(_AGAIN, self._start, clock=steady)
        # At once, but in the thread of the node.
        self._first = self.create_timer(0.01, self._start_first, clock=steady)

    def _start_first(self) -> None:
        self._first.cancel()
        self._start()

    def _start(self) -> None:
        if self.stage == "unconfigured":
            self.trigger_configure()
        if self.stage == "inactive":
            self.trigger_activate()
        if self.stage in ("active", "finalized"):
            self._starts.cancel()

    def _go(
        self, work: Callable[[], None], what: str, stage: str
    ) -> TransitionCallbackReturn:
        try:
            work()
        except HumansError as error:
            if str(error) != self.failure:
                self.get_logger().error(f"{what} failed: {error}")
            self.failure = str(error)
            return TransitionCallbackReturn.FAILURE
        self.stage, self.failure = stage, ""
        self.get_logger().info(f"{what}: done, it is {stage}")
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Transition to inactive."""
        return self._go(self.configure, "configure", "inactive")

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Transition to active."""
        return self._go(self.activate, "activate", "active")

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Transition to inactive."""
        return self._go(self.deactivate, "deactivate", "inactive")

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Transition to unconfigured."""
        return self._go(self.clean_up, "clean up", "unconfigured")

    def on_shutdown(self, state: Any) -> TransitionCallbackReturn:
        """Transition to finalized."""
        return self._go(self.clean_up, "shut down", "finalized")
