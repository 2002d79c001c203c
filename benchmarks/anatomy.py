# SPDX-License-Identifier: Apache-2.0
"""Bones: medial axes of large volumes, detection in a hand, beside coal's meshes.

    python benchmarks/anatomy.py [axis | hand | memory | picture]

Thesis 000 (1994): detection 4 min at 256^3, 30 to 90 min at 512^3.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import coal
import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.anatomy import (
    ContactDetector,
    Poses,
    ball_model,
    chamfer_map,
    of_ellipsoid,
    reduce_cover,
    squared_distance_map,
    voxelise,
)
from humans_sim.view.raster import ball_splat, camera_around


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Least of three processor times, after a first call that compiles."""
    result = call()
    least = np.inf
    for _ in range(3):
        begin = time.process_time()
        result = call()
        least = min(least, time.process_time() - begin)
    return least, result


def axis() -> None:
    """A bone that fills a grid of 256^3."""
    bone = of_ellipsoid((0.0315, 0.0315, 0.0315), 2.5e-4)
    print(f"{' x '.join(map(str, bone.inside.shape))} grid, {bone.count} voxels inside")
    for name, call in (
        ("chamfer map 3-4-5", lambda: chamfer_map(bone.inside)),
        ("chamfer map and medial axis 3-4-5", lambda: ball_model(bone)),
        ("squared Euclidean map", lambda: squared_distance_map(bone.inside)),
        ("power diagram", lambda: ball_model(bone, "euclidean")),
    ):
        seconds, result = timed(call)
        print(f"  {name}: {seconds:.2f} s, {getattr(result, 'radii', result).size}")


def bones(spacing: float) -> tuple[list[object], list[trimesh.Trimesh]]:
    """Fifteen bumpy bones with their meshes."""
    chance = np.random.default_rng(0)
    models, meshes = [], []
    for _ in range(15):
        mesh = trimesh.creation.icosphere(5)
        bumps = 1 + 0.05 * np.sin(mesh.vertices @ chance.normal(0, 4, (3, 3))).sum(1)
        mesh.vertices *= bumps[:, None] * chance.uniform(6e-3, 9e-3, 3)
        models.append(ball_model(voxelise(mesh, spacing)))
        meshes.append(mesh)
    return models, meshes


def hand() -> None:
    """Detection among 15 bones of about 200 000 balls."""
    roles = ["free"] * 8 + ["driven"] * 5 + ["fixed"] * 2
    models, meshes = bones(2.2e-4)
    detector = ContactDetector(models, roles)
    places = np.array([[k % 4, k // 4, 0] for k in range(15)]) * 0.0165
    poses = Poses(Rotation.random(15, random_state=1).as_matrix(), places)
    print(f"{detector.balls} balls of 15 bones")
    for method in ("tree", "envelope", "bitfield"):
        seconds, contacts = timed(lambda m=method: detector.detect(poses, m))
        print(f"  {method}: {seconds:.3f} s, {contacts.count} contacts")
    trees = []
    for mesh in meshes:
        tree = coal.BVHModelOBBRSS()
        tree.beginModel(len(mesh.faces), len(mesh.vertices))
        vertices, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in np.array(mesh.vertices):
            vertices.append(vertex)
        for face in mesh.faces.tolist():
            faces.append(coal.Triangle(*face))
        tree.addSubModel(vertices, faces)
        tree.endModel()
        trees.append(tree)
    frames = [
        coal.Transform3s(turn.copy(), place.copy())
        for turn, place in zip(poses.rotations, places, strict=True)
    ]
    request = coal.CollisionRequest()
    request.num_max_contacts = 10**6
    request.enable_contact = True

    def collide() -> int:
        count = 0
        for i, j in detector.pairs.tolist():
            result = coal.CollisionResult()
            coal.collide(trees[i], frames[i], trees[j], frames[j], request, result)
            count += result.numContacts()
        return count

    seconds, count = timed(collide)
    faces = sum(len(mesh.faces) for mesh in meshes)
    print(f"  coal, {faces} triangles: {seconds:.3f} s, {count} pairs of triangles")
    fewer = ContactDetector([reduce_cover(model) for model in models], roles)
    seconds, contacts = timed(lambda: fewer.detect(poses))
    print(f"  tree, reduced to {fewer.balls} balls: {seconds:.4f} s, {contacts.count}")


def memory() -> None:
    """A grid of 512^3 from a mesh to its balls."""
    mesh = trimesh.creation.icosphere(6, 0.0635)
    bone = voxelise(mesh, 2.5e-4)
    model = ball_model(bone)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = " x ".join(map(str, bone.inside.shape))
    print(f"{size} grid, {len(model)} balls: at most {used:.2f} GB")


def picture() -> None:
    """A picture of 200 000 balls (thesis: three minutes)."""
    chance = np.random.default_rng(0)
    centres = chance.normal(0.0, 0.02, (200_000, 3))
    radii = chance.uniform(2e-4, 3e-3, len(centres))
    camera = camera_around(centres, np.eye(3), 1000)
    seconds, image = timed(lambda: ball_splat(centres, radii, 0, camera))
    looked = image.looked_at / len(radii)
    print(f"{len(radii)} balls drawn in {seconds:.2f} s, {looked:.0f} pixels each")


if __name__ == "__main__":
    parts = {"axis": axis, "hand": hand, "memory": memory, "picture": picture}
    for part in sys.argv[1:] or parts:
        parts[part]()
