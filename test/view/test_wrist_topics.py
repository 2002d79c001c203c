# SPDX-License-Identifier: Apache-2.0
"""A motion of a wrist in an MCAP file: bones, ligaments and turns where they are."""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from small_wrists import small_run
from typer.testing import CliRunner

from humans_sim.anatomy import WristRun
from humans_sim.cli.commands import app
from humans_sim.view.wrist_topics import write_wrist_mcap

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls."""
    return small_run()


@pytest.fixture(scope="module")
def sent(run: WristRun, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Messages of its file by topic."""
    path = write_wrist_mcap(run, tmp_path_factory.mktemp("mcap") / "wrist.mcap")
    return messages(path)


def messages(path: Path) -> dict[str, Any]:
    """All of a file."""
    by_topic = defaultdict(list)
    for message in read_ros2_messages(str(path)):
        by_topic[message.channel.topic].append((message.log_time_ns, message.ros_msg))
    return dict(by_topic)


def xyz(vector: Any) -> np.ndarray:
    """A point or vector."""
    return np.array([vector.x, vector.y, vector.z])


def test_bones_are_where_they_were(sent: dict[str, Any], run: WristRun) -> None:
    """Meshes, turned and shifted by TF, are the bones of the run at its last sample."""
    times = [round(1e9 * t) for t in run.t]
    assert [time for time, _ in sent["/tf"]] == times
    poses = {t.child_frame_id: t for t in sent["/tf"][-1][1].transforms}
    assert set(poses) == set(run.wrist.names)
    ((_, bones),) = sent["/bones"]
    for n, (bone, marker) in enumerate(
        zip(run.wrist.bones, bones.markers, strict=True)
    ):
        assert marker.header.frame_id == bone.name and marker.frame_locked
        moved = poses[bone.name].transform
        assert poses[bone.name].header.frame_id == "wrist"
        turn = moved.rotation
        matrix = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
        got = np.array([xyz(p) for p in marker.points]) @ matrix.T
        got += xyz(moved.translation)
        corners = np.asarray(bone.mesh.vertices)[np.asarray(bone.mesh.faces).ravel()]
        local = (corners - bone.mass.center) @ run.frames[-1, n].T
        assert got == pytest.approx(local + run.x[-1, n], abs=1e-9)


def test_ligaments(sent: dict[str, Any], run: WristRun) -> None:
    """Lines from end to end, a colour for each end; their lengths and tensions."""
    for k, (_, message) in enumerate(sent["/ligaments"]):
        drawn = {m.ns: m for m in sent["/wrist_markers"][k][1].markers}["ligaments"]
        ends = np.array([xyz(p) for p in drawn.points]).reshape(-1, 2, 3)
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        assert lengths == pytest.approx(message.position)
        assert message.effort == run.tensions[k].tolist()
        assert len(drawn.colors) == len(drawn.points)
        assert {colour.a for colour in drawn.colors} == {1.0}
    assert list(message.name) == list(run.wrist.ligaments.names)


def test_turns_and_energy(sent: dict[str, Any], run: WristRun) -> None:
    """The hand first, then the free bones."""
    free = [bone.name for bone in run.wrist.bones if bone.role == "free"]
    for k, (_, message) in enumerate(sent["/bone_turns"]):
        assert list(message.name) == ["hand", *free]
        assert message.position[0] == pytest.approx(run.angles[k])
    stored = [message.data for _, message in sent["/energy/stored"]]
    assert np.array_equal(stored, run.energy[:, 1])


def test_export_writes_it(sent: dict[str, Any], run: WristRun, tmp_path: Path) -> None:
    """``humans-sim export`` of a stored motion has the same messages."""
    source, target = run.save(tmp_path / "wrist.npz"), tmp_path / "wrist.mcap"
    done = CliRunner().invoke(app, ["export", str(source), str(target)])
    assert done.exit_code == 0, done.output
    got = messages(target)
    counts = {topic: len(all_of) for topic, all_of in sent.items()}
    assert {topic: len(all_of) for topic, all_of in got.items()} == counts
    first, last = got["/tf"][0][0], got["/tf"][-1][0]
    assert (first, last) == (round(1e9 * run.t[0]), round(1e9 * run.t[-1]))
