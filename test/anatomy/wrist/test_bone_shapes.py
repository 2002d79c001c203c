# SPDX-License-Identifier: Apache-2.0
"""Shapes of synthetic bones: distances, meshes, joint faces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from humans_sim.anatomy import AnatomyError
from humans_sim.anatomy.wrist.wrist_files import (
    BoneShape,
    Cone,
    CutShapes,
    Ellipsoid,
    RoundedBox,
    frame_of,
    smooth_max,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.surface_nets import mesh_of_distance


def ball(x: float, radius: float = 5e-3, cups: tuple[str, ...] = ()) -> BoneShape:
    """A bone of one ball on the x-axis."""
    place = np.array([x, 0.0, 0.0])
    return BoneShape((Cone(place, place, (radius, radius)),), cups=cups)


@pytest.mark.parametrize(
    ("part", "volume"),
    [
        (Cone(np.zeros(3), np.zeros(3), (5e-3, 5e-3)), 4 / 3 * np.pi * 5e-3**3),
        (
            Cone(np.zeros(3), np.array([8e-3, 0, 0]), (4e-3, 4e-3)),
            4 / 3 * np.pi * 4e-3**3 + np.pi * 4e-3**2 * 8e-3,
        ),
        (
            Ellipsoid(np.zeros(3), np.array([6e-3, 4e-3, 5e-3]), frame_of((20, 0, 40))),
            4 / 3 * np.pi * 6 * 4 * 5 * 1e-9,
        ),
    ],
)
def test_meshes_have_the_volume_of_their_formula(part, volume) -> None:
    """Closed, turned outwards, within 1 % at a tenth of the size."""
    box = np.stack(BoneShape((part,)).bounds(2e-3))
    mesh = mesh_of_distance(part.distance, box, 6e-4)
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(volume, rel=0.01)
    assert np.abs(part.distance(np.asarray(mesh.vertices))).max() < 1e-6


def test_box_is_measured_by_its_faces() -> None:
    """Distances of a rounded box: on a face, off an edge, inside."""
    box = RoundedBox(np.zeros(3), np.array([3.0, 4.0, 5.0]), 1.0, np.eye(3))
    points = np.array([[4.0, 0, 0], [0, 0, 0], [3.0, 4.0, 0.0]])
    assert box.distance(points) == pytest.approx([1.0, -3.0, np.sqrt(2) - 1.0])


def test_bones_that_would_overlap_meet_at_a_gap() -> None:
    """Joint faces fit: everywhere a gap apart, whichever bone is asked."""
    cuts = CutShapes({"one": ball(0.0), "two": ball(8e-3)}, gap=4e-4, edge=1e-3)
    meshes = {}
    for name in ("one", "two"):
        box = np.stack(cuts.bounds(name))
        meshes[name] = mesh_of_distance(
            lambda p, name=name: cuts.distance(name, p), box, 5e-4
        )
    distances = cKDTree(meshes["one"].vertices).query(meshes["two"].vertices)[0]
    assert 3.9e-4 < distances.min() < 5.5e-4
    face = np.asarray(meshes["two"].vertices)
    inner = np.hypot(face[:, 1], face[:, 2]) < 1.5e-3
    left = face[inner & (face[:, 0] < 6e-3)]
    assert left[:, 0] == pytest.approx(4.2e-3, abs=5e-5)  # halfway, half a gap on


def test_a_bone_that_cups_another_is_hollow_and_leaves_it_whole() -> None:
    """The lunate around the capitate: a sphere's hollow, the sphere uncut."""
    shapes = {"head": ball(0.0), "cup": ball(6e-3, 6e-3, cups=("head",))}
    cuts = CutShapes(shapes, gap=3e-4, edge=5e-4)
    inside = np.array([[4.9e-3, 0, 0], [-4.9e-3, 0, 0]])
    assert (cuts.distance("head", inside) < 0).all()
    assert cuts.distance("cup", np.array([5.2e-3, 0.0, 0.0])) > 0
    assert cuts.distance("cup", np.array([5.6e-3, 0.0, 0.0])) < 0


def test_smooth_max_rounds_by_a_quarter_of_its_width() -> None:
    """Above the larger one, equal to it where they differ by the width."""
    a = np.linspace(-1, 1, 21)
    value = smooth_max(a, -a, 0.5)
    assert (value >= np.abs(a) - 1e-15).all()
    assert value[0] == 1.0 and value[10] == pytest.approx(0.125)


def test_what_is_no_bone_is_refused() -> None:
    """Typed errors: nothing inside, a box too small, circles of cups."""
    part = Cone(np.zeros(3), np.zeros(3), (5e-3, 5e-3))
    box = np.array([[-7e-3] * 3, [7e-3] * 3])
    with pytest.raises(ParameterError, match="nothing"):
        mesh_of_distance(lambda p: part.distance(p) + 1.0, box, 1e-3)
    with pytest.raises(ParameterError, match="leaves the box"):
        mesh_of_distance(part.distance, box / 2, 1e-3)
    with pytest.raises(ParameterError, match="spacing"):
        mesh_of_distance(part.distance, box, 0.0)
    with pytest.raises(AnatomyError, match="each other"):
        CutShapes({"a": ball(0, cups=("b",)), "b": ball(1e-2, cups=("a",))})
    with pytest.raises(AnatomyError, match="no other bone"):
        CutShapes({"a": ball(0, cups=("c",))})
