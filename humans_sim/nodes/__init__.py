# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes, one file each, thin. Only this folder imports rclpy."""
