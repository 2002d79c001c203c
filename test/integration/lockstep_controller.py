"""A process that answers each state with joint torques of the same stamp."""

from __future__ import annotations

from collections.abc import Sequence

import rclpy
from sensor_msgs.msg import JointState

TARGET, GAIN, DAMPING = 0.2, 0.0015, 0.0002


def torques(angles: Sequence[float], speeds: Sequence[float]) -> list[float]:
    """Springs and dampers in all joints [N m]."""
    return [
        GAIN * (TARGET - q) - DAMPING * v for q, v in zip(angles, speeds, strict=True)
    ]


def main() -> None:
    """Answer until stopped."""
    rclpy.init()
    node = rclpy.create_node("lockstep_controller")
    publisher = node.create_publisher(JointState, "joint_torques", 10)

    def answer(state: JointState) -> None:
        command = JointState(header=state.header, name=state.name)
        command.effort = torques(state.position, state.velocity)
        publisher.publish(command)

    node.create_subscription(JointState, "joint_states", answer, 10)
    rclpy.spin(node)


if __name__ == "__main__":
    main()
