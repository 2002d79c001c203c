# SPDX-License-Identifier: Apache-2.0
"""The tag ``<ros2_control>`` and the controllers, as upstream writes their rules down.

ros2_control has no schema file: what follows is what its component parser accepts
(``hardware_interface``, branch jazzy), the README of
``joint_state_topic_hardware_interface``, and the parameter files of
``ros2_controllers``.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import humans_sim as hs
from humans_sim.applications.graphs import controllers_file
from humans_sim.models import NAMES

DRIVEN = ("khr1", "bip")
"""Models with the tag: those with servos in config/robots."""
CHILDREN = {
    "ros2_control": {"hardware", "joint", "sensor", "gpio", "transmission"},
    "hardware": {"plugin", "param", "group", "properties"},
    "joint": {"command_interface", "state_interface", "param", "properties"},
    "command_interface": {"param", "limits"},
    "state_interface": {"param", "limits"},
    "plugin": set(),
    "param": set(),
}
ATTRIBUTES = {
    "ros2_control": {"name", "type", "rw_rate", "is_async", "thread_priority"},
    "joint": {"name", "mimic"},
    "command_interface": {"name", "data_type", "size"},
    "state_interface": {"name", "data_type", "size"},
    "param": {"name"},
}
PLUGIN = "joint_state_topic_hardware_interface/JointStateTopicSystem"
HARDWARE = {
    "joint_commands_topic": str,
    "joint_states_topic": str,
    "trigger_joint_command_threshold": float,
    "sum_wrapped_joint_states": str,
}
INTERFACE = {"min": float, "max": float, "initial_value": float}
STATES = {"position", "velocity", "effort"}
"""What a JointState message can say."""
CONTROLLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "joint_state_broadcaster": (
        "joint_state_broadcaster/JointStateBroadcaster",
        {"use_local_topics": bool, "joints": list, "interfaces": list},
    ),
    "joint_trajectory_controller": (
        "joint_trajectory_controller/JointTrajectoryController",
        {
            "joints": list,
            "command_interfaces": list,
            "state_interfaces": list,
            "allow_partial_joints_goal": bool,
            "interpolate_from_desired_state": bool,
            "allow_nonzero_velocity_at_trajectory_end": bool,
            "action_monitor_rate": float,
            "constraints": {"goal_time": float, "stopped_velocity_tolerance": float},
        },
    ),
}
TOLERANCES = {"trajectory": float, "goal": float}
"""Of a joint, in the constraints."""


def tag_of(model: hs.Model) -> ET.Element:
    """The tag in the URDF of a model."""
    (tag,) = ET.fromstring(model.urdf()).findall("ros2_control")
    return tag


def parameters(element: ET.Element, known: dict[str, type]) -> dict[str, Any]:
    """Parameters of an element, each once, known and of its type."""
    values = {}
    for entry in element.findall("param"):
        name = entry.attrib["name"]
        assert name not in values
        values[name] = known[name](entry.text)
    return values


def check_grammar(element: ET.Element) -> None:
    """Elements and attributes are those that upstream's parser knows."""
    assert set(element.attrib) <= ATTRIBUTES.get(element.tag, set())
    for child in element:
        assert child.tag in CHILDREN[element.tag], f"{child.tag} in {element.tag}"
        check_grammar(child)


@pytest.mark.parametrize("name", DRIVEN)
def test_tag_is_what_upstream_reads(name: str) -> None:
    """All joints of the robot, by position, within their limits."""
    model = hs.load_model(name)
    tag = tag_of(model)
    check_grammar(tag)
    assert tag.attrib == {"name": name, "type": "system"}
    (hardware,) = tag.findall("hardware")
    assert [plugin.text for plugin in hardware.findall("plugin")] == [PLUGIN]
    given = parameters(hardware, HARDWARE)
    assert given["joint_commands_topic"] == "joint_commands"
    assert given["joint_states_topic"] == "joint_states"
    # Else a robot that is where it shall be hears nothing, and becomes limp.
    assert given["trigger_joint_command_threshold"] == -1.0
    joints = {joint.attrib["name"]: joint for joint in tag.findall("joint")}
    assert sorted(joints) == sorted(model.joint_names)
    limits = zip(model.joint_names, model.lower_limits, model.upper_limits, strict=True)
    for joint, lower, upper in limits:
        (command,) = joints[joint].findall("command_interface")
        assert command.attrib["name"] == "position"
        ends = parameters(command, INTERFACE)
        assert ends == pytest.approx({"min": lower, "max": upper})
        states = {
            state.attrib["name"]: parameters(state, INTERFACE)
            for state in joints[joint].findall("state_interface")
        }
        # All that a message says: upstream fails on what it finds no interface for.
        assert set(states) == STATES
        # A controller that took an invented angle for the joint's would drive it there.
        assert "initial_value" not in states["position"]


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(DRIVEN)))
def test_bodies_without_servos_have_none(name: str) -> None:
    """A human has no joints that a controller could command."""
    assert "ros2_control" not in hs.load_model(name).urdf()


