# SPDX-License-Identifier: Apache-2.0
"""How a Kondo robot fares, on ``/diagnostics`` (REP-107)."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node

from humans_sim.kondo.driver.robot_health import Health, RobotState
from humans_sim.nodes.common.diagnostic_status import StatusTopic

_WRONG = (RobotState.LOST, RobotState.STOPPED)
_RESTING = (RobotState.HOLDING, RobotState.LIMP)


class BridgeDiagnostics:
    """Counts what was refused, and reports what the robot says of itself.

    Attributes:
        failure: why the node is not where it should be; empty where it is.
        note: what else went wrong last; reported once.
        stamps: commands that were refused for their stamps.
    """

    def __init__(self, node: Node, hardware: str) -> None:
        """Publish for a node.

        Args:
            node: drives the robot.
            hardware: which robot.
        """
        self._status = StatusTopic(node, "robot", hardware)
        self.failure, self.note, self.stamps = "", "", 0
        self._refused, self._reported, self._refusal = 0, 0, ""

    def refuse(self, reason: str) -> None:
        """Count what was not taken."""
        self._refused += 1
        self._refusal = reason

    def publish(self, stage: str, health: Health, more: dict[str, str]) -> None:
        """Report how it is.

        Args:
            stage: of the node's life.
            health: of the robot.
            more: further values, by name.
        """
        state = health.state.value
        failure, warnings = self.failure, [self.note] if self.note else []
        if health.state in _WRONG:
            failure = f"{state}: {health.reason}" if health.reason else state
        elif health.state in _RESTING and health.reason:
            warnings.append(health.reason)
        if self._refused > self._reported:
            warnings.append(f"messages were refused: {self._refusal}")
        self._reported, self.note = self._refused, ""
        values = {"stage": stage, "reason": health.reason, **more}
        values |= _figures(health)
        values |= {
            "refused_messages": str(self._refused),
            "refused_stamps": str(self.stamps),
            "last_refusal": self._refusal,
        }
        self._status.publish(state, failure, "; ".join(warnings), values)


def _figures(health: Health) -> dict[str, str]:
    share = 100.0 * health.delivered / health.given if health.given else 100.0
    figures = {
        "set_points": str(health.given),
        "delivered [%]": f"{share:.2f}",
        "limited": str(health.limited),
        "refused_commands": str(health.refused),
        "holds_by_watchdog": str(health.held),
        "faults": str(health.faults),
        "reconnections": str(health.reconnections),
    }
    if health.latencies:
        median, most = np.percentile(list(health.latencies), [50, 99]) * 1e3
        figures["latency_median [ms]"] = f"{median:.1f}"
        figures["latency_99 [ms]"] = f"{most:.1f}"
    if health.line is not None:
        figures["frames"] = str(health.line.sent)
        figures["repeated_frames"] = str(health.line.repeated)
        figures["unanswered"] = str(health.line.failed)
    return figures
