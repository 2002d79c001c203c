# SPDX-License-Identifier: Apache-2.0
"""How a walk fares, on ``/diagnostics`` (REP-107)."""

from __future__ import annotations

from rclpy.node import Node

from humans_sim.nodes.common.diagnostic_status import StatusTopic


class WalkDiagnostics:
    """Counts what comes in and what goes wrong, and reports it.

    Attributes:
        ticks: states answered.
        blind: those of them without the other sensors.
        starts: how often the walk began anew.
        refused: commands and measurements that were not taken.
    """

    def __init__(self, node: Node, model: str) -> None:
        """Publish for a node.

        Args:
            node: it walks.
            model: name of what walks.
        """
        self._status = StatusTopic(node, "walk", model)
        self.ticks = self.blind = self.starts = self.refused = 0
        self._refusal, self._reported_refused = "", 0
        self._spent, self._longest = 0.0, 0.0
        self._reported_ticks = 0

    def refuse(self, reason: str) -> None:
        """Count a message that is not taken."""
        self.refused += 1
        self._refusal = reason

    def spend(self, seconds: float) -> None:
        """Count the wall time of a tick."""
        self.ticks += 1
        self._spent += seconds
        self._longest = max(self._longest, seconds)

    def publish(self, state: str, failure: str, warning: str, t: float) -> None:
        """Report how it is.

        Args:
            state: one word or a few.
            failure: why it does not continue, empty while it does.
            warning: what is wrong besides, empty where nothing is.
            t: time of the last tick [s].
        """
        ticks = self.ticks - self._reported_ticks
        if self.refused > self._reported_refused and not warning:
            warning = f"messages were refused: {self._refusal}"
        values = {
            "time [s]": f"{t:.9g}",
            "ticks": str(self.ticks),
            "blind_ticks": str(self.blind),
            "starts": str(self.starts),
            "mean_tick [ms]": f"{1e3 * self._spent / max(ticks, 1):.3g}",
            "longest_tick [ms]": f"{1e3 * self._longest:.3g}",
            "refused_messages": str(self.refused),
            "last_refusal": self._refusal,
        }
        self._status.publish(state, failure, warning, values)
        self._reported_refused, self._reported_ticks = self.refused, self.ticks
        self._spent = self._longest = 0.0
