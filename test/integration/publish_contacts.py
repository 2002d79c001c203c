# SPDX-License-Identifier: Apache-2.0
"""A process that publishes a ContactStates message until it is stopped."""

from __future__ import annotations

import time

import rclpy
from humans_msgs.msg import ContactPoint, ContactStates, SoleContact


def contact_states() -> ContactStates:
    """Two points and a sole, with numbers a test can recognise."""
    message = ContactStates()
    message.header.frame_id = "odom"
    for i, mode in enumerate((ContactPoint.STICKING, ContactPoint.OPEN)):
        point = ContactPoint()
        point.name = f"point_{i}"
        point.mode = mode
        point.gap = 0.25 * i
        message.points.append(point)
    sole = SoleContact()
    sole.name = "l_sole"
    message.soles.append(sole)
    return message


def main() -> None:
    """Publish at 20 Hz."""
    rclpy.init()
    node = rclpy.create_node("publish_contacts")
    publisher = node.create_publisher(ContactStates, "ground_contacts", 10)
    message = contact_states()
    while rclpy.ok():
        message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
