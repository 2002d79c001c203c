# SPDX-License-Identifier: Apache-2.0
"""The graph ``push-box`` as processes: ros2 launch humans_sim push-box.launch.py."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("push-box", sync="lockstep", cmd_vel="[0.04, 0.0, 0.0]")
