# SPDX-License-Identifier: Apache-2.0
"""Launch descriptions of graphs, for the files in ``launch/``.

Also ros2_control's manager, and what loads its controllers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.substitutions import LaunchConfiguration
from launch.utilities.type_utils import coerce_to_type
from launch_ros.actions import Node
from launch_ros.ros_adapters import get_ros_node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from humans_sim.anatomy.wrist.hand_motion import AXES
from humans_sim.applications.graphs import (
    Graph,
    Placing,
    controllers_file,
    read_graph,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import is_file
from humans_sim.core.resources import named_file, resource
from humans_sim.dynamics.simulation import METHODS
from humans_sim.models import load_model
from humans_sim.observation.markers.marker_set import CANONICAL
from launch import Action, Event, EventHandler, LaunchContext, LaunchDescription

_CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller")
_STATES = "joint_states"


class FirstState(Event):
    """The joints reported for the first time where they are."""

    name = "humans_sim.nodes.common.launch_graph.FirstState"


def control_actions(given: dict[str, Any]) -> list[Action]:
    """The controller manager, and what loads the controllers.

    They are loaded once the joints have reported where they are: a trajectory
    controller that is active before takes no number for where it begins, and keeps it.
    """
    if given.get("sync") == "lockstep":
        raise ParameterError("ros2_control runs on the clock: it needs sync:=free")
    file = given["controllers_file"] or controllers_file(given["model"])
    sim_time = {"use_sim_time": given["use_sim_time"]}
    manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=given["namespace"],
        output="screen",
        parameters=[str(file), sim_time],
    )
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        namespace=given["namespace"],
        output="screen",
        arguments=[*_CONTROLLERS, "--param-file", str(file)],
        parameters=[sim_time],
    )
    loading = EventHandler(
        matcher=lambda event: isinstance(event, FirstState),
        entities=[spawner],
        handle_once=True,
    )
    listening = OpaqueFunction(function=_listen, args=[given["namespace"]])
    return [manager, RegisterEventHandler(loading), listening]


def _listen(context: LaunchContext, namespace: str) -> None:
    """Emit the event when the first message with states of joints comes."""
    node = get_ros_node(context)

    def take(_: JointState) -> None:
        if subscriptions:
            node.destroy_subscription(subscriptions.pop())
            context.asyncio_loop.call_soon_threadsafe(
                lambda: context.emit_event_sync(FirstState())
            )

    subscriptions = [
        node.create_subscription(
            JointState, f"{namespace}/{_STATES}", take, qos_profile_sensor_data
        )
    ]


_CLOCK, _PLAYER, _BRIDGE = "dynamics", "marker_player", "kondo_bridge"
"""Nodes: the clock of its graph, that which plays markers, that of a real robot."""
_WRIST = "anatomy"
"""Node of a wrist, which has no model of a robot."""
_WALKS = frozenset({"walk", "kondo_walk"})
"""Nodes that walk."""
_MOVES = _WALKS | {"motion_player"}
"""Nodes that move a robot on its soles: both methods can simulate it."""
_COMMANDERS = _MOVES | {"actuation", "task_law", "scenario_law", "retarget"}
"""Nodes that command the joints; ros2_control takes their place."""
_TYPES: dict[str, type] = {
    "ros2_control": bool,
    "gui": bool,
    "use_sim_time": bool,
    "rviz": bool,
    "publish_clock": bool,
    "use_fake_hardware": bool,
    "real_time_factor": float,
    "cmd_vel": list,
    "angle": float,
    "resolution": float,
    "rate": float,
}
"""Of arguments that are no text."""
_WORDS: dict[type, str] = {
    bool: "true or false",
    float: "a number",
    list: "three numbers, as [0.05, 0, 0]",
}
_ENDED = "the simulation has ended"
_PLACING = {"namespace": "", "frame_prefix": ""}
"""Arguments of all graphs, and their defaults."""
_FILES = ("params_file", "controllers_file", "file", "subject")
"""Arguments that name a file; some may be empty."""
_WRIST_ARGUMENTS = {
    "motion": "adduction",
    "angle": "30.0",
    "resolution": "0.001",
    "rate": "1.0",
    "file": "",
}
"""Of graphs with a wrist, and their defaults."""
_CHOICES = {
    "sync": ["lockstep", "free"],
    "method": ["", *METHODS],
    "motion": list(AXES),
}
_DESCRIPTIONS = {
    "model": "khr1, human36, bip, or the path of a URDF",
    "gui": "true: opens the page of the browser viewer",
    "use_sim_time": "true: the nodes follow /clock",
    "params_file": "parameters of the nodes; the other arguments go over it",
    "namespace": "of nodes and topics, as robot1; TF too, unless frames have a prefix",
    "frame_prefix": "before names of frames, as robot1/: robots share a tree of TF",
    "publish_clock": "false: another graph has the clock, which the simulation follows",
    "sync": "lockstep: each period waits for its command; free: the newest one counts",
    "real_time_factor": "largest speed, simulated over wall time; 0: as it can",
    "method": "event_driven or time_stepping; empty: as the parameters say",
    "cmd_vel": "walks at once so: forwards, to the left [m/s], turn [rad/s]",
    "file": "to play: markers (trc, c3d, csv), a motion of a wrist (npz); empty: none",
    "motion": "of the hand: adduction, abduction, flexion or extension",
    "angle": "of the hand [deg]",
    "resolution": "edge of the voxels of the ball models [m]",
    "rate": "speed of the playback over real time",
    "subject": "file of a calibrated person; empty: the model",
    "marker_set": "name or path of a marker set",
    "port": "serial port of the boards; empty: as the parameters say",
    "use_fake_hardware": "true: emulated boards; false: as the parameters say",
    "ros2_control": "true: ros2_control commands the joints (controller_manager, "
    "joint_state_topic_hardware_interface, ros2_controllers)",
    "controllers_file": "of ros2_control; empty: that of the model",
    "rviz": "true: opens RViz (the package rviz2)",
    "rviz_config": "what RViz shows",
}


def describe(
    graph: str,
    model: str = "khr1",
    sync: str = "free",
    cmd_vel: str = "[0.0, 0.0, 0.0]",
) -> LaunchDescription:
    """The nodes of a graph as processes; model, sync and cmd_vel are defaults.

    Arguments of the launch file are ``model``, ``gui``, ``use_sim_time``,
    ``params_file``, ``namespace``, ``frame_prefix``, ``rviz`` and ``rviz_config``;
    where the graph simulates, ``sync``, ``real_time_factor`` and ``publish_clock``;
    where that is a robot which walks or plays a motion,
    ``method``; where it walks, ``cmd_vel``; where it plays markers, ``file``,
    ``subject`` and ``marker_set``; where it drives a robot, ``port`` and
    ``use_fake_hardware``; where no node of it commands the joints, ``ros2_control`` and
    ``controllers_file``; where it moves a wrist, ``motion``, ``angle``, ``resolution``,
    ``rate`` and ``file`` instead of ``model``.
    """
    chosen = read_graph(graph)
    simulates = _CLOCK in chosen.nodes
    defaults = {
        "model": model,
        "gui": "true",
        "use_sim_time": str(simulates).lower(),
        "params_file": str(chosen.parameters),
        **_PLACING,
        "rviz": "false",
        "rviz_config": str(resource("config", "rviz", f"{graph}.rviz")),
    }
    if simulates:
        defaults |= {"sync": sync, "real_time_factor": "1.0", "publish_clock": "true"}
    if simulates and _MOVES & set(chosen.nodes):
        defaults["method"] = ""
    if _WALKS & set(chosen.nodes):
        defaults["cmd_vel"] = cmd_vel
    if _BRIDGE in chosen.nodes:
        defaults |= {"port": "", "use_fake_hardware": "false"}
    if {_CLOCK, _BRIDGE} & set(chosen.nodes) and not _COMMANDERS & set(chosen.nodes):
        defaults |= {"ros2_control": "false", "controllers_file": ""}
    if _PLAYER in chosen.nodes:
        defaults |= {"file": "", "subject": "", "marker_set": "canonical"}
    if _WRIST in chosen.nodes:
        del defaults["model"]
        defaults |= _WRIST_ARGUMENTS
    arguments = [
        DeclareLaunchArgument(
            name,
            default_value=value,
            description=_DESCRIPTIONS[name],
            choices=_CHOICES.get(name),
        )
        for name, value in defaults.items()
    ]

    # All is checked before any process is there: launch leaves running what it has
    # started when a later thing is wrong.
    def start(context: LaunchContext) -> list[Action]:
        given = {name: _value(context, name) for name in defaults}
        _check(given)
        first: list[Action] = []
        if given["rviz"]:
            first.append(
                Node(
                    package="rviz2",
                    executable="rviz2",
                    arguments=["-d", given["rviz_config"]],
                    parameters=[{"use_sim_time": given["use_sim_time"]}],
                )
            )
        if given.get("ros2_control"):
            first += control_actions(given)
        return first + _nodes(chosen, given)

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def _value(context: LaunchContext, name: str) -> Any:
    """The value of an argument; refused where it is of another type."""
    text, kind = LaunchConfiguration(name).perform(context), _TYPES.get(name, str)
    try:
        if kind is list:
            # Not coerced by launch, which takes no whole numbers among others.
            forwards, left, turn = text.strip("[] ").split(",")
            return [_finite(forwards), _finite(left), _finite(turn)]
        return _finite(text) if kind is float else coerce_to_type(text, kind)
    except ValueError:
        word = _WORDS[kind]
        raise ParameterError(f"{name} must be {word}, not '{text}'") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _check(given: dict[str, Any]) -> None:
    """Refuse arguments that name a file, model, marker set or package not there.

    The namespace is written with its slash; the placing of the graph is added.
    """
    given["placing"] = Placing.of(given["namespace"], given["frame_prefix"])
    given["namespace"] = given["placing"].namespace
    files = (*_FILES, "rviz_config") if given["rviz"] else _FILES
    for name in files:
        if given.get(name) and not is_file(Path(given[name])):
            raise ParameterError(f"{name}: there is no file '{given[name]}'")
    if "model" in given:
        load_model(given["model"])
    if given.get("marker_set", CANONICAL) != CANONICAL and not given["subject"]:
        named_file("marker_sets", given["marker_set"], "marker set")
    for argument, package in (
        ("rviz", "rviz2"),
        ("ros2_control", "controller_manager"),
    ):
        if given.get(argument):
            try:
                get_package_prefix(package)
            except PackageNotFoundError:
                raise ParameterError(
                    f"{argument}:=true needs the package {package}, which is not "
                    "installed"
                ) from None


def _nodes(graph: Graph, given: dict[str, Any]) -> list[Node]:
    nodes = []
    for name, namespace in zip(graph.nodes, graph.namespaces, strict=True):
        if name in graph.pages and not given["gui"]:
            continue
        keys = ("model", "use_sim_time")
        own: dict[str, Any] = {key: given[key] for key in keys if key in given}
        placing = given["placing"].within(namespace)
        if placing.frame_prefix:
            own["frame_prefix"] = placing.frame_prefix
        if _PLAYER in graph.nodes:
            own |= {key: given[key] for key in ("subject", "marker_set")}
        if name == _CLOCK:
            own |= {key: given[key] for key in ("sync", "real_time_factor")}
            if not given["publish_clock"]:
                own["publish_clock"] = False
            own["use_sim_time"] = False
            if given.get("method"):
                own["method"] = given["method"]
            if given.get("ros2_control"):
                own["trajectories"] = False
        if name in (_PLAYER, _WRIST) and given["file"]:
            own["file"] = given["file"]
        if name == _WRIST:
            own |= {key: given[key] for key in _WRIST_ARGUMENTS if key != "file"}
        if name == _BRIDGE:
            line = ("port", "use_fake_hardware")
            own |= {key: given[key] for key in line if given[key]}
        if name in _WALKS:
            own["cmd_vel"] = given["cmd_vel"]
        nodes.append(
            Node(
                package="humans_sim",
                executable=name,
                name=name,
                # Even an empty one: without it the arguments are for any node, and the
                # file, which names its nodes, would go over them.
                namespace=placing.namespace,
                remappings=placing.remappings,
                output="screen",
                parameters=[given["params_file"], own],
                # The others would wait for its clock for ever.
                on_exit=Shutdown(reason=_ENDED) if name == _CLOCK else None,
            )
        )
    return nodes
