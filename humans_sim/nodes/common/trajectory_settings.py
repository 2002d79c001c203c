# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes that follow joint trajectories.

Names are those of ros2_control's joint_trajectory_controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from humans_sim.control.trajectories.joint_trajectory import (
    JointLimits,
    Tolerances,
    TrajectoryRules,
)
from humans_sim.nodes.common.parameters import Parameters


@dataclass(frozen=True)
class TrajectorySettings:
    """Trajectories that are taken, and tolerances of those that ask for none."""

    rules: TrajectoryRules
    tolerances: Tolerances

    @classmethod
    def declare(
        cls, given: Parameters, limits: Mapping[str, JointLimits]
    ) -> TrajectorySettings:
        """Declare the parameters and read them."""
        rules = TrajectoryRules(
            limits,
            given.flag("allow_partial_joints_goal", False, "joints may be left out"),
            given.flag(
                "allow_nonzero_velocity_at_trajectory_end",
                False,
                "the last point may have a velocity",
            ),
        )
        time = given.number("constraints.goal_time", 0.0, "to reach the goal [s]", 0.0)
        path, goal = {}, {}
        for joint in limits:
            name = f"constraints.{joint}"
            path[joint] = given.number(
                f"{name}.trajectory", 0.0, "along the path [rad]", 0.0
            )
            goal[joint] = given.number(f"{name}.goal", 0.0, "at the end [rad]", 0.0)
        return cls(rules, Tolerances(path, goal, time))
