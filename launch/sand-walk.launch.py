# SPDX-License-Identifier: Apache-2.0
"""The graph ``sand-walk`` as processes: ros2 launch humans_sim sand-walk.launch.py."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("sand-walk", sync="lockstep", cmd_vel="[0.06, 0.0, 0.0]")
