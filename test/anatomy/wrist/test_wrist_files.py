# SPDX-License-Identifier: Apache-2.0
"""Wrists from files: the synthetic one, and those of users."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from humans_sim.anatomy import load_wrist, plausibility
from humans_sim.anatomy.wrist.hand_motion import HandMotion
from humans_sim.anatomy.wrist.wrist_run import move_wrist
from humans_sim.core.errors import HumansError, ModelFileError, ParameterError

CARPALS = (
    *("scaphoid", "lunate", "triquetrum", "pisiform"),
    *("trapezium", "trapezoid", "capitate", "hamate"),
)
TEXT = """
title: Two bones
unit: mm
bones:
  one: {{role: free, mesh: {mesh}, unit: mm}}
  two: {{role: fixed, mesh: two.stl, unit: mm}}
ligaments:
  tie: {{bones: [one, two], points: [[5, 0, 0], [{point}, 0, 0]], strain: {strain}}}
"""


@pytest.fixture(scope="module")
def wrist():
    """The synthetic wrist with few balls."""
    return load_wrist("wrist", spacing=1.4e-3)


def test_synthetic_wrist_has_its_bones_and_ligaments(wrist) -> None:
    """Fifteen bones with roles, the thesis' 24 ligaments, none twice."""
    assert wrist.synthetic and len(wrist.bones) == 15
    roles = dict(zip(wrist.names, wrist.roles, strict=True))
    assert all(roles[name] == "free" for name in CARPALS)
    assert {roles[f"metacarpal-{n}"] for n in range(1, 6)} == {"driven"}
    assert roles["radius"] == roles["ulna"] == "fixed"
    assert sorted(n for n in wrist.numbers if n) == list(range(1, 25))
    pair = wrist.ligaments.ligaments[wrist.numbers.index(19)]
    assert {wrist.names[pair.body_i], wrist.names[pair.body_j]} == {
        "scaphoid",
        "lunate",
    }


def test_synthetic_bones_are_solids_apart_from_each_other(wrist) -> None:
    """Closed, of a carpal bone's size, no balls of two bones overlap."""
    for bone in wrist.bones:
        assert bone.mesh.is_watertight and bone.mesh.body_count == 1
        if bone.name in CARPALS:
            assert 300e-9 < bone.mesh.volume < 5000e-9
            assert 7e-3 < bone.mesh.extents.max() < 35e-3
    frames = np.tile(np.eye(3), (15, 1, 1))
    assert wrist.detector().detect(wrist.poses(wrist.centres, frames)).count == 0
    smallest = min(wrist.bones, key=lambda bone: bone.mesh.volume)
    assert smallest.name == "pisiform"


def test_wrist_moves_without_exploding(wrist) -> None:
    """A few degrees: no overlap, friction in its cone, the row follows the hand."""
    motion = HandMotion("adduction", np.radians(4.0), 0.1, 0.06, 0.0)
    run = move_wrist(wrist, motion, 0.02)
    assert run.depths.max() < 1e-6
    assert run.friction.max() <= 0.02 * (1 + 1e-6)
    assert run.deep.max() == 0 and run.touching.max() < 0.05
    assert run.shifts()[:, [wrist.number(name) for name in CARPALS]].max() < 4e-3
    report = plausibility(run)
    assert report.left == () and report.distal_coherent
    assert np.degrees(report.turns["capitate"]) > 2


def written(folder: Path, mesh="one.stl", point=6.0, strain=0.0) -> Path:
    """A wrist of two balls as a user would write it."""
    for name, x in (("one", 0.0), ("two", 11.0)):
        ball = trimesh.creation.icosphere(3, 5.0)
        ball.apply_translation([x, 0, 0])
        ball.export(folder / f"{name}.stl")
    file = folder / "own.yaml"
    file.write_text(TEXT.format(mesh=mesh, point=point, strain=strain))
    return file


def test_bones_of_users_are_read(tmp_path: Path) -> None:
    """Meshes in millimetres beside the file; the ligament ends on the bones."""
    wrist = load_wrist(written(tmp_path, strain=0.1), spacing=1e-3)
    assert wrist.names == ("one", "two") and not wrist.synthetic
    tie = wrist.ligaments.ligaments[0]
    assert tie.slack == pytest.approx(1e-3 / 1.1, rel=0.2)
    assert np.linalg.norm(tie.point_i) == pytest.approx(5e-3, rel=0.01)
    assert wrist.bones[0].mass.mass == pytest.approx(
        1800 * 4 / 3 * np.pi * 5e-3**3, rel=0.02
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mesh": "three.stl"}, "three.stl"),
        ({"point": 30.0}, "mm from the two"),
        ({"strain": -0.7}, "strain"),
        ({"strain": "much"}, "much"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, change, words) -> None:
    """Typed errors that name the line."""
    with pytest.raises(HumansError, match=words) as caught:
        load_wrist(written(tmp_path, **change))
    assert isinstance(caught.value, ModelFileError) and caught.value.line is not None


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    """Wrists, roles, bones of ligaments."""
    with pytest.raises(ParameterError, match="ankle"):
        load_wrist("ankle")
    file = written(tmp_path)
    text = file.read_text()
    for old, new in (("role: free", "role: lazy"), ("[one, two]", "[one, tow]")):
        file.write_text(text.replace(old, new))
        with pytest.raises(ModelFileError, match=new.split()[-1].strip("]")):
            load_wrist(file)
        file = file.rename(tmp_path / f"{new[1:4]}.yaml")
