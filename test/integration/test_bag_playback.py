# SPDX-License-Identifier: Apache-2.0
"""A run's MCAP file, played: other nodes get the run, and the viewer moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import page_address
from tab import Tab, wait

import humans_sim as hs
from humans_sim.dynamics import Run, Simulation

pytestmark = pytest.mark.study

PLAYER = Path(__file__).with_name("play_bag.py")


@pytest.fixture(scope="module")
def stretching(khr1: hs.Model) -> Run:
    """A KHR-1 that stretches its arms out to the sides and goes forwards."""
    run = Simulation(khr1, locked=["*"]).run(khr1.neutral(), t_end=0.3)
    q = run.q.copy()
    share = np.linspace(0.0, 1.0, len(q))
    for side, sign in (("l", 1.0), ("r", -1.0)):
        joint = khr1.joint_names.index(f"{side}_shoulder_roll")
        q[:, 7 + joint] = sign * 1.5 * share
    q[:, 0] += 0.2 * share
    return replace(run, q=q)


def test_playback(
    stretching: Run,
    request: pytest.FixtureRequest,
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Every sample arrives as it was; the page shows the robot as it was at the end."""
    from nav_msgs.msg import Odometry
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage

    path = stretching.to_mcap(tmp_path / "run.mcap")
    viewer = start(
        *("-m", "humans_sim.nodes", "viewer", "--ros-args"),
        *("-p", "model:=khr1", "-p", "port:=0", "-p", "commands:=false"),
    )
    url = page_address(viewer)

    def page(name: str) -> Tab:
        # A new one each: its camera looks at where the robot is then.
        tab = Tab(url, tmp_path / name)
        request.addfinalizer(tab.close)
        wait(lambda: blue(tab.picture()) > 1000, "the robot on the page")
        return tab

    assert forearm(page("before").picture()) < 20
    joints: list[JointState] = []
    bases: list[Odometry] = []
    links: list[TFMessage] = []
    for kind, topic, heard in (
        (JointState, "joint_states", joints),
        (Odometry, "odom", bases),
        (TFMessage, "/tf", links),
    ):
        node.create_subscription(kind, topic, heard.append, 1000)
    player = start(str(PLAYER), str(path))
    count = len(stretching.t)
    wait_for(lambda: min(len(joints), len(bases), len(links)) >= count, "all samples")
    assert [list(m.position) for m in joints[:count]] == stretching.q[:, 7:].tolist()
    assert [m.pose.pose.position.x for m in bases[:count]] == stretching.q[
        :, 0
    ].tolist()
    assert {t.child_frame_id for t in links[0].transforms} >= {"base_link", "l_foot"}

    late: list[String] = []  # who comes later gets what was sent once
    quality = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, "robot_description", late.append, quality)
    wait_for(lambda: bool(late), "the description")
    assert late[0].data == hs.load_model("khr1").urdf()

    assert player.poll() is None and viewer.poll() is None
    tab = page("after")
    wait(lambda: forearm(tab.picture()) > 300, "the raised arm on the page")


def blue(picture: np.ndarray) -> int:
    """Pixels of the robot's blue parts."""
    return int(np.count_nonzero(picture[:, :, 2] - picture[:, :, 0] > 60))


def forearm(picture: np.ndarray) -> int:
    """Blue pixels beside the robot's left shoulder: its forearm, once it is raised."""
    return blue(picture[100:250, 575:660])
