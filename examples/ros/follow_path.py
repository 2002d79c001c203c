# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 walks along a path over ROS 2, led by odom and cmd_vel as a Nav2 robot is.

    python examples/ros/follow_path.py

The graph ``walk`` runs in this process, as fast as it can; a node beside it steers by
pure pursuit, and compares with the truth, which it does not steer by.
"""

import math

import numpy as np
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry

from humans_sim.applications.graphs import read_graph
from humans_sim.nodes.common.compose import run_graph
from humans_sim.nodes.common.model_node import ProcessNode

SPEED, TURN = 0.05, 0.3  # m/s, rad/s: what config/nav2/khr1.yaml lets Nav2 command
AHEAD, ARRIVED = 0.12, 0.04  # m: the point steered for, the end
PERIOD, WAITED = 0.1, 120.0  # s of simulated time: between commands, at most
ARC = np.linspace(0.0, math.pi / 2, 30)
PATH = np.vstack(
    [
        np.column_stack([np.linspace(0.0, 0.3, 30), np.zeros(30)]),
        0.3 * np.column_stack([1.0 + np.sin(ARC), 1.0 - np.cos(ARC)]),
    ]
)
"""Straight on for 0.3 m, then a quarter of a circle to the left (n, 2) [m]."""


def place(message):
    """Place and heading in the plane."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    yaw = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    return np.array([p.x, p.y]), yaw


class PathFollower(ProcessNode):
    """Steers by odom along the path, and stops at its end."""

    def __init__(self, end):
        super().__init__("path_follower")
        self._end, self._due, self._nearest = end, 0.0, 0
        self._stopped_at = math.inf
        self.errors, self.rest, self.time = [], math.inf, 0.0
        self._velocity = self.create_publisher(Twist, "cmd_vel", 10)
        self.create_subscription(Odometry, "odom", self._on_odometry, 100)
        self.create_subscription(Odometry, "ground_truth/odom", self._on_truth, 100)

    def _on_truth(self, message):
        there = place(message)[0]
        self.errors.append(float(np.linalg.norm(PATH - there, axis=1).min()))
        self.rest = float(np.linalg.norm(PATH[-1] - there))

    def _on_odometry(self, message):
        stamp = message.header.stamp
        self.time = stamp.sec + 1e-9 * stamp.nanosec
        if self.time > min(self._stopped_at + 3.0, WAITED):
            self._end()
        if self.time < self._due:
            return
        self._due = self.time + PERIOD
        velocity = Twist()
        velocity.linear.x, velocity.angular.z = self._steer(*place(message))
        self._velocity.publish(velocity)

    def _steer(self, here, heading):
        """Speed forwards and turn: along a circle through the point ahead."""
        near = np.linalg.norm(PATH[self._nearest :] - here, axis=1)
        self._nearest += int(np.argmin(near[: len(PATH) // 4 + 1]))
        if np.linalg.norm(PATH[-1] - here) < ARRIVED or self._stopped_at < math.inf:
            self._stopped_at = min(self._stopped_at, self.time)
            return 0.0, 0.0
        away = np.linalg.norm(PATH[self._nearest :] - here, axis=1)
        beyond = np.flatnonzero(away > AHEAD)
        target = PATH[self._nearest + beyond[0]] if len(beyond) else PATH[-1]
        x, y = target - here
        side = -x * math.sin(heading) + y * math.cos(heading)
        front = x * math.cos(heading) + y * math.sin(heading)
        if front < abs(side):  # far aside: turn where it stands
            return 0.0, math.copysign(TURN, side)
        turn = 2 * SPEED * side / (x * x + y * y)
        return SPEED, float(np.clip(turn, -TURN, TURN))


followers = []


def make(end):
    """The node that ends the graph."""
    followers.append(PathFollower(end))
    return followers[0]


graph = read_graph("walk").only("dynamics", "walk", "observer")
run_graph(graph, ["-p", "dynamics:real_time_factor:=0.0"], False, None, further=[make])
follower = followers[0]
length = float(np.linalg.norm(np.diff(PATH, axis=0), axis=1).sum())
print(f"{length:.2f} m of path in {follower.time:.0f} s of simulated time")
print(f"base at most {1e3 * max(follower.errors):.0f} mm from it")
print(f"stands {1e3 * follower.rest:.0f} mm from its end")
