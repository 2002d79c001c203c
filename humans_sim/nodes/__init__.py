# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes, thin: a file or a folder each. Only this folder imports rclpy."""
