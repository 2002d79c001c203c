# SPDX-License-Identifier: Apache-2.0
"""Two robots in one scene of one ``dynamics``: they walk, meet, push, and get up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_processes import call_service

import humans_sim as hs
from humans_sim.core.doctor import ros_hint
from humans_sim.results.check import DEEPEST

pytestmark = [pytest.mark.ros, pytest.mark.study]

NAMES = ("robot1", "robot2")
STEPS = 20
"""That each makes, at least."""
KNOCK = 1.5
"""Impulse that throws one over [N s]."""


class Robot:
    """What is heard of a robot.

    Attributes:
        bases: places and headings of the base, by stamp [ns].
        met: sums of the forces of the other robot on it, by stamp [N].
        observed: the same as ``bases``, of the observer.
    """

    def __init__(self, node: Any, name: str) -> None:
        from humans_msgs.msg import ContactStates, SimulationEvent, WalkStatus
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import JointState

        self.name, (self.other,) = name, set(NAMES) - {name}
        self.bases: dict[int, np.ndarray] = {}
        self.met: dict[int, np.ndarray] = {}
        self.events: list[Any] = []
        self.statuses: list[Any] = []
        self.stamps: list[int] = []
        self.observed: dict[int, np.ndarray] = {}
        listen = node.create_subscription
        listen(Odometry, f"/{name}/ground_truth/odom", self._on_truth, 1000)
        listen(Odometry, f"/{name}/odom", self._on_odometry, 1000)
        listen(ContactStates, f"/{name}/ground_contacts", self._on_contacts, 1000)
        listen(SimulationEvent, f"/{name}/events", self.events.append, 1000)
        listen(WalkStatus, f"/{name}/walk_status", self.statuses.append, 1000)
        listen(JointState, f"/{name}/joint_states", self._on_state, 1000)

    def _on_state(self, message: Any) -> None:
        self.stamps.append(nanoseconds(message))

    def _on_truth(self, message: Any) -> None:
        assert message.header.frame_id == "world"
        assert message.child_frame_id == f"{self.name}/ground_truth/base_link"
        self.bases[nanoseconds(message)] = base(message)

    def _on_odometry(self, message: Any) -> None:
        assert message.header.frame_id == f"{self.name}/odom"
        assert message.child_frame_id == f"{self.name}/base_link"
        self.observed[nanoseconds(message)] = base(message)

    def _on_contacts(self, message: Any) -> None:
        forces = [
            (point.force.x, point.force.y, point.force.z)
            for point in message.points
            if point.surface.startswith(f"{self.other}/")
        ]
        if forces:
            self.met[nanoseconds(message)] = np.sum(forces, axis=0)

    @property
    def steps(self) -> int:
        """Made so far; a walk that begins anew counts from zero."""
        made, before = 0, 0
        for status in self.statuses:
            made += max(status.steps - before, 0) if status.steps >= before else 0
            before = status.steps
        return made


def nanoseconds(message: Any) -> int:
    """Of the stamp of a message."""
    stamp = message.header.stamp
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def kinds(events: Iterable[Any]) -> set[str]:
    """Of events."""
    return {event.kind for event in events}


def base(message: Any) -> np.ndarray:
    """Place and heading."""
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    heading = 2.0 * math.atan2(turn.z, turn.w)
    return np.array([place.x, place.y, place.z, heading])


def test_two_robots_meet(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    khr1: hs.Model,
    tmp_path: Path,
) -> None:
    """They come to each other, push each other with one force; TF has one root."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from geometry_msgs.msg import Vector3
    from humans_msgs.srv import Push
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from simulation_interfaces.srv import GetEntities, GetEntityState
    from tf2_msgs.msg import TFMessage

    parents: dict[str, str] = {}

    def place(message: Any) -> None:
        for link in message.transforms:
            parent = parents.setdefault(link.child_frame_id, link.header.frame_id)
            assert parent == link.header.frame_id, "a frame has two parents"

    node.create_subscription(TFMessage, "/tf", place, 1000)
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(TFMessage, "/tf_static", place, latched)
    robots = [Robot(node, name) for name in NAMES]
    one, other = robots
    path = tmp_path / "pair.npz"
    graph = start(
        *("-m", "humans_sim", "up", "two-robots", "--headless"),
        *("--ros", "p dynamics:real_time_factor:=0.0"),
        *("--ros", "p dynamics:command_timeout:=0.0"),
        *("--ros", f"p dynamics:record:={path}"),
    )
    wait_for(lambda: bool(one.met and other.met), "a bump")
    wait_for(lambda: min(robot.steps for robot in robots) >= STEPS, f"{STEPS} steps")

    def call(kind: Any, name: str, **fields: Any) -> Any:
        return call_service(node, wait_for, kind, name, kind.Request(**fields))

    assert set(call(GetEntities, "/get_entities").entities) == {*NAMES, "ground"}
    state = call(GetEntityState, "/get_entity_state", entity="robot2").state
    stamp = nanoseconds(state)
    wait_for(lambda: stamp in other.bases, "the state of that time")
    place, time_of_fall = state.pose.position, stamp
    assert (place.x, place.y, place.z) == tuple(other.bases[stamp][:3])
    fallen = len(other.events)
    pushed = call(Push, "/robot2/push", impulse=Vector3(y=KNOCK))
    assert pushed.success, pushed.message
    for kind in ("push", "fallen", "getting_up", "walking"):
        wait_for(lambda k=kind: k in kinds(other.events[fallen:]), f"robot2: {kind}")
    assert "push" not in kinds(one.events)
    again = other.statuses[-1].steps
    wait_for(lambda: other.statuses[-1].steps >= again + 2, "steps after the fall")

    # They started as the parameters say, and came nearer as they looked.
    first = [robot.bases[min(robot.bases)] for robot in robots]
    assert abs(first[0][3]) < 0.01 and abs(abs(first[1][3]) - math.pi) < 0.01
    begun = min(one.met)
    before = [
        robot.bases[max(t for t in robot.bases if t <= begun)] for robot in robots
    ]
    assert before[0][0] > first[0][0] + 0.03 and before[1][0] < first[1][0] - 0.03
    # Neither got through the other, while both stood; both felt one force.
    shared = sorted(set(one.bases) & set(other.bases))
    upright = [t for t in shared if t < time_of_fall]
    apart = [np.linalg.norm(other.bases[t][:2] - one.bases[t][:2]) for t in upright]
    assert 0.1 < min(apart) < 0.15
    for t in sorted(set(one.met) & set(other.met)):
        np.testing.assert_allclose(one.met[t], -other.met[t], atol=1e-9)
    assert max(np.linalg.norm(force) for force in one.met.values()) > 0.1
    # In lock-step: every state of both, once each.
    for robot in robots:
        stamps = sorted(set(robot.stamps))
        assert set(np.diff(stamps)) == {20_000_000}
        drift = [
            np.linalg.norm(robot.bases[t][:2] - robot.observed[t][:2])
            for t in set(robot.bases) & set(robot.observed)
            if t <= begun
        ]
        assert drift and max(drift) < 0.02
        chain = [f"{robot.name}/base_footprint"]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        own = [f"{robot.name}/base_link", f"{robot.name}/odom", "world"]
        assert chain[1:] == own
        links = {child for child in parents if child.startswith(f"{robot.name}/")}
        assert {f"{robot.name}/l_sole", f"{robot.name}/r_sole"} <= links
        assert len(links) > len(khr1.joint_names)
    assert set(parents.values()) - set(parents) == {"world"}
    assert node.count_publishers("/clock") == 1

    graph.terminate()
    wait_for(lambda: graph.poll() is not None, "the end of the graph")
    run = hs.load_run(path)
    assert [robot["name"] for robot in run.info["robots"]] == ["robot2"]
    assert run.check()[DEEPEST].ok, str(run.check())
