# SPDX-License-Identifier: Apache-2.0
"""Odometry of a walking robot as others use it: its frames, its covariance.

The consumer is an extended Kalman filter as robot_localization has it: it predicts by
velocities, and weighs what comes by the covariances of the messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

WALKED = 6.0
"""Simulated time that is listened to [s]."""
FIX = 0.05
"""Standard deviation of the places that the filter is told [m]."""
PLANE = np.array([0, 1, 5])
"""x, y and yaw among the components of a pose."""


class Sample(NamedTuple):
    """A pose in the plane with its covariance, and a twist with its own."""

    pose: np.ndarray
    spread: np.ndarray
    twist: np.ndarray
    twist_spread: np.ndarray


def sample_of(message: Any) -> Sample:
    """x, y and yaw of a nav_msgs/Odometry, vx, vy and wz."""
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    forward = 1 - 2 * (turn.y**2 + turn.z**2)
    yaw = math.atan2(2 * (turn.w * turn.z + turn.x * turn.y), forward)
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    spreads = [
        np.reshape(part.covariance, (6, 6))[np.ix_(PLANE, PLANE)]
        for part in (message.pose, message.twist)
    ]
    twist = np.array([linear.x, linear.y, angular.z])
    return Sample(np.array([place.x, place.y, yaw]), spreads[0], twist, spreads[1])


class Filter:
    """Pose and twist in the plane, with their covariance."""

    def __init__(self, start: np.ndarray) -> None:
        self.x = np.concatenate([start, np.zeros(3)])
        self.p = np.diag([1e-6] * 3 + [1.0] * 3)

    def predict(self, dt: float) -> None:
        """Go on with the velocity; it may change by 1 m/s^2."""
        yaw, (u, v, w) = self.x[2], self.x[3:]
        c, s = math.cos(yaw), math.sin(yaw)
        self.x[:3] += dt * np.array([c * u - s * v, s * u + c * v, w])
        f = np.eye(6)
        f[:2, 2] = dt * np.array([-s * u - c * v, c * u - s * v])
        f[:3, 3:] = dt * np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        self.p = f @ self.p @ f.T + np.diag([1e-6] * 3 + [dt**2] * 3)

    def correct(self, first: int, seen: np.ndarray, spread: np.ndarray) -> None:
        """Weigh what was seen of components from the first on."""
        h = np.eye(6)[first : first + len(seen)]
        gain = self.p @ h.T @ np.linalg.inv(h @ self.p @ h.T + spread)
        self.x += gain @ (seen - h @ self.x)
        self.p = (np.eye(6) - gain @ h) @ self.p


class Walk(NamedTuple):
    """What was heard of a walk: by stamp [ns], and parents of frames."""

    seen: dict[int, Any]
    truth: dict[int, Any]
    parents: dict[str, str]

    @property
    def stamps(self) -> list[int]:
        """Of what was said of both."""
        return sorted(self.seen.keys() & self.truth.keys())


@pytest.fixture
def walk(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> Iterator[Walk]:
    """The graph ``walk`` on its way, listened to for some seconds."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from nav_msgs.msg import Odometry
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from tf2_msgs.msg import TFMessage

    heard = Walk({}, {}, {})

    def take(kept: dict[int, Any]) -> Callable[[Any], None]:
        def callback(message: Any) -> None:
            stamp = message.header.stamp
            kept[stamp.sec * 10**9 + stamp.nanosec] = message

        return callback

    def place(message: Any) -> None:
        for link in message.transforms:
            parent = heard.parents.setdefault(link.child_frame_id, link.header.frame_id)
            assert parent == link.header.frame_id, "a frame has two parents"

    listen = node.create_subscription
    listen(Odometry, "odom", take(heard.seen), 1000)
    listen(Odometry, "ground_truth/odom", take(heard.truth), 1000)
    listen(TFMessage, "/tf", place, 1000)
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    listen(TFMessage, "/tf_static", place, latched)
    start(
        *("-m", "humans_sim", "up", "walk", "--headless"),
        *("--ros", "p walk:cmd_vel:=[0.06, 0.0, 0.15]"),
    )
    wait_for(lambda: heard.stamps[-1:] > [WALKED * 1e9], "a walk")
    yield heard


def test_odometry_as_others_use_it(walk: Walk) -> None:
    """Frames of REP-105, errors as they are said to be, and a filter that is right."""
    parents = walk.parents
    assert parents["odom"] == "world" and parents["base_link"] == "odom"
    assert parents["ground_truth/base_link"] == "world"
    assert parents["base_footprint"] == "base_link"
    assert set(parents.values()) - set(parents) == {"world"}
    stamps = walk.stamps
    assert walk.seen[stamps[0]].child_frame_id == "base_link"
    assert walk.truth[stamps[0]].child_frame_id == "ground_truth/base_link"
    pairs = [(sample_of(walk.seen[k]), sample_of(walk.truth[k])) for k in stamps]
    inside = [
        np.abs(seen.pose - true.pose) <= 3 * np.sqrt(np.diag(seen.spread))
        for seen, true in pairs
    ]
    assert np.mean(np.all(inside, axis=1)) > 0.95
    assert not np.array(walk.truth[stamps[0]].pose.covariance).any()
    seen = pairs[-1][0]
    assert np.linalg.eigvalsh(seen.spread).min() > 0.0
    assert np.sqrt(seen.spread[0, 0]) < 0.05  # and says something

    random, fused, errors = np.random.default_rng(1), Filter(pairs[0][1].pose), []
    fixes = []
    for k, (seen, true) in enumerate(pairs[1:], 1):
        fused.predict((stamps[k] - stamps[k - 1]) * 1e-9)
        fused.correct(3, seen.twist, seen.twist_spread)
        if k % 50 == 0:  # each second a place
            fix = true.pose[:2] + FIX * random.standard_normal(2)
            fixes.append(np.abs(fix - true.pose[:2]).max())
            fused.correct(0, fix, FIX**2 * np.eye(2))
        errors.append(np.abs(fused.x[:3] - true.pose) / np.sqrt(np.diag(fused.p)[:3]))
    assert np.mean(np.array(errors) <= 3.0) > 0.95
    assert np.abs(fused.x[:2] - pairs[-1][1].pose[:2]).max() < max(fixes)
