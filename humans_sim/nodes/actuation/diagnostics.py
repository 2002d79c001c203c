# SPDX-License-Identifier: Apache-2.0
"""How an actuation fares, on ``/diagnostics`` (REP-107)."""

from __future__ import annotations

from rclpy.node import Node

from humans_sim.nodes.common.diagnostic_status import StatusTopic


class ActuationDiagnostics:
    """Counts what comes in and what goes wrong, and reports it.

    Attributes:
        states: joint states answered.
        commands: commands taken.
        late: those of them that should have acted before the last state.
        refused_commands: commands that were not taken.
        refused_states: joint states that were not taken.
        starts: how often the actuation began anew.
    """

    def __init__(self, node: Node, model: str, kind: str) -> None:
        """Publish for a node.

        Args:
            node: it actuates.
            model: name of what it actuates.
            kind: of the actuation.
        """
        self._status = StatusTopic(node, kind, model)
        self.states = self.commands = self.late = self.starts = 0
        self.refused_commands = self.refused_states = 0
        self._refusal = ""
        self._reported_troubles = 0

    def refuse_command(self, reason: str) -> None:
        """Count a command that is not taken."""
        self.refused_commands += 1
        self._refusal = f"command: {reason}"

    def refuse_state(self, reason: str) -> None:
        """Count a joint state that is not taken."""
        self.refused_states += 1
        self._refusal = f"joint_states: {reason}"

    def publish(self, state: str, failure: str, simulation_time: float) -> None:
        """Report how it is.

        Args:
            state: one word or a few.
            failure: why it does not continue, empty while it does.
            simulation_time: of the last joint state [s].
        """
        troubles = self.late + self.refused_commands + self.refused_states
        worse = troubles > self._reported_troubles
        values = {
            "simulation_time [s]": f"{simulation_time:.9g}",
            "states": str(self.states),
            "starts": str(self.starts),
            "commands": str(self.commands),
            "late_commands": str(self.late),
            "refused_commands": str(self.refused_commands),
            "refused_states": str(self.refused_states),
            "last_refusal": self._refusal,
        }
        warning = "messages were late or refused" if worse else ""
        self._status.publish(state, failure, warning, values)
        self._reported_troubles = troubles
