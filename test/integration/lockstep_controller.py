# SPDX-License-Identifier: Apache-2.0
"""A process that answers each state with joint torques of the same stamp."""

from __future__ import annotations

from collections.abc import Sequence

GAIN, DAMPING = 0.3, 0.003


def torques(
    names: Sequence[str], angles: Sequence[float], speeds: Sequence[float]
) -> list[float]:
    """Springs and dampers that hold the model upright, its arms a little out [N m]."""
    return [
        GAIN * ((0.3 if "shoulder_roll" in name else 0.0) - angle) - DAMPING * speed
        for name, angle, speed in zip(names, angles, speeds, strict=True)
    ]


def main() -> None:
    """Answer until stopped."""
    import rclpy
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node("lockstep_controller")
    publisher = node.create_publisher(JointState, "joint_torques", 10)

    def answer(state: JointState) -> None:
        command = JointState(header=state.header, name=state.name)
        command.effort = torques(state.name, state.position, state.velocity)
        publisher.publish(command)

    node.create_subscription(JointState, "joint_states", answer, 10)
    rclpy.spin(node)


if __name__ == "__main__":
    main()
