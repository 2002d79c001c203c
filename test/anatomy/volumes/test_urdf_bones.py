# SPDX-License-Identifier: Apache-2.0
"""Bones that a URDF names: within its package, with a scale of three numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.anatomy.volumes.mesh_repair import collision_mesh


def write(folder: Path, mesh: str) -> Path:
    """A URDF of one bone."""
    path = folder / "arm" / "urdf" / "arm.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<robot name="arm"><link name="bone"><collision><geometry>\n'
        f"<mesh {mesh}/></geometry></collision></link></robot>"
    )
    return path


def test_a_bone_in_a_package(tmp_path: Path) -> None:
    """The nearest folder above that has the path; a scale may have blanks."""
    urdf = write(tmp_path, 'filename="package://arm/x.stl" scale=" 1  2 3 "')
    (tmp_path / "arm" / "x.stl").touch()
    path, scale = collision_mesh(urdf, "bone")
    assert path == tmp_path / "arm" / "x.stl" and scale.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ('filename="package://arm/../x.stl"', "out of its package"),
        ('filename="package://arm/urdf/../../x.stl"', "out of its package"),
        ('filename="x.stl" scale="1 1"', "arm.urdf:2: .*<mesh scale>.*2 numbers"),
        ('filename="x.stl" scale="1_0 1 1"', "finite numbers"),
        ('filename="x.stl" scale="-1 1 1"', "above zero"),
    ],
)
def test_what_is_refused(mesh: str, words: str, tmp_path: Path) -> None:
    """Names that leave their package, and scales that are none."""
    (tmp_path / "x.stl").touch()
    with pytest.raises(hs.errors.ModelFileError, match=words):
        collision_mesh(write(tmp_path, mesh), "bone")
