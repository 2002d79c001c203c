# SPDX-License-Identifier: Apache-2.0
"""Runs of two robots in one scene are shown with both, each where it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scene_readers import Y_UP, Glb
from tab import Tab, wait

import humans_sim as hs
from humans_sim.dynamics.scene_bodies import SceneRobot
from humans_sim.dynamics.scenes.scene_system import SceneActuation, SceneSystem
from humans_sim.results.run import load_run
from humans_sim.view.browser.run_page import RunPage

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

AWAY = (0.3, 0.4)
"""Where the second one stands, turned by half a turn [m]."""
LINK = "l_foot"


@pytest.fixture(scope="module")
def pair(khr1: hs.Model, tmp_path_factory: pytest.TempPathFactory) -> hs.Run:
    """Two KHR-1 on their servos, a ball before the second's coordinates; stored."""
    ball = hs.SceneBody.ball("ball", 0.1, 0.05)
    scene = SceneSystem(
        [ball],
        hs.Ground(friction=0.7),
        robot=khr1,
        others=[SceneRobot("robot2", khr1)],
    )
    turned = khr1.neutral()
    turned[:2], turned[3:7] = AWAY, (0.0, 0.0, 1.0, 0.0)
    q = scene.configuration(
        {"ball": (0.0, -0.5, 0.05)}, khr1.neutral(), others={"robot2": turned}
    )
    servos = SceneActuation(scene, hs.Servo(khr1), others={"robot2": hs.Servo(khr1)})
    run = hs.Simulation(scene, servos).run(q, t_end=0.06, sampling_period=0.02)
    return load_run(run.save(tmp_path_factory.mktemp("pair") / "pair.npz"))


def postures(run: hs.Run, k: int) -> dict[str, np.ndarray]:
    """Configurations by what stands before names, from the names of coordinates."""
    nq = len(hs.load_model("khr1").neutral())
    first = run.position_names.index("robot2/base_x")
    return {"": run.q[k, :nq], "robot2/": run.q[k, first : first + nq]}


@pytest.fixture
def page(pair: hs.Run) -> Iterator[RunPage]:
    """Its page at the last sample."""
    page = RunPage([pair], port=0)
    page.line.seek(float(pair.t[-1]))
    page.update(1.0)
    yield page
    page.stop()


def test_both_are_on_the_page(page: RunPage, pair: hs.Run, khr1: hs.Model) -> None:
    """Bases of what is drawn, each below a frame of its own that stays."""
    nodes = page.server.scene._handle_from_node_name
    for space, q in postures(pair, -1).items():
        frame = nodes[f"/stage/{space}robot/01"]
        assert np.asarray(frame.position) == pytest.approx(q[:3], abs=1e-9)
        turn = np.asarray(frame.wxyz)[[1, 2, 3, 0]]
        assert abs(turn @ q[3:7]) == pytest.approx(1.0)
        meshes = [name for name in nodes if name.startswith(f"/stage/{space}robot/")]
        assert len(meshes) > khr1.pin.njoints
    assert not np.asarray(nodes["/stage/robot2"].position).any()


