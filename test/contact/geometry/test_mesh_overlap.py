# SPDX-License-Identifier: Apache-2.0
"""Tests of how deep convex solids are in meshes."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from humans_sim.contact.geometry.drawn_solids import DrawnSolid, signed_distance
from humans_sim.contact.geometry.mesh_overlap import MeshSurface
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh

STILL = np.eye(3, 4)


def at(place: object, turn: np.ndarray | None = None) -> np.ndarray:
    """One pose (1, 3, 4)."""
    return np.column_stack([np.eye(3) if turn is None else turn, place])[None]


def box_mesh(size: np.ndarray) -> TriangleMesh:
    """The twelve triangles of a box around the origin."""
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * size
    hull = ConvexHull(signs)
    faces = hull.simplices.copy()
    a, b, c = signs[faces].transpose(1, 0, 2)
    inwards = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return TriangleMesh(signs, faces)


def hills(seed: int) -> HeightField:
    """Random heights, some of them steep."""
    heights = np.random.default_rng(seed).uniform(0.0, 0.05, (12, 12))
    return HeightField(heights, 0.05, (-0.275, -0.275, 0.0), bottom=-1.0)


def height_at(field: HeightField, points: np.ndarray) -> np.ndarray:
    """Height of the surface under points, triangle by triangle."""
    found = np.full(len(points), -np.inf)
    for a, b, c in field.vertices[field.faces]:
        sides = np.array([b - a, c - a])[:, :2].T
        if abs(np.linalg.det(sides)) > 1e-12:
            u, v = np.linalg.solve(sides, (points[:, :2] - a[:2]).T)
            inner = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
            z = a[2] + u * (b - a)[2] + v * (c - a)[2]
            found = np.where(inner, np.maximum(found, z), found)
    return found


def test_a_box_of_triangles_is_a_box() -> None:
    """Overlaps of a convex mesh are those of the convex solid, and about as deep."""
    rng = np.random.default_rng(0)
    size = np.array([0.4, 0.3, 0.2])
    mesh, solid = MeshSurface(box_mesh(size)), DrawnSolid.box(size)
    ratios = []
    for _ in range(300):
        other = DrawnSolid(rng.normal(size=(10, 3)) * 0.04)
        turn = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
        pose = at(rng.uniform(-1.0, 1.0, 3) * (size / 2 + 0.08), turn)
        expected, _ = signed_distance(solid, STILL, other, pose[0])
        least = mesh.least_distance(other, pose)
        assert (least is not None) is (expected < 0.0)
        if least is not None:
            ratios.append(least[0] / expected)
    assert len(ratios) > 100
    assert np.median(ratios) == pytest.approx(1.0, abs=1e-9)
    assert np.quantile(ratios, [0.05, 0.95]) == pytest.approx(1.0, abs=0.2)


def test_a_peak_in_a_sole_is_as_deep_as_it_goes() -> None:
    """No vertex of the sole is in the ground; the peak is 3 mm in the sole."""
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.01
    mesh = MeshSurface(HeightField(heights, 0.2, (-0.4, -0.4, 0.0)))
    sole = DrawnSolid.box([0.1, 0.06, 0.02])
    pose = at([0.004, 0.003, 0.01 + 0.007])
    least = mesh.least_distance(sole, pose)
    assert least is not None and least[0] == pytest.approx(-0.003, abs=1e-12)
    assert mesh.least_distance(sole, at([0.004, 0.003, 0.01 + 0.01 + 1e-9])) is None


def test_a_wall_and_a_floor_that_meet() -> None:
    """A box in the corner of a step: off the nearer one, and off both if in both."""
    profile = [[0, 0, 0], [1, 0, 0], [1, 0, 0.5], [2, 0, 0.5]]
    near = np.array(profile, float) - [1.0, 1.0, 0.0]
    vertices = np.vstack([near, near + [0.0, 2.0, 0.0]])
    faces = [[k, k + 1, k + 5] for k in range(3)] + [
        [k, k + 5, k + 4] for k in range(3)
    ]
    mesh = MeshSurface(TriangleMesh(vertices, np.array(faces)))
    box = DrawnSolid.box([0.2, 0.2, 0.2])
    for into_wall, into_floor in ((1e-3, 1e-9), (1e-9, 2e-3), (3e-3, 2e-3)):
        pose = at([-0.1 + into_wall, 0.03, 0.1 - into_floor])
        least = mesh.least_distance(box, pose)
        assert least is not None
        assert least[0] == pytest.approx(-max(into_wall, into_floor), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_vertex_below_the_ground_is_found(seed: int) -> None:
    """A solid overlaps hills if a vertex is below them, or a peak is in it."""
    rng = np.random.default_rng(seed)
    field = hills(seed)
    mesh, found = MeshSurface(field), 0
    for _ in range(60):
        solid = DrawnSolid(rng.normal(size=(12, 3)) * rng.uniform(0.005, 0.03))
        turn = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
        place = np.array([*rng.uniform(-0.15, 0.15, 2), rng.uniform(-0.03, 0.1)])
        points = solid.vertices @ turn.T + place
        depth = (height_at(field, points) - points[:, 2]).max()
        hull = ConvexHull(points).equations
        peaks = field.vertices @ hull[:, :3].T + hull[:, 3]
        inside = bool((peaks.max(axis=1) < -1e-9).any())
        least = mesh.least_distance(solid, at(place, turn))
        if depth > 0.0 or inside:
            found += 1
            assert least is not None
        lifted = at(place + [0.0, 0.0, 0.2], turn)
        assert mesh.least_distance(solid, lifted) is None
    assert 10 < found < 60


def test_the_deepest_of_many_poses() -> None:
    """As pose by pose; with a bound nothing above it."""
    mesh = MeshSurface(hills(7))
    ball = DrawnSolid.ball(0.03)
    steps = np.linspace(-0.2, 0.2, 101)
    poses = np.concatenate(
        [at([x, 0.3 * x, 0.06 + 0.03 * np.cos(20 * x)]) for x in steps]
    )
    each = [mesh.least_distance(ball, pose[None]) for pose in poses]
    depths = [0.0 if least is None else least[0] for least in each]
    least = mesh.least_distance(ball, poses)
    assert least is not None and min(depths) < -1e-3
    assert least[0] == pytest.approx(min(depths), abs=1e-12)
    assert mesh.least_distance(ball, poses, min(depths)) is None


def test_below_an_open_sheet_is_inside() -> None:
    """A solid far below it is as deep as it would have to rise."""
    field = HeightField(np.zeros((3, 3)), 0.5, (-0.5, -0.5, 0.0))
    level = (field.vertices[field.faces][:, :, 2] == 0.0).all(axis=1)
    mesh = MeshSurface(TriangleMesh(field.vertices, field.faces[level]))
    ball = DrawnSolid.ball(0.05)
    for height in (0.04, 0.0, -0.04, -0.2):
        least = mesh.least_distance(ball, at([0.1, 0.02, height]))
        assert least is not None
        assert least[0] == pytest.approx(height - 0.05, abs=1e-12)
    assert mesh.least_distance(ball, at([0.1, 0.02, 0.05 + 1e-9])) is None
