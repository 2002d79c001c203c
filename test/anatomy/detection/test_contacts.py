# SPDX-License-Identifier: Apache-2.0
"""Three searches for contacts, one set; against brute force and mesh collision."""

from __future__ import annotations

import coal
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.anatomy import (
    BallModel,
    ContactDetector,
    Poses,
    ball_model,
    detect,
    of_ellipsoid,
    voxelise,
)

ROLES = ["free"] * 8 + ["driven"] * 5 + ["fixed"] * 2
SPACING = 1.5e-3


def bones(seed: int = 0) -> list[BallModel]:
    """Fifteen ellipsoids in place of a hand."""
    chance = np.random.default_rng(seed)
    sizes = chance.uniform(5e-3, 9e-3, (15, 3))
    return [ball_model(of_ellipsoid(size, SPACING)) for size in sizes]


def layout(seed: int, pitch: float) -> Poses:
    """Four rows of bones, each turned at random."""
    places = np.array([[k % 4, k // 4, 0] for k in range(15)]) * pitch
    return Poses(Rotation.random(15, random_state=seed).as_matrix(), places)


def brute(models: list[BallModel], poses: Poses) -> set[tuple[int, int, int, int]]:
    """Every pair of balls of every pair of bones."""
    hits = set()
    moved = [
        model.moved(turn, shift)
        for model, turn, shift in zip(
            models, poses.rotations, poses.positions, strict=True
        )
    ]
    for i, one in enumerate(moved):
        for j, other in enumerate(moved[i + 1 :], i + 1):
            if "free" not in (ROLES[i], ROLES[j]):
                continue
            arm = one.centres[:, None] - other.centres
            gap = np.linalg.norm(arm, axis=2) - one.radii[:, None] - other.radii
            hits |= {(i, int(a), j, int(b)) for a, b in np.argwhere(gap < 0)}
    return hits


def as_set(contacts: object) -> set[tuple[int, int, int, int]]:
    """Numbers of bodies and balls."""
    columns = (contacts.body_i, contacts.ball_i, contacts.body_j, contacts.ball_j)
    return set(zip(*(c.tolist() for c in columns), strict=True))


@pytest.mark.parametrize(
    ("seed", "pitch"), [(1, 0.0135), (2, 0.014), (3, 0.013), (5, 0.0125)]
)
def test_methods_find_the_same_contacts(seed: int, pitch: float) -> None:
    """Envelopes, fields of bits and trees have the set of all pairs, each once."""
    models, poses = bones(), layout(seed, pitch)
    detector = ContactDetector(models, ROLES)
    expected = brute(models, poses)
    assert len(expected) > 20
    for method in ("tree", "envelope", "bitfield"):
        contacts = detector.detect(poses, method)
        assert as_set(contacts) == expected, method
        assert contacts.count == len(expected)


def test_depth_normal_and_point() -> None:
    """Depth is r_i + r_j - d, the normal goes from j to i, the point lies between."""
    models = [
        BallModel(np.zeros((1, 3)), np.array([0.01])),
        BallModel(np.zeros((1, 3)), np.array([0.02])),
    ]
    poses = Poses(np.tile(np.eye(3), (2, 1, 1)), np.array([[0, 0, 0], [0.028, 0, 0]]))
    contacts = detect(models, poses)
    assert contacts.depth == pytest.approx([0.002], abs=1e-12)
    assert contacts.normal[0] == pytest.approx([-1, 0, 0])
    assert contacts.point[0] == pytest.approx([0.009, 0, 0])
    assert contacts.relative == pytest.approx([28 / 30])
    apart = ContactDetector(models).detect(
        Poses(poses.rotations, 1.2 * poses.positions), margin=0.01
    )
    assert apart.depth == pytest.approx([-0.0036], abs=1e-12)


def test_a_common_motion_changes_nothing() -> None:
    """Bones moved together keep their contacts and depths."""
    detector = ContactDetector(bones(), ROLES)
    poses = layout(4, 0.014)
    turn = Rotation.from_rotvec([0.4, -1.0, 0.7]).as_matrix()
    moved = Poses(turn @ poses.rotations, poses.positions @ turn.T + [0.1, 0.2, -0.3])
    before, after = detector.detect(poses), detector.detect(moved)
    assert as_set(before) == as_set(after)
    assert np.abs(before.depth - after.depth).max() < 1e-12
    assert np.abs(before.normal @ turn.T - after.normal).max() < 1e-9


def test_roles_and_exclusions() -> None:
    """Bones that no force moves do not meet each other, nor do excluded pairs."""
    models, poses = bones()[:3], Poses.rest(3)
    detector = ContactDetector(models, ["free", "driven", "fixed"], [(2, 0)])
    assert detector.pairs.tolist() == [[0, 1]]
    contacts = detector.detect(poses)
    assert set(contacts.body_i) == {0} and set(contacts.body_j) == {1}


def test_memory_of_the_bit_fields() -> None:
    """Fields take 3 W M / 8 bytes, M rounded up to words."""
    detector = ContactDetector(bones(), ROLES)
    poses = layout(1, 0.014)
    cell = 5e-4
    size = detector.bit_field_size(poses, cell)
    width = size * 8 / 3 / (64 * -(-detector.balls // 64))
    # four bones in a row, half a millimetre a cell
    assert 80 < width < 512 and width == int(width)


def test_gap_of_meshes() -> None:
    """Balls touch where coal's meshes do, to a voxel and a half."""
    mesh = trimesh.creation.icosphere(4)
    mesh.apply_scale([9e-3, 6e-3, 7e-3])
    model = ball_model(voxelise(mesh, 5e-4), "euclidean")
    tree = coal.BVHModelOBBRSS()
    tree.beginModel(len(mesh.faces), len(mesh.vertices))
    vertices, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in np.array(mesh.vertices):
        vertices.append(vertex)
    for face in mesh.faces.tolist():
        faces.append(coal.Triangle(*face))
    tree.addSubModel(vertices, faces)
    tree.endModel()
    detector = ContactDetector([model, model])
    for seed in range(6):
        turns = Rotation.random(2, random_state=seed).as_matrix()
        shift = np.array([[0, 0, 0], [0.021, 0.004, 0.002]])
        frames = [coal.Transform3s(turns[k].copy(), shift[k].copy()) for k in (0, 1)]
        result = coal.DistanceResult()
        exact = coal.distance(
            tree, frames[0], tree, frames[1], coal.DistanceRequest(), result
        )
        contacts = detector.detect(Poses(turns, shift), margin=0.02)
        assert -contacts.depth.max() == pytest.approx(exact, abs=1.5 * 5e-4)


def test_refuses_what_cannot_meet() -> None:
    """Unknown roles and methods, wrong poses and margins are refused."""
    models = bones()[:2]
    for roles, exclusions in ((["free", "held"], ()), (["free"], ()), (None, [(0, 5)])):
        with pytest.raises(hs.errors.AnatomyError):
            ContactDetector(models, roles, exclusions)
    with pytest.raises(hs.errors.AnatomyError):
        ContactDetector([])
    detector = ContactDetector(models)
    with pytest.raises(hs.errors.AnatomyError, match="no method"):
        detector.detect(Poses.rest(2), "octree")
    with pytest.raises(hs.errors.AnatomyError, match="rotations"):
        detector.detect(Poses.rest(3))
    with pytest.raises(hs.errors.AnatomyError, match="margin"):
        detector.detect(Poses.rest(2), margin=-1.0)
