# SPDX-License-Identifier: Apache-2.0
"""The graph ``kondo_walk`` as processes (ros2 launch humans_sim ...)."""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with use_fake_hardware:=true, without a robot."""
    return describe("kondo_walk")