@pytest.mark.parametrize("name", DRIVEN)
def test_controllers_are_what_upstream_reads(name: str) -> None:
    """Types, parameters and their types; joints and interfaces are those of the tag."""
    model = hs.load_model(name)
    root = yaml.safe_load(controllers_file(name).read_text())
    manager = root.pop("controller_manager")["ros__parameters"]
    rate = manager.pop("update_rate")
    assert isinstance(rate, int) and rate > 0
    assert set(manager) == set(root) == set(CONTROLLERS)
    given = root["joint_trajectory_controller"]["ros__parameters"]
    tolerances = {joint: given["constraints"].pop(joint) for joint in model.joint_names}
    check_types(tolerances, dict.fromkeys(model.joint_names, TOLERANCES))
    for controller, (kind, known) in CONTROLLERS.items():
        assert manager[controller] == {"type": kind}
        check_types(root[controller]["ros__parameters"], known)
    assert tuple(given["joints"]) == model.joint_names
    # Without tolerances a controller reports goals as reached that no joint followed.
    assert all(tolerances[joint]["goal"] > 0.0 for joint in model.joint_names)
    assert given["constraints"]["goal_time"] > 0.0
    for joint in tag_of(model).findall("joint"):
        for word in ("command", "state"):
            offered = {
                interface.attrib["name"]
                for interface in joint.findall(f"{word}_interface")
            }
            assert set(given[f"{word}_interfaces"]) <= offered
    # Two sources of joint_states would be one too many.
    broadcaster = root["joint_state_broadcaster"]["ros__parameters"]
    assert broadcaster["use_local_topics"] is True


def check_types(values: dict[str, Any], known: dict[str, Any]) -> None:
    """Parameters are known, and of the type that they are declared with."""
    for key, value in values.items():
        if isinstance(known[key], dict):
            check_types(value, known[key])
        else:
            assert type(value) is known[key], key


def test_other_models_have_no_controllers() -> None:
    """The error says which have, and what to give instead."""
    with pytest.raises(hs.errors.ParameterError, match=r"bip, khr1.*controllers_file"):
        controllers_file("human36")


def test_readers_leave_the_tag_aside(khr1: hs.Model, tmp_path: Path) -> None:
    """A URDF with a tag of somebody else's is the same body as without it."""
    robot = ET.fromstring(khr1.urdf())
    robot.remove(robot.findall("ros2_control")[0])
    foreign = """<ros2_control name="other" type="system" rw_rate="100">
      <hardware><plugin>mock_components/GenericSystem</plugin></hardware>
      <joint name="head_yaw"><command_interface name="position" size="many">
        <limits enable="false"/></command_interface><limit lower="none"/></joint>
      <sensor name="imu"><state_interface name="orientation.x"/></sensor>
      <transmission name="gear"><joint name="head_yaw" offset="two"/></transmission>
    </ros2_control>"""
    plain, tagged = tmp_path / "plain.urdf", tmp_path / "tagged.urdf"
    plain.write_text(ET.tostring(robot, encoding="unicode"))
    robot.append(ET.fromstring(foreign))
    tagged.write_text(ET.tostring(robot, encoding="unicode"))
    one, two = hs.load_model(plain), hs.load_model(tagged)
    assert one.joint_names == two.joint_names
    q = one.neutral()
    np.testing.assert_array_equal(one.inertia(q), two.inertia(q))
    np.testing.assert_array_equal(one.upper_limits, two.upper_limits)
