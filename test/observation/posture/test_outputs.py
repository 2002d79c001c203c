# SPDX-License-Identifier: Apache-2.0
"""Reconstructions as files: HuMAnS tables, OpenSim motions, ROS 2 messages."""

from __future__ import annotations

import csv
import json
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.models.points import ROS_FROM_HUMANS, to_humans
from humans_sim.observation.markers import MarkerFileError, MarkerTrial
from humans_sim.observation.posture.export import write_mcap
from humans_sim.observation.posture.humans_tables import read_rec_pos, write_humans_csv
from humans_sim.observation.posture.opensim_files import BASE_COLUMNS, write_mot
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

COUNT = 6


@pytest.fixture
def result(human: hs.Model, rng: np.random.Generator) -> Reconstruction:
    """Postures at random, whose tags were measured with errors."""
    q = np.array([human.random_configuration(rng) for _ in range(COUNT)])
    q[:, :3] = rng.normal(size=(COUNT, 3))
    turns = np.linspace(3.0, 3.4, COUNT)  # the subject turns past 180 degrees
    tilts = np.linspace([0.1, -0.1], [0.15, 0.1], COUNT)
    q[:, 3:7] = Rotation.from_euler("zyx", np.c_[turns, tilts]).as_quat()
    tags = np.array([human.tags(row)[:-1] for row in q])
    differences = rng.normal(size=tags.shape) * 1e-3
    names = tuple(human.tag_names)
    status = np.zeros(tags.shape[:2], dtype=int)
    positions = tags + differences
    status[2, 5], status[3, 6], status[4, 7] = (
        MarkerStatus.OCCLUDED,
        MarkerStatus.REJECTED,
        MarkerStatus.INTERPOLATED,
    )
    positions[2, 5] = differences[2, 5] = np.nan
    filled = status == MarkerStatus.INTERPOLATED
    frames = np.arange(COUNT) + 101
    trial = MarkerTrial(
        names,
        np.arange(COUNT) / 100,
        positions,
        frames,
        filled,
        camera_residuals=np.full(status.shape, 2e-4),
        source=Path("walk.trc"),
    )
    return Reconstruction(
        human,
        trial,
        q,
        differences,
        status,
        np.array([True] * 5 + [False]),
        np.arange(COUNT) + 3,
        np.full(COUNT, 4.2e-4),
        ("head_z",),
        "static",
    )


def table(path: Path) -> tuple[list[str], np.ndarray]:
    """Names and numbers of a table, read by Python's own reader."""
    with path.open(newline="") as stream:
        names, *rows = csv.reader(stream)
    return names, np.array(rows, dtype=float)


def test_humans_tables(result: Reconstruction, tmp_path: Path) -> None:
    """Names as in the manual; numbers as the HuMAnS view gives them, all bits."""
    paths = write_humans_csv(result, tmp_path / "new", "106")
    assert [p.name for p in paths] == [
        "RecPos106.csv",
        "TagPos106.csv",
        "COMPos106.csv",
    ]
    assert sorted(tmp_path.joinpath("new").iterdir()) == sorted(paths)
    view = result.model.humans
    names, rows = table(paths[0])
    assert names[1:] == [f"QREC{k}" for k in range(1, 43)]
    assert rows[:, 0].tolist() == list(range(101, 107))
    for row, q in zip(rows[:, 1:], result.q, strict=True):
        np.testing.assert_array_equal(row, view.from_pin(q)[0])
        back = view.to_pin(row)[0]
        back[3:7] *= np.sign(back[3:7] @ q[3:7])  # q and -q are one attitude
        np.testing.assert_allclose(back, q, atol=1e-12)
    for path, points in zip(paths[1:], (view.tags, view.com), strict=True):
        names, found = table(path)
        wanted = np.array([points(row[1:]).ravel() for row in rows])
        np.testing.assert_array_equal(found[:, 1:], wanted)
        assert names[1:5] == ["X1", "Y1", "Z1", "X2"]
        assert names[-3:] == ["XGlobalCOM", "YGlobalCOM", "ZGlobalCOM"]
        com = to_humans(result.model.com(result.q[3]))
        np.testing.assert_allclose(found[3, -3:], com, atol=1e-12)


