# SPDX-License-Identifier: Apache-2.0
"""The graph ``two-robots``: ros2 launch humans_sim two-robots.launch.py."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("two-robots", sync="lockstep", cmd_vel="[0.05, 0.0, 0.0]")
