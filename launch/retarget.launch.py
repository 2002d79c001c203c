# SPDX-License-Identifier: Apache-2.0
"""The graph ``retarget`` as processes (ros2 launch humans_sim ...).

The person comes from the graph ``reconstruct`` in the namespace ``person``.
"""

from humans_sim.nodes.common.launch_graph import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The nodes of the graph; with use_fake_hardware:=true, without a robot."""
    return describe("retarget")