def test_rec_pos_comes_back(result: Reconstruction, tmp_path: Path) -> None:
    """Reading gives the bits that were written."""
    path, *_ = write_humans_csv(result, tmp_path)
    samples, q_h = read_rec_pos(path)
    assert samples.tolist() == result.trial.frames.tolist()
    np.testing.assert_array_equal(
        q_h, [result.model.humans.from_pin(q)[0] for q in result.q]
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("QREC2", "QREC3", 1),
        ("Sample", "Sample,QREC0", 1),
        ("\n103,", "\n103,x", 4),
        ("\n103,", "\n103,1,", 4),
        ("\n103,", "\n103,nan,", 4),
        ("\n103,", "\n101,", 4),
    ],
)
def test_damaged_rec_pos(
    old: str, new: str, line: int, result: Reconstruction, tmp_path: Path
) -> None:
    """It is refused by its line."""
    path, *_ = write_humans_csv(result, tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(MarkerFileError) as caught:
        read_rec_pos(path)
    assert caught.value.line == line


def test_singular_angles_leave_no_files(result: Reconstruction, tmp_path: Path) -> None:
    """A base whose HuMAnS angles do not exist: the frame is named, nothing written."""
    for axis in np.eye(3):
        q = result.q.copy()
        q[3, 3:7] = Rotation.from_rotvec(axis * np.pi / 2).as_quat()
        try:
            result.model.humans.from_pin(q[3])
        except ConfigurationError:
            break
    with pytest.raises(ConfigurationError, match="frame 104"):
        write_humans_csv(replace(result, q=q), tmp_path)
    assert not list(tmp_path.iterdir())


def test_mot(result: Reconstruction, tmp_path: Path) -> None:
    """OpenSim's header, and columns that give the postures back."""
    path = write_mot(result, tmp_path / "walk.mot")
    lines = path.read_text().splitlines()
    end = lines.index("endheader")
    head = dict(line.split("=") for line in lines[1:end])
    names = lines[end + 1].split("\t")
    rows = np.array([line.split("\t") for line in lines[end + 2 :]], dtype=float)
    assert head == {
        "version": "1",
        "nRows": str(COUNT),
        "nColumns": str(len(names)),
        "inDegrees": "yes",
    }
    assert names == ["time", *BASE_COLUMNS, *result.model.joint_names]
    assert rows.shape == (COUNT, len(names))
    np.testing.assert_array_equal(rows[:, 0], result.t)
    np.testing.assert_allclose(np.radians(rows[:, 7:]), result.q[:, 7:], atol=1e-12)
    np.testing.assert_allclose(rows[:, 4:7] @ ROS_FROM_HUMANS.T, result.q[:, :3])
    for row, q in zip(rows, result.q, strict=True):
        tilt, side, turn = np.radians(row[1:4])
        ground = _turn(2, tilt) @ _turn(0, side) @ _turn(1, turn)
        ros = ROS_FROM_HUMANS @ ground @ ROS_FROM_HUMANS.T
        np.testing.assert_allclose(
            ros, Rotation.from_quat(q[3:7]).as_matrix(), atol=1e-9
        )
    assert np.abs(np.diff(rows[:, 1:4], axis=0)).max() < 10  # no jump by a turn


def _turn(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    plane = np.array([[c, -s], [s, c]])
    matrix = np.eye(3)
    others = [(axis + 1) % 3, (axis + 2) % 3]
    matrix[np.ix_(others, others)] = plane
    return matrix


def messages(path: Path) -> dict[str, list[Any]]:
    """Messages of a file by topic."""
    found = defaultdict(list)
    for message in read_ros2_messages(path):
        found[message.channel.topic].append(message)
    return found


def test_mcap(result: Reconstruction, tmp_path: Path) -> None:
    """Postures, markers and quality are read back by another reader."""
    path = write_mcap(result, tmp_path / "walk.mcap")
    found = messages(path)
    assert {topic: len(list_) for topic, list_ in found.items()} == dict.fromkeys(
        ("/joint_states", "/tf", "/markers", "/reconstruction_quality"), COUNT
    )
    for k in range(COUNT):
        joints = found["/joint_states"][k].ros_msg
        assert joints.name == list(result.model.joint_names)
        np.testing.assert_array_equal(joints.position, result.q[k, 7:])
        assert found["/joint_states"][k].log_time_ns == k * 10_000_000
        link = found["/tf"][k].ros_msg.transforms[0]
        assert (link.header.frame_id, link.child_frame_id) == ("world", "base_link")
        assert _vector(link.transform.translation) == result.q[k, :3].tolist()
        assert link.transform.rotation.w == result.q[k, 6]
        markers = found["/markers"][k].ros_msg
        assert markers.frame_number == 101 + k
        assert markers.names == list(result.names)
        positions = [_vector(point) for point in markers.positions]
        np.testing.assert_array_equal(positions, result.trial.positions[k])
        assert list(markers.occluded) == np.isnan(positions).any(axis=1).tolist()
        assert markers.residuals[0] == 2e-4
        quality = found["/reconstruction_quality"][k].ros_msg
        assert quality.converged == result.converged[k]
        assert quality.iterations == k + 3
        assert quality.solve_time.nanosec == 420_000
        assert quality.rms == pytest.approx(result.frame_rms[k])
        assert list(quality.marker_status) == result.status[k].tolist()
        assert quality.max_residual == result.residuals[k, result.used[k]].max()
        assert quality.unobservable_joints == ["head_z"]
        np.testing.assert_array_equal(
            [_vector(v) for v in quality.residuals], result.differences[k]
        )
    with path.open("rb") as stream:
        about = [m.metadata for m in make_reader(stream).iter_metadata()]
    assert json.loads(about[0]["source"]) == "walk.trc"


def _vector(point: Any) -> list[float]:
    return [point.x, point.y, point.z]


def test_mcap_of_a_frame_without_markers(
    result: Reconstruction, tmp_path: Path
) -> None:
    """Its distances are NaN."""
    status = np.full_like(result.status, MarkerStatus.OCCLUDED)
    path = write_mcap(replace(result, status=status), tmp_path / "walk.mcap")
    quality = messages(path)["/reconstruction_quality"][0].ros_msg
    assert np.isnan(quality.rms) and np.isnan(quality.max_residual)


def test_mcap_refuses_negative_times(result: Reconstruction, tmp_path: Path) -> None:
    """ROS 2 has none; no file is left."""
    trial = replace(result.trial, times=result.trial.times - 1.0)
    with pytest.raises(ParameterError, match="-1"):
        write_mcap(replace(result, trial=trial), tmp_path / "walk.mcap")
    assert not list(tmp_path.iterdir())
