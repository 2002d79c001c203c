# SPDX-License-Identifier: Apache-2.0
"""Terrain in scenario files: the same as in Python, errors with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.scene_files import read_ground
from humans_sim.core.errors import ModelFileError


def section(folder: Path, text: str) -> hs.Ground:
    """The scene of a file."""
    path = folder / "ground.yaml"
    path.write_text(text)
    return read_ground(path)


def test_words_and_python_agree(tmp_path: Path) -> None:
    """Each kind of terrain in a file is that of the call."""
    text = (
        "stairs: {count: 3, rise: 0.1, depth: 0.3, start: 1}\n"
        "ramp: {angle: 30, length: 0.5, start: -2, platform: 0.2, width: 1}\n"
        "rubble: {seed: 3, height: 0.01, size: [0.4, 0.2], spacing: 0.1, start: 4}\n"
    )
    expected = (
        hs.Ground()
        .with_stairs(3, 0.1, 0.3, 1.0)
        .with_ramp(np.pi / 6, 0.5, -2.0, 0.2, 1.0)
        .with_rubble(3, 0.01, (0.4, 0.2), 0.1, 4.0)
    )
    ground = section(tmp_path, text)
    assert [s.name for s in ground.solids] == [s.name for s in expected.solids]
    np.testing.assert_allclose(ground.table(), expected.table())
    np.testing.assert_allclose(ground.mesh_data(), expected.mesh_data(), atol=1e-15)


def test_files_beside_the_scenario(tmp_path: Path) -> None:
    """Heights and meshes are looked up from the folder of the file."""
    np.save(tmp_path / "hills.npy", np.arange(6.0).reshape(2, 3))
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "rock.stl")
    ground = section(
        tmp_path,
        "floor: false\n"
        "height_fields:\n"
        "  - {file: hills.npy, spacing: 0.5, origin: [1, 2, 3], friction: 0.3}\n"
        "  - {heights: [[0, 1], [2, 3]], spacing: 1, name: hill}\n"
        "meshes:\n"
        "  - {file: rock.stl, scale: 0.1, name: rock}\n"
        "  - {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces: [[0, 1, 2]]}\n",
    )
    meshes = [s for s in ground.solids if isinstance(s, hs.TriangleMesh)]
    assert [s.name for s in meshes] == ["terrain_0", "hill", "rock", "mesh_1"]
    assert meshes[0].friction == 0.3 and ground.frictions()[2] == 0.3
    assert meshes[0].vertices[:, 2].max() == 8.0
    assert meshes[2].vertices.max() == pytest.approx(0.05)


@pytest.mark.parametrize(
    "text",
    [
        "stairs: {count: 1.5, rise: 0.1, depth: 0.3, start: 1}",
        "stairs: {count: 2, rise: -1, depth: 0.3, start: 1}",
        "stairs: {count: 2, rise: 0.1}",
        "ramp: {angle: 95, length: 1, start: 0}",
        "rubble: {seed: -1, height: 0.01, size: [1, 1]}",
        "rubble: {seed: 1, height: 0.01, size: [1000, 1000], spacing: 1e-3}",
        "height_fields: [{spacing: 1}]",
        "height_fields: [{heights: [[0, 1], [0]], spacing: 1}]",
        "height_fields: [{heights: [[0, 1], [0, 1]]}]",
        "height_fields: [{file: nothing.npy, spacing: 1}]",
        "height_fields: [{image: nothing.png, size: [1, 1], height: 1}]",
        "meshes: [{file: nothing.stl}]",
        "meshes: [{file: /dev/zero}]",
        "meshes: [{vertices: [[0, 0, 0]], faces: [[0, 0, 0]]}]",
    ],
)
def test_errors_have_their_place(tmp_path: Path, text: str) -> None:
    """Faults are reported with the file and the key."""
    with pytest.raises(ModelFileError, match=r"ground\.yaml:1: "):
        section(tmp_path, text)


@pytest.mark.study
def test_bip_climbs_a_stair() -> None:
    """Its walk sees the stairs: both feet come onto the first one, whole."""
    run = read_scenario("bip-stairs").with_changes(end=5.1).run(progress=False)
    assert run.check().ok
    model = hs.load_model("bip")
    for name in ("l_sole", "r_sole"):
        sole = model.frame_pose(run.q[-1], name)
        assert sole.translation[2] == pytest.approx(0.02, abs=1e-3)
        assert sole.rotation[2, 2] > 1.0 - 1e-4
        assert 0.5 + 0.12 < sole.translation[0] < 0.9 - 0.17


@pytest.mark.parametrize("name", ["stairs-walk", "rubble-walk"])
def test_scenarios_begin(name: str, tmp_path: Path) -> None:
    """The walks over terrain start, and their files have the terrain again."""
    scenario = read_scenario(name).with_changes(end=0.04)
    run = scenario.run(progress=False)
    again = hs.load_run(run.save(tmp_path / "run.npz"))
    from humans_sim.results.record import recorded_ground

    one, two = (recorded_ground(r.info) for r in (run, again))
    np.testing.assert_array_equal(one.mesh_data(), two.mesh_data())
    np.testing.assert_array_equal(one.table(), two.table())
    assert [s.name for s in two.solids][1] == name.partition("-")[0]
