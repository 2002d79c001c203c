# SPDX-License-Identifier: Apache-2.0
"""ros2_control in launch descriptions: its manager, and what loads its controllers."""

from __future__ import annotations

from typing import Any

from launch.actions import OpaqueFunction, RegisterEventHandler
from launch_ros.actions import Node
from launch_ros.ros_adapters import get_ros_node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from humans_sim.applications.graphs import controllers_file
from humans_sim.core.errors import ParameterError
from launch import Action, Event, EventHandler, LaunchContext

_CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller")
_STATES = "joint_states"


class FirstState(Event):
    """The joints reported for the first time where they are."""

    name = "humans_sim.nodes.common.launch_control.FirstState"


def control_actions(given: dict[str, Any]) -> list[Action]:
    """The controller manager, and what loads the controllers.

    They are loaded once the joints have reported where they are: a trajectory
    controller that is active before takes no number for where it begins, and keeps it.

    Args:
        given: arguments of the launch file.

    Raises:
        ParameterError: each period would wait for a command, or there is no file of
            the model's controllers.
    """
    if given.get("sync") == "lockstep":
        raise ParameterError("ros2_control runs on the clock: it needs sync:=free")
    file = given["controllers_file"] or controllers_file(given["model"])
    sim_time = {"use_sim_time": given["use_sim_time"]}
    manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        output="screen",
        parameters=[str(file), sim_time],
    )
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        output="screen",
        arguments=[*_CONTROLLERS, "--param-file", str(file)],
        parameters=[sim_time],
    )
    loading = EventHandler(
        matcher=lambda event: isinstance(event, FirstState),
        entities=[spawner],
        handle_once=True,
    )
    return [manager, RegisterEventHandler(loading), OpaqueFunction(function=_listen)]


def _listen(context: LaunchContext) -> None:
    """Emit the event when the first message with states of joints comes."""
    node = get_ros_node(context)

    def take(_: JointState) -> None:
        if subscriptions:
            node.destroy_subscription(subscriptions.pop())
            context.asyncio_loop.call_soon_threadsafe(
                lambda: context.emit_event_sync(FirstState())
            )

    subscriptions = [
        node.create_subscription(JointState, _STATES, take, qos_profile_sensor_data)
    ]
