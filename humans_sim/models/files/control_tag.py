# SPDX-License-Identifier: Apache-2.0
"""The element ``<ros2_control>`` of a URDF, for a robot that is driven over topics.

Joints are commanded and read by ros2_control's hardware interface for topics
(``joint_state_topic_hardware_interface``), whether a simulation or a real robot takes
the commands.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from humans_sim.models.description import Joint, ModelDescription

TAG = "ros2_control"
INTERFACES = ("position",)
"""What joints can be commanded by."""
_PLUGIN = "joint_state_topic_hardware_interface/JointStateTopicSystem"
_PARAMETERS = {
    "joint_commands_topic": "joint_commands",
    "joint_states_topic": "joint_states",
    # Always: without commands for a while a real robot makes its servos limp.
    "trigger_joint_command_threshold": "-1",
}


def add_control_tag(
    robot: ET.Element, description: ModelDescription, interface: str
) -> None:
    """Add the element to a ``<robot>``.

    Args:
        robot: the element of the robot.
        description: its joints.
        interface: what they are commanded by, of :data:`INTERFACES`.
    """
    control = ET.SubElement(robot, TAG, name=description.name, type="system")
    hardware = ET.SubElement(control, "hardware")
    ET.SubElement(hardware, "plugin").text = _PLUGIN
    for name, value in _PARAMETERS.items():
        _parameter(hardware, name, value)
    for joint in description.joints:
        _add_joint(control, joint, interface)


def _add_joint(control: ET.Element, joint: Joint, interface: str) -> None:
    element = ET.SubElement(control, "joint", name=joint.name)
    command = ET.SubElement(element, "command_interface", name=interface)
    _parameter(command, "min", repr(joint.lower))
    _parameter(command, "max", repr(joint.upper))
    # No initial value: where a joint is, nobody knows before its first state, and a
    # controller that took zero for it would drive it there.
    ET.SubElement(element, "state_interface", name="position")
    # Servos that are not asked for it report no speed.
    speed = ET.SubElement(element, "state_interface", name="velocity")
    _parameter(speed, "initial_value", "0.0")
    # A simulated joint reports its torque, too, and the hardware interface fails on
    # what it reads and finds no interface for. Nobody knows a real servo's: no number.
    ET.SubElement(element, "state_interface", name="effort")


def _parameter(element: ET.Element, name: str, value: str) -> None:
    ET.SubElement(element, "param", name=name).text = value
