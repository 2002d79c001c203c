"""The graph ``demo`` as processes: ros2 launch humans_sim demo.launch.py."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Joint motion, state publisher and, with gui:=true, the viewer."""
    share = Path(get_package_share_directory("humans_sim"))
    shared = {
        "package": "humans_sim",
        "output": "screen",
        "parameters": [
            LaunchConfiguration("params_file"),
            {
                "model": LaunchConfiguration("model"),
                "use_sim_time": LaunchConfiguration("use_sim_time"),
            },
        ],
    }
    return LaunchDescription(
        [
            DeclareLaunchArgument("model", default_value="khr1"),
            DeclareLaunchArgument("gui", default_value="true"),
            DeclareLaunchArgument("use_sim_time", default_value="false"),
            DeclareLaunchArgument(
                "params_file",
                default_value=str(share / "config" / "params" / "demo.yaml"),
            ),
            Node(executable="joint_demo", name="joint_demo", **shared),
            Node(executable="state_publisher", name="state_publisher", **shared),
            Node(
                executable="viewer",
                name="viewer",
                condition=IfCondition(LaunchConfiguration("gui")),
                **shared,
            ),
        ]
    )
