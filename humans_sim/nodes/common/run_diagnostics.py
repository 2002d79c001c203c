# SPDX-License-Identifier: Apache-2.0
"""How a simulation fares, on ``/diagnostics`` (REP-107)."""

from __future__ import annotations

import time

from rclpy.node import Node

from humans_sim.nodes.common.diagnostic_status import StatusTopic


class RunDiagnostics:
    """Counts what goes wrong and reports it.

    Attributes:
        periods: sampling periods integrated.
        held: periods for which the last command was held.
        late: commands that came after their time.
        refused: commands that were not applied, the late ones included.
    """

    def __init__(self, node: Node, model: str, period: float) -> None:
        """Publish for a node.

        Args:
            node: it simulates.
            model: name of what it simulates.
            period: sampling period [s].
        """
        self._period = period
        self._status = StatusTopic(node, "simulation", model)
        self.periods = self.held = self.late = self.refused = 0
        self._refusal = ""
        self._reported_at = time.monotonic()
        self._reported_periods = self._reported_troubles = 0

    @property
    def advanced(self) -> bool:
        """Whether anything was integrated since the last message."""
        return self.periods > self._reported_periods

    def refuse(self, reason: str) -> None:
        """Count a command that is not applied."""
        self.refused += 1
        self._refusal = reason

    def publish(self, state: str, failure: str, simulation_time: float) -> None:
        """Report how it is.

        Args:
            state: one word or two.
            failure: why the run ended, empty while it runs.
            simulation_time: [s].
        """
        now, troubles = time.monotonic(), self.held + self.refused
        simulated = (self.periods - self._reported_periods) * self._period
        worse = troubles > self._reported_troubles
        values = {
            "simulation_time [s]": f"{simulation_time:.9g}",
            "real_time_factor": f"{simulated / max(now - self._reported_at, 1e-9):.3g}",
            "held_commands": str(self.held),
            "late_commands": str(self.late),
            "refused_commands": str(self.refused),
            "last_refusal": self._refusal,
        }
        warning = "commands were held or refused" if worse else ""
        self._status.publish(state, failure, warning, values)
        self._reported_at, self._reported_periods = now, self.periods
        self._reported_troubles = troubles
