# SPDX-License-Identifier: Apache-2.0
"""Topics by which tools of ROS 2 show a run: complete, and where things are."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.contact.geometry.ground import Ground
from humans_sim.dynamics import Run, Simulation
from humans_sim.models.links import LinkTree
from humans_sim.view.browser.scene_layers import solids

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

WEIGHT = 9.81
"""Of one kilogram [N]."""


@pytest.fixture(scope="module")
def standing(khr1: hs.Model) -> Run:
    """A KHR-1 that stands on its servos beside a crate."""
    crate = hs.Box((0.1, 0.2, 0.1), (0.3, 0.0, 0.05), name="crate")
    ground = Ground(friction=0.7).with_solids(crate)
    simulation = Simulation(khr1, actuation=Servo(khr1), ground=ground)
    return simulation.run(khr1.neutral(), t_end=0.2, sampling_period=0.05)


@pytest.fixture(scope="module")
def file(standing: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a file."""
    return standing.to_mcap(tmp_path_factory.mktemp("mcap") / "run.mcap")


@pytest.fixture(scope="module")
def sent(file: Path) -> dict[str, list[Any]]:
    """Its messages by topic."""
    by_topic = defaultdict(list)
    for message in read_ros2_messages(str(file)):
        by_topic[message.channel.topic].append(message.ros_msg)
    return dict(by_topic)


def xyz(vector: Any) -> np.ndarray:
    """A point or vector."""
    return np.array([vector.x, vector.y, vector.z])


