# SPDX-License-Identifier: Apache-2.0
"""The graph ``bip-one-step``: ros2 launch humans_sim bip-one-step.launch.py."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("bip-one-step", model="bip", sync="lockstep")
