# SPDX-License-Identifier: Apache-2.0
"""The graph ``carpus`` as processes.

ros2 launch humans_sim carpus.launch.py motion:=extension rviz:=true
"""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph."""
    return describe("carpus")