def pose(place: Any, turn: Any) -> np.ndarray:
    """A homogeneous matrix."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    matrix[:3, 3] = xyz(place)
    return matrix


def link_poses(sent: dict[str, list[Any]], k: int) -> dict[str, np.ndarray]:
    """World poses of all frames at a sample, by what TF says alone."""
    parents = {}
    for part in (*sent["/tf_static"][0].transforms, *sent["/tf"][k].transforms):
        own = pose(part.transform.translation, part.transform.rotation)
        assert part.child_frame_id not in parents
        parents[part.child_frame_id] = (part.header.frame_id, own)

    def world(frame: str) -> np.ndarray:
        if frame == "world":
            return np.eye(4)
        parent, own = parents[frame]
        return world(parent) @ own

    return {frame: world(frame) for frame in parents}


def test_tf_has_every_link(
    sent: dict[str, list[Any]], standing: Run, khr1: hs.Model
) -> None:
    """All links of the URDF are in one tree under world, where the model has them."""
    tree = LinkTree(khr1)
    links = {child for _, child, _ in (*tree.fixed(), *tree.moving(khr1.neutral()))}
    for k in (0, len(standing.t) - 1):
        poses = link_poses(sent, k)
        assert set(poses) == links | {"base_link"}
        for link, got in poses.items():
            expected = khr1.frame_pose(standing.q[k], link).homogeneous
            assert got == pytest.approx(expected, abs=1e-9), link


def test_shapes_are_those_that_are_drawn(
    sent: dict[str, list[Any]], standing: Run, khr1: hs.Model
) -> None:
    """Triangles in the frames of links that TF knows; together the drawn robot."""
    (message,) = sent["/robot_markers"]
    poses = link_poses(sent, 0)
    ids = {(marker.ns, marker.id) for marker in message.markers}
    assert len(ids) == len(message.markers) == len(solids(khr1))
    clouds = []
    for marker, solid in zip(message.markers, solids(khr1), strict=True):
        assert marker.type == 11 and marker.frame_locked
        assert marker.header.frame_id == solid.name.rpartition("_")[0]
        assert len(marker.points) == 3 * len(solid.mesh.faces)
        local = pose(marker.pose.position, marker.pose.orientation)
        points = np.array([xyz(point) for point in marker.points])
        whole = poses[marker.header.frame_id] @ local
        clouds.append(points @ whole[:3, :3].T + whole[:3, 3])
        colour = (marker.color.r, marker.color.g, marker.color.b)
        assert colour == pytest.approx(np.array(solid.colour) / 255, abs=1e-6)
        assert marker.color.a == 1.0
    cloud = np.vstack(clouds)
    assert cloud[:, 2].min() == pytest.approx(0.0, abs=2e-3)
    assert cloud[:, 2].max() == pytest.approx(0.34, abs=0.02)


def test_balance(sent: dict[str, list[Any]], standing: Run, khr1: hs.Model) -> None:
    """Centre of mass by the model; the pressure under it, inside of the support."""
    for k, message in enumerate(sent["/walk_markers"]):
        markers = {marker.ns: marker for marker in message.markers}
        assert set(markers) == {"com", "com_on_floor", "zmp", "support"}
        com = khr1.com(standing.q[k])
        assert xyz(markers["com"].pose.position) == pytest.approx(com)
        below = xyz(markers["com_on_floor"].pose.position)
        assert below == pytest.approx([com[0], com[1], 0.0], abs=2e-3)
    support, zmp = markers["support"], xyz(markers["zmp"].pose.position)
    corners = np.array([xyz(point) for point in support.points])
    assert corners[0] == pytest.approx(corners[-1])  # a closed line
    assert ConvexHull(corners[:, :2]).volume > 0.005  # an area, both feet
    assert zmp[:2] == pytest.approx(com[:2], abs=0.02)
    assert (corners[:, :2].min(axis=0) < zmp[:2]).all()
    assert (zmp[:2] < corners[:, :2].max(axis=0)).all()


def test_forces_carry_the_weight(
    sent: dict[str, list[Any]], standing: Run, khr1: hs.Model
) -> None:
    """Arrows start on the floor; together they are as long as the weight."""
    message = sent["/contact_markers"][-1]
    first, *arrows = message.markers
    assert first.action == 3 and arrows
    total = np.zeros(3)
    for marker in arrows:
        start, tip = (xyz(point) for point in marker.points)
        assert start[2] == pytest.approx(0.0, abs=2e-3)
        total += tip - start
    normal = standing.forces[-1, :, 0].sum() / (khr1.mass * WEIGHT)
    assert total[2] == pytest.approx(normal * 0.34, rel=0.1)
    assert abs(total[0]) < 0.2 * total[2]


def test_scene(sent: dict[str, list[Any]]) -> None:
    """The crate is where it is; it is sent once."""
    (message,) = sent["/scene"]
    (crate,) = message.markers
    assert crate.type == 1 and crate.header.frame_id == "world"
    assert xyz(crate.scale) == pytest.approx([0.1, 0.2, 0.1])
    assert xyz(crate.pose.position) == pytest.approx([0.3, 0.0, 0.05])


def test_robot_description(sent: dict[str, list[Any]], khr1: hs.Model) -> None:
    """The URDF, as state publishers send it."""
    assert [message.data for message in sent["/robot_description"]] == [khr1.urdf()]


def test_schemas_hold_all_that_is_inside(file: Path) -> None:
    """Each type that a definition names is defined in its schema."""
    plain = {"bool", "string", "byte", "char", "float32", "float64"}
    plain |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    with file.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    names = {schema.name for schema in summary.schemas.values()}
    assert {"visualization_msgs/msg/MarkerArray", "std_msgs/msg/String"} <= names
    for schema in summary.schemas.values():
        package = schema.name.partition("/")[0]
        first, *others = schema.data.decode().split("=" * 80 + "\nMSG: ")
        known = {part.partition("\n")[0] for part in others}
        for text, own in [(first, package)] + [
            (part.partition("\n")[2], part.partition("/")[0]) for part in others
        ]:
            for line in text.splitlines():
                kind = line.split(" ")[0].partition("[")[0]
                if not line.strip() or kind in plain:
                    continue
                assert (kind if "/" in kind else f"{own}/{kind}") in known, line


def test_topics_are_played_as_they_were_meant(file: Path) -> None:
    """What is sent once is transient local, so that who comes later gets it."""
    with file.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    once = {"/robot_description", "/tf_static", "/robot_markers", "/scene"}
    for channel in summary.channels.values():
        (profile,) = yaml.safe_load(channel.metadata["offered_qos_profiles"])
        assert profile["reliability"] == 1  # reliable
        durability = 1 if channel.topic in once else 2  # transient local, volatile
        assert profile["durability"] == durability, channel.topic
    assert once <= {channel.topic for channel in summary.channels.values()}


def test_free_bodies_move(tmp_path: Path) -> None:
    """A box that a robot pushes is a cube of its size at its place, in every sample."""
    run = hs.simulate("push-box", t_end=0.05)
    path, boxes = run.to_mcap(tmp_path / "run.mcap"), []
    for message in read_ros2_messages(str(path)):
        if message.channel.topic == "/scene":
            boxes.append(message.ros_msg.markers[-1])
    assert len(boxes) == len(run.t)
    (record,) = run.info["bodies"]
    for k, marker in enumerate(boxes):
        assert xyz(marker.scale) == pytest.approx(record["size"])
        assert xyz(marker.pose.position) == pytest.approx(run.q[k, -7:-4])


def test_a_model_that_is_gone(standing: Run, tmp_path: Path) -> None:
    """The numbers are written; the file says why there is nothing to see."""
    info = {**standing.info, "model": {"name": "nobody-knows-it"}}
    path = replace(standing, info=info).to_mcap(tmp_path / "run.mcap")
    with path.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        metadata = {m.name: m.metadata for m in reader.iter_metadata()}
    assert summary is not None
    topics = {channel.topic for channel in summary.channels.values()}
    assert "/joint_states" in topics and "/robot_markers" not in topics
    assert "nobody-knows-it" in json.loads(metadata["humans_sim"]["scene_left_out"])
