# SPDX-License-Identifier: Apache-2.0
"""The graph ``bip-stand`` as processes: ros2 launch humans_sim bip-stand.launch.py."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("bip-stand", model="bip", sync="lockstep")
