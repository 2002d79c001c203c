# SPDX-License-Identifier: Apache-2.0
"""The graph ``reconstruct`` as processes.

ros2 launch humans_sim reconstruct.launch.py file:=walk.trc subject:=subject.yaml
"""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with gui:=false, without its page."""
    return describe("reconstruct", model="human36")
