"""The graph ``fes`` as processes: ros2 launch humans_sim fes.launch.py."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Dynamics, muscles, state publisher and, with gui:=true, the viewer."""
    share = Path(get_package_share_directory("humans_sim"))
    shared = {"package": "humans_sim", "output": "screen"}
    file = LaunchConfiguration("params_file")
    model = {"model": LaunchConfiguration("model")}
    follows = {**model, "use_sim_time": LaunchConfiguration("use_sim_time")}
    leads = {
        **model,
        "use_sim_time": False,  # it is the clock
        "sync": LaunchConfiguration("sync"),
        "real_time_factor": LaunchConfiguration("real_time_factor"),
    }
    return LaunchDescription(
        [
            DeclareLaunchArgument("model", default_value="human36"),
            DeclareLaunchArgument("gui", default_value="true"),
            DeclareLaunchArgument("sync", default_value="lockstep"),
            DeclareLaunchArgument("real_time_factor", default_value="1.0"),
            DeclareLaunchArgument("use_sim_time", default_value="true"),
            DeclareLaunchArgument(
                "params_file",
                default_value=str(share / "config" / "params" / "fes.yaml"),
            ),
            Node(
                executable="dynamics",
                name="dynamics",
                parameters=[file, leads],
                **shared,
            ),
            Node(
                executable="actuation",
                name="actuation",
                parameters=[file, follows],
                **shared,
            ),
            Node(
                executable="state_publisher",
                name="state_publisher",
                parameters=[file, follows],
                **shared,
            ),
            Node(
                executable="viewer",
                name="viewer",
                condition=IfCondition(LaunchConfiguration("gui")),
                parameters=[file, follows],
                **shared,
            ),
        ]
    )
