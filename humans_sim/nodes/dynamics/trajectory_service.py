# SPDX-License-Identifier: Apache-2.0
"""The action ``follow_joint_trajectory``, where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.trajectory_settings import TrajectorySettings
from humans_sim.nodes.dynamics.commands import CommandInbox

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics


class Trajectories(Protocol):
    """Lead the servos along trajectories."""

    def tick(self) -> None:
        """Command what is due at the published state, and look how it goes."""

    def abort(self, reason: str) -> None:
        """Follow nothing."""


def make_trajectories(
    node: Dynamics,
    commands: CommandInbox,
    settings: TrajectorySettings,
    refuse: Callable[[str, HumansError], None],
    wake: Callable[[], None],
) -> Trajectories | None:
    """Serve ``follow_joint_trajectory``; None, and a warning: without control_msgs."""
    try:
        from humans_sim.nodes.dynamics.trajectories import SimulatedTrajectories
    except ImportError as error:
        node.get_logger().warning(f"follow_joint_trajectory is left out: {error}")
        return None
    return SimulatedTrajectories(node, commands, settings, refuse, wake)
