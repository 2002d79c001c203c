# SPDX-License-Identifier: Apache-2.0
"""Tests of convex solids on triangle meshes."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable
from humans_sim.contact.geometry.link_pairs import coal_solid
from humans_sim.contact.geometry.mesh import MESH_TRIANGLES, NORMALS, TRIANGLE
from humans_sim.contact.geometry.mesh_solids import (
    is_normal,
    mesh_candidates,
    triangles_near,
    with_triangles,
)

SIZE = np.array([0.2, 0.1, 0.04])
CORNERS = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * SIZE
FAR = 10.0


def random_field(seed: int, count: int = 12) -> hs.HeightField:
    """Random heights around the origin."""
    heights = 0.08 * np.random.default_rng(seed).uniform(size=(count, count))
    return hs.HeightField(heights, 0.05, (-0.275, -0.275, 0.0))


def box_mesh(low: tuple[float, ...], high: tuple[float, ...]) -> hs.TriangleMesh:
    """A closed box of twelve triangles."""
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    turned = []
    for a, b, c in ConvexHull(corners).simplices:
        out = np.cross(corners[b] - corners[a], corners[c] - corners[a])
        outside = out @ (corners[a] - corners.mean(axis=0)) > 0.0
        turned.append((a, b, c) if outside else (a, c, b))
    return hs.TriangleMesh(corners, np.array(turned), "block")


def stairs() -> hs.TriangleMesh:
    """Four steps."""
    ground = hs.Ground().with_stairs(4, rise=0.05, depth=0.15, start=-0.3, width=0.6)
    mesh = ground.solids[1]
    assert isinstance(mesh, hs.TriangleMesh)
    return mesh


MESHES = {
    "field": random_field(1),
    "block": box_mesh((-0.2, -0.15, -0.3), (0.2, 0.15, 0.0)),
    "stairs": stairs(),
}
SOLIDS = {
    "box": ConvexSolid.of(CORNERS),
    "ball": ConvexSolid.of(np.zeros((1, 3)), 0.06),
    "capsule": ConvexSolid.of(np.array([[-0.05, 0, 0], [0.05, 0, 0]]), 0.03),
    "hull": ConvexSolid.of(np.random.default_rng(5).normal(size=(40, 3)) * 0.05),
}


def bvh(mesh: hs.TriangleMesh) -> coal.BVHModelOBBRSS:
    """A mesh for coal."""
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in mesh.vertices:
        points.append(vertex)
    for face in mesh.faces.tolist():
        triangles.append(coal.Triangle(*face))
    model.addSubModel(points, triangles)
    model.endModel()
    return model


def coal_distance(
    model: coal.BVHModelOBBRSS, solid: ConvexSolid, pose: pin.SE3
) -> float:
    """Distance of a solid in a pose and a mesh, zero or less where they touch."""
    shape, place = coal_solid(solid)
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    put = pose * place
    there = coal.Transform3s(put.rotation, put.translation)
    coal.distance(model, coal.Transform3s(), shape, there, request, result)
    return float(result.min_distance)


def columns(pose: pin.SE3) -> np.ndarray:
    """Poses of a joint and of the world as kernels take them."""
    poses = np.zeros((2, 12))
    for row, one in zip(poses, (pose, pin.SE3.Identity()), strict=True):
        row[:] = np.append(one.rotation.T.ravel(), one.translation)
    return poses


class Touching:
    """A solid and a mesh."""

    def __init__(self, solid: ConvexSolid, mesh: hs.TriangleMesh) -> None:
        table, meshes = with_triangles(SolidTable.of([solid], [1]), [mesh])
        assert meshes is not None
        self.table, self.meshes = tuple(table), tuple(meshes)

    def at(self, pose: pin.SE3, near: float = FAR) -> tuple[np.ndarray, float]:
        """Rows of candidates, and the separation."""
        rows = np.empty((200, 13))
        count, clear = mesh_candidates(
            self.table, self.meshes, (0, 0), columns(pose), near, rows
        )
        return rows[:count], clear


def random_pose(rng: np.random.Generator, reach: float) -> pin.SE3:
    """A pose around the origin."""
    turn = pin.Quaternion(*(x := rng.normal(size=4)) / np.linalg.norm(x)).matrix()
    return pin.SE3(turn, rng.uniform(-reach, reach, 3) + [0.0, 0.0, 0.1])


@pytest.mark.parametrize("name", MESHES)
def test_query_is_that_of_all(name: str) -> None:
    """The tree finds the same triangles as a look at all of them, and their bound."""
    mesh = MESHES[name]
    row, rng = mesh.row(), np.random.default_rng(3)
    first, last = int(row[MESH_TRIANGLES]), int(row[NORMALS])
    corners = mesh.data[first:last].reshape(-1, TRIANGLE)[:, :9].reshape(-1, 3, 3)
    low, high = corners.min(axis=1), corners.max(axis=1)
    for _ in range(200):
        middle, half = rng.uniform(-0.4, 0.4, 3), rng.uniform(0.0, 0.1, 3)
        box, near = np.array([middle - half, middle + half]), rng.uniform(0.0, 0.1)
        beyond = np.maximum(0.0, np.maximum(low - box[1], box[0] - high))
        distance = np.linalg.norm(beyond, axis=1)
        found, bound = triangles_near(row, mesh.data, box, np.zeros((0, 4)), near)
        assert sorted(found.tolist()) == np.flatnonzero(distance <= near).tolist()
        if len(found):
            assert bound == near
        else:
            assert bound == pytest.approx(distance.min(), abs=1e-12)


def test_faces_narrow_the_query() -> None:
    """Nothing that a brute search finds near a turned box is left out."""
    mesh, rng = MESHES["field"], np.random.default_rng(4)
    row = mesh.row()
    first, last = int(row[MESH_TRIANGLES]), int(row[NORMALS])
    corners = mesh.data[first:last].reshape(-1, TRIANGLE)[:, :9].reshape(-1, 3, 3)
    for _ in range(100):
        turn = random_pose(rng, 0.1).rotation
        middle, near = rng.uniform(-0.2, 0.2, 3), rng.uniform(0.0, 0.05)
        points = CORNERS @ turn.T + middle
        normals = np.vstack([turn.T, -turn.T])
        faces = np.column_stack([normals, (points @ normals.T).max(axis=0)])
        box = np.array([points.min(axis=0), points.max(axis=0)])
        beyond = np.maximum(
            corners.min(axis=1) - box[1], box[0] - corners.max(axis=1)
        ).clip(0.0)
        distance = np.linalg.norm(beyond, axis=1)
        heights = (corners @ normals.T).min(axis=1) - faces[:, 3]
        distance = np.maximum(distance, heights.max(axis=1))
        found, bound = triangles_near(row, mesh.data, box, faces, near)
        assert sorted(found.tolist()) == np.flatnonzero(distance <= near).tolist()
        assert bound <= np.delete(distance, found).min() + 1e-12


@pytest.mark.parametrize("solid", SOLIDS)
@pytest.mark.parametrize("name", MESHES)
def test_separation_is_coals_distance(name: str, solid: str) -> None:
    """Where they are apart; a smaller radius of the search gives a bound of it."""
    mesh, rng = MESHES[name], np.random.default_rng(7)
    touching, model = Touching(SOLIDS[solid], mesh), bvh(mesh)
    for _ in range(60):
        pose = random_pose(rng, 0.35)
        distance = coal_distance(model, SOLIDS[solid], pose)
        if distance < 1e-4:
            continue
        _, apart = touching.at(pose)
        assert apart == pytest.approx(distance, abs=1e-6)
        for near in (1e-3, 0.02):
            rows, bound = touching.at(pose, near)
            assert bound <= distance + 1e-6
            assert (rows[:, 9] > -1e-9).all()


def flat(half: float, count: int) -> hs.TriangleMesh:
    """An open floor of triangles."""
    x = np.linspace(-half, half, count + 1)
    points = np.array([(a, b, 0.0) for a in x for b in x])
    number = np.arange(len(points)).reshape(count + 1, -1)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    faces = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    return hs.TriangleMesh(points, faces, "floor")


@pytest.mark.parametrize("height", [0.0, 1e-9, -1e-9, 5e-4])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_flat_floor_is_a_half_space(count: int, height: float) -> None:
    """A box touches in its four corners wherever it is, and nothing leans."""
    touching, rng = Touching(SOLIDS["box"], flat(0.5, count)), np.random.default_rng(1)
    for k in range(60):
        pose = random_pose(rng, 0.3)
        tilt = rng.choice([0.0, 1e-10, 1e-4]) * rng.normal(size=2)
        turn = pin.rpy.rpyToMatrix(*tilt, rng.uniform(-3, 3) if k % 3 else 0.0)
        low = (turn @ CORNERS.T)[2].min()
        pose = pin.SE3(turn, np.array([*pose.translation[:2], height - low]))
        if k % 5 == 0:  # a corner right over one of the mesh
            pose.translation[:2] = -(turn @ CORNERS[0])[:2]
        rows, _ = touching.at(pose, 2e-3)
        below = CORNERS @ turn.T + pose.translation
        below = below[below[:, 2] < height + 0.01]
        assert len(rows) == 4
        np.testing.assert_allclose(rows[:, 6:9], [[0.0, 0.0, 1.0]] * 4, atol=1e-12)
        order = [np.abs(rows[:, :3] - b).sum(axis=1).argmin() for b in below]
        np.testing.assert_allclose(rows[order, :3], below, atol=1e-9)
        np.testing.assert_allclose(rows[order, 9], below[:, 2], atol=1e-12)


def test_normals_of_a_block() -> None:
    """On an edge between both faces, on a corner between three; none on a plane."""
    mesh = MESHES["block"]
    row, top = mesh.row(), []
    for k in range(len(mesh.faces)):
        triangle = int(row[MESH_TRIANGLES]) + TRIANGLE * k
        if mesh.data[triangle + 11] > 0.5:
            top.append(triangle)

    def allowed(*n: float) -> bool:
        unit = np.array(n) / np.linalg.norm(n)
        return any(is_normal(row, mesh.data, t, unit) for t in top)

    assert allowed(0, 0, 1) and allowed(1, 0, 1) and allowed(1, 1, 1)
    assert allowed(1e-3, 2e-3, 1) and not allowed(0, 0, -1) and not allowed(1, 0, -0.1)
    inner = flat(0.5, 4)
    first = int(inner.row()[MESH_TRIANGLES])
    for k in range(len(inner.faces)):
        triangle = first + TRIANGLE * k
        assert is_normal(inner.row(), inner.data, triangle, np.array([0.0, 0.0, 1.0]))
    for lean in ((1.0, 0.3, 1.0), (1.0, 0.3, 1e-3), (1e-4, 0.0, 1.0)):
        unit = np.array(lean) / np.linalg.norm(lean)
        open_ = [
            first + TRIANGLE * k
            for k in range(len(inner.faces))
            if is_normal(inner.row(), inner.data, first + TRIANGLE * k, unit)
        ]
        # only at the border towards which it leans
        corners = np.array([inner.data[t : t + 9].reshape(3, 3) for t in open_])
        assert (corners[:, :, 0].max(axis=1) == 0.5).all()
