# SPDX-License-Identifier: Apache-2.0
"""Reconstructions as scenes: the person and the measured markers beside each other."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scene_readers import Y_UP, Glb, read_vrml, read_x3d
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications.reconstruction_files import write_reconstruction
from humans_sim.cli.commands import app
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import MarkerTrial
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

COUNT = 5
HIDDEN = ("vertex", 2)
"""A marker, and the frame in which nobody sees it."""


@pytest.fixture
def result(human: hs.Model, rng: np.random.Generator) -> Reconstruction:
    """Postures at random, whose tags were measured with errors."""
    q = np.array([human.random_configuration(rng) for _ in range(COUNT)])
    tags = np.array([human.tags(row)[:-1] for row in q])
    differences = rng.normal(size=tags.shape) * 1e-3
    positions, names = tags + differences, tuple(human.tag_names)
    status = np.zeros(tags.shape[:2], dtype=int)
    column = names.index(HIDDEN[0])
    status[HIDDEN[1], column] = MarkerStatus.OCCLUDED
    positions[HIDDEN[1], column] = differences[HIDDEN[1], column] = np.nan
    times, frames = np.arange(COUNT) / 100, np.arange(COUNT)
    filled = np.zeros(status.shape, dtype=bool)
    trial = MarkerTrial(names, times, positions, frames, filled)
    sure, quick = np.ones(COUNT, dtype=bool), np.full(COUNT, 1e-3)
    return Reconstruction(
        human, trial, q, differences, status, sure, frames, quick, (), "static"
    )


def test_markers_are_where_they_were_measured(
    result: Reconstruction, human: hs.Model, tmp_path: Path
) -> None:
    """All frames, all markers, in glTF and VRML; one that is not seen is a speck."""
    file = Glb(hs.animate(result, tmp_path / "a.glb").read_bytes())
    world = read_vrml(hs.animate(result, tmp_path / "a.wrl").read_bytes())
    meshes = {n["mesh"] for n in file.json["nodes"] if n["name"].startswith("marker")}
    assert len(meshes) == 1  # all markers are one ball
    for k in range(COUNT):
        for poses in (file.poses(k), world.poses(k / (COUNT - 1))):
            for n, name in enumerate(result.names):
                got = poses[f"marker_{name}"]
                size = np.linalg.norm(got[:3, 0])
                if (name, k) == HIDDEN:
                    assert size < 1e-5
                else:
                    place = Y_UP @ result.trial.positions[k, n]
                    assert got[:3, 3] == pytest.approx(place, abs=1e-6)
                    assert size == pytest.approx(1.0)
    foot = human.frame_pose(result.q[1], "l_foot")
    for poses, name in (
        (file.poses(1), "l_foot"),
        (world.poses(0.25), "hanim_l_ankle"),
    ):
        assert poses[name][:3, 3] == pytest.approx(Y_UP @ foot.translation, abs=1e-6)


@pytest.mark.study
def test_formats_of_a_reconstruction(result: Reconstruction, tmp_path: Path) -> None:
    """The scenes are among the files that a reconstruction is written to."""
    files = write_reconstruction(
        result, tmp_path, "walk", formats=("glb", "x3d", "wrl"), report=False
    )
    assert [path.name for path in files] == ["walk.glb", "walk.x3d", "walk.wrl"]
    assert "marker_vertex" in read_x3d(files[1].read_bytes()).named()


def test_mcap_shows_the_person(result: Reconstruction, tmp_path: Path) -> None:
    """Description, links and markers are in the file, where the postures have them."""
    (path,) = write_reconstruction(
        result, tmp_path, "walk", formats=("mcap",), report=False
    )
    topics = ["/tf", "/odom", "/reconstruction_markers", "/robot_description"]
    sent: dict[str, list[Any]] = {topic: [] for topic in topics}
    for message in read_ros2_messages(str(path), topics=topics):
        sent[message.channel.topic].append(message.ros_msg)
    counts = {topic: len(messages) for topic, messages in sent.items()}
    assert counts == dict.fromkeys(topics, COUNT) | {"/robot_description": 1}
    for k in range(COUNT):
        links = {link.child_frame_id: link for link in sent["/tf"][k].transforms}
        assert {"base_link", "l_foot", "head"} <= set(links)
        place = sent["/odom"][k].pose.pose.position
        assert [place.x, place.y, place.z] == result.q[k, :3].tolist()
        drawn = {m.ns: m for m in sent["/reconstruction_markers"][k].markers}
        seen = np.isfinite(result.trial.positions[k]).all(axis=1)
        for space, expected in (
            ("measured", result.trial.positions[k]),
            ("reconstructed", result.trial.positions[k] - result.differences[k]),
        ):
            points = np.array([(p.x, p.y, p.z) for p in drawn[space].points])
            assert points == pytest.approx(expected[seen])
        assert len(drawn["residuals"].points) == 2 * seen.sum()
        assert drawn["rejected"].action == 2  # there are none


def test_stored_reconstructions(result: Reconstruction, tmp_path: Path) -> None:
    """The command takes them for what they are; a page is refused with the way."""
    path = result.save(tmp_path / "walk.npz")
    for name in ("a.glb", "a.mcap", "a.mot", "a.trc"):
        done = CliRunner().invoke(app, ["export", str(path), str(tmp_path / name)])
        assert done.exit_code == 0 and (tmp_path / name).stat().st_size, done.output
    expected = hs.animate(result, tmp_path / "b.glb").read_bytes()
    assert (tmp_path / "a.glb").read_bytes() == expected
    with pytest.raises(ParameterError, match="humans-sim reconstruct"):
        hs.animate(result, tmp_path / "b.html")
    assert not (tmp_path / "b.html").exists()