@pytest.mark.study
@pytest.mark.browser
def test_both_are_seen(page: RunPage, pair: hs.Run, tmp_path: Path) -> None:
    """In a browser: what goes with either of them is where the camera sees it."""
    tab, whole = Tab(page.url, tmp_path / "profile"), np.empty(0)
    nodes = page.server.scene._handle_from_node_name

    def picture() -> np.ndarray:
        """What is drawn, without the panel."""
        (client,) = page.server.get_clients().values()
        size = client.camera.image_height, client.camera.image_width
        with page._page.incoming.expecting_picture():
            return np.asarray(client.get_render(*size)).astype(int)[..., :3]

    def settled() -> bool:
        """Whether everything has been drawn."""
        nonlocal whole
        before, whole = whole, picture()
        return np.array_equal(before, whole)

    def gone() -> np.ndarray:
        """Pixels that differ from the whole picture (height, width)."""
        return np.asarray(np.abs(whole - picture()).max(axis=2) > 60)

    try:
        wait(lambda: "Screenshot" in tab.text(), "the controls")
        wait(lambda: len(page.server.get_clients()) == 1, "the browser's camera")
        (client,) = page.server.get_clients().values()
        wait(lambda: client.camera.image_height > 0, "the size of its picture")
        camera = client.camera
        height, width = camera.image_height, camera.image_width
        wait(settled, "the whole picture")
        look = np.asarray(camera.look_at) - np.asarray(camera.position)
        ahead = look / np.linalg.norm(look)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        below = np.cross(ahead, right)
        for space, q in postures(pair, -1).items():
            body = nodes[f"/stage/{space}robot"]
            body.visible = False
            wait(lambda: bool(gone().any()), "the one to go")
            rows, columns = np.nonzero(gone())
            body.visible = True
            wait(lambda: not gone().any(), "it to come back")
            base = q[:3] - np.asarray(camera.position)
            scale = 0.5 * height / np.tan(camera.fov / 2) / (base @ ahead)
            expected = [
                0.5 * height + scale * (base @ below),
                0.5 * width + scale * (base @ right),
            ]
            seen = [np.median(rows), np.median(columns)]
            reach = scale * 0.1  # of a robot that is 34 cm high
            assert seen == pytest.approx(expected, abs=reach), space
    finally:
        tab.close()


def test_both_are_in_scene_files(pair: hs.Run, khr1: hs.Model, tmp_path: Path) -> None:
    """A foot of each is where the model has it."""
    file = Glb(hs.animate(pair, tmp_path / "pair.glb").read_bytes())
    for k in (0, len(pair.t) - 1):
        poses = file.poses(k)
        for space, q in postures(pair, k).items():
            foot = khr1.frame_pose(q, LINK).translation
            got = poses[f"{space}{LINK}"][:3, 3]
            assert got == pytest.approx(Y_UP @ foot, abs=1e-5)


def test_both_are_in_messages(pair: hs.Run, khr1: hs.Model, tmp_path: Path) -> None:
    """One tree of frames; joints, shapes and feet of the second under its name."""
    sent: dict[str, list[Any]] = {}
    for read in read_ros2_messages(str(pair.to_mcap(tmp_path / "pair.mcap"))):
        sent.setdefault(read.channel.topic, []).append(read.ros_msg)
    last = sent["/tf"][-1].transforms + sent["/tf_static"][0].transforms
    frames = {part.child_frame_id: part for part in last}
    assert len(frames) == len(last)
    for space, q in postures(pair, -1).items():
        base = frames[f"{space}base_link"]
        place = base.transform.translation
        assert [place.x, place.y, place.z] == pytest.approx(q[:3])
        assert base.header.frame_id == "world"
        (shapes,) = sent[f"/{space}robot_markers"]
        assert shapes.markers
        assert {shape.header.frame_id for shape in shapes.markers} <= set(frames)
        state = sent[f"/{space}joint_states"][-1]
        assert tuple(state.name) == khr1.joint_names
        assert state.position == q[7:].tolist()
        odometry = sent[f"/{space}odom"][-1]
        assert odometry.child_frame_id == f"{space}base_link"
        assert odometry.pose.pose.position.x == q[0]
        points = sent[f"/{space}ground_contacts"][-1].points
        places = {point.name.partition("/")[0]: point.position for point in points}
        feet = [tag for tag in khr1.tag_names if "_foot_" in tag]
        assert set(feet) <= set(places)
        for tag, at in zip(khr1.tag_names, khr1.tags(q), strict=False):
            if tag in feet:
                assert [places[tag].x, places[tag].y] == pytest.approx(at[:2])
        force = sum(point.force.z for point in points)
        column = sum(
            pair.forces[-1, k, 0]
            for k, name in enumerate(pair.table.names)
            if name.startswith(space)
            and (space or not name.startswith("robot2/"))
            and "_foot_" in name
            and pair.table.kinds[k] == "point"
        )
        assert column > 0.0 and force == pytest.approx(column)
