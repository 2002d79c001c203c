# SPDX-License-Identifier: Apache-2.0
"""Meshes of users: repaired with a report, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import humans_sim as hs
from humans_sim.anatomy import prepare_mesh, read_bone, voxelise


def bone(scale: float = 1e-3) -> trimesh.Trimesh:
    """A closed mesh of 20 x 24 x 40 (times the scale)."""
    mesh = trimesh.creation.icosphere(3)
    mesh.apply_scale(scale * np.array([10, 12, 20]))
    return mesh


def test_a_sound_mesh_is_left_alone() -> None:
    """Nothing is repaired where nothing is wrong."""
    prepared = prepare_mesh(bone())
    assert prepared.repairs == ()
    assert prepared.mesh.volume == pytest.approx(bone().volume)


def test_units(tmp_path: Path) -> None:
    """Millimetres are recognised, other units given; what no bone measures refused."""
    bone(1.0).export(tmp_path / "bone.stl")
    prepared = read_bone(tmp_path / "bone.stl")
    assert prepared.mesh.volume == pytest.approx(bone().volume, rel=1e-5)
    assert any("millimetres" in line for line in prepared.repairs)
    inch = prepare_mesh(bone(0.1), unit="cm")
    assert inch.mesh.volume == pytest.approx(bone().volume)
    with pytest.raises(hs.errors.BoneMeshError, match="give the unit"):
        prepare_mesh(bone(1e3))
    with pytest.raises(hs.errors.BoneMeshError, match="is 'm' its unit"):
        prepare_mesh(bone(1.0), unit="m")
    with pytest.raises(hs.errors.BoneMeshError, match="not known"):
        prepare_mesh(bone(), unit="inch")


def test_inside_out_and_mixed_faces_are_turned() -> None:
    """Faces end outwards, and it is reported."""
    mesh = bone()
    mesh.invert()
    prepared = prepare_mesh(mesh)
    assert prepared.mesh.volume > 0 and "inside out" in prepared.repairs[0]
    faces = bone().faces.copy()
    faces[::7] = faces[::7, ::-1]
    mixed = prepare_mesh(trimesh.Trimesh(bone().vertices, faces, process=False))
    assert mixed.mesh.volume == pytest.approx(bone().volume)
    assert "different ways" in mixed.repairs[0]


def test_small_holes_are_closed_and_large_ones_refused() -> None:
    """A few missing faces are capped; half a bone is no bone."""
    mesh = bone()
    near = np.linalg.norm(mesh.triangles_center - mesh.vertices[0], axis=1) < 2e-3
    open_mesh = trimesh.Trimesh(mesh.vertices, mesh.faces[~near], process=False)
    assert not open_mesh.is_watertight
    prepared = prepare_mesh(open_mesh)
    assert prepared.mesh.is_watertight and "closed 1 holes" in prepared.repairs[0]
    assert prepared.mesh.volume == pytest.approx(mesh.volume, rel=0.02)
    assert voxelise(prepared.mesh, 1e-3).count > 1000
    half = trimesh.Trimesh(
        mesh.vertices, mesh.faces[mesh.triangles_center[:, 2] > 0], process=False
    )
    with pytest.raises(hs.errors.BoneMeshError, match="open: 1 holes"):
        prepare_mesh(half)


def test_crumbs_are_left_out_and_two_bones_refused() -> None:
    """The largest part is the bone unless another is nearly as large."""
    crumb = trimesh.creation.icosphere(1, 1e-3)
    crumb.apply_translation([0.03, 0, 0])
    prepared = prepare_mesh(trimesh.util.concatenate([crumb, bone()]))
    assert "largest of 2 parts" in prepared.repairs[0]
    assert prepared.mesh.volume == pytest.approx(bone().volume)
    second = bone()
    second.apply_translation([0.05, 0, 0])
    both = trimesh.util.concatenate([bone(), second])
    with pytest.raises(hs.errors.BoneMeshError, match="2 large parts"):
        prepare_mesh(both)
    assert prepare_mesh(both, components="all").mesh.volume == pytest.approx(
        2 * bone().volume
    )
    assert prepare_mesh(both, components="largest").mesh.body_count == 1


def test_refuses_what_bounds_nothing(tmp_path: Path) -> None:
    """Empty, flat, not finite, not a surface: each is refused by its name."""
    flat = trimesh.Trimesh(
        [[0, 0, 0], [0.01, 0, 0], [0, 0.01, 0]], [[0, 1, 2], [0, 2, 1]], process=False
    )
    nan = bone()
    vertices = nan.vertices.copy()
    vertices[3, 1] = np.nan
    fin = np.vstack([bone().faces, [[*bone().faces[0, :2], 600]]])
    for mesh, why in (
        (trimesh.Trimesh(), "empty"),
        (flat, "twice|volume|surface|open"),
        (trimesh.Trimesh(vertices, nan.faces, process=False), "vertex 3"),
        (trimesh.Trimesh(bone().vertices, fin, process=False), "more than two|closed"),
    ):
        with pytest.raises(hs.errors.BoneMeshError, match=why):
            prepare_mesh(mesh)
    (tmp_path / "no.stl").write_text("solid nothing\nendsolid nothing\n")
    with pytest.raises(hs.HumansError):
        read_bone(tmp_path / "no.stl")
    with pytest.raises(hs.errors.FileError):
        read_bone(tmp_path / "missing.stl")
