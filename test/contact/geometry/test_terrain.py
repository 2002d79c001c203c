# SPDX-License-Identifier: Apache-2.0
"""Distances to height fields and meshes against trimesh, boxes and differences."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

import humans_sim as hs
from humans_sim.contact.geometry.mesh_contact_kernels import (
    ABSENT,
    surface_distance,
    surface_feature,
)
from humans_sim.core.errors import FileError


def measure(ground: hs.Ground, point: object) -> list[tuple[float, np.ndarray]]:
    """Distance and normal of a point to every row of a scene."""
    data, place = ground.mesh_data(), np.asarray(point, float)
    contacts = []
    for row in ground.table():
        normal, hessian = np.empty(3), np.empty((3, 3))
        contacts.append((surface_distance(row, data, place, normal, hessian), normal))
    return contacts


def of_mesh(
    mesh: hs.TriangleMesh, point: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Distance, normal and Hessian of the first contact with a mesh."""
    normal, hessian = np.empty(3), np.empty((3, 3))
    signed = surface_distance(mesh.row(), mesh.data, point, normal, hessian)
    return signed, normal, hessian


def rough(seed: int = 1) -> hs.HeightField:
    """A rough height field."""
    heights = np.random.default_rng(seed).uniform(0.0, 0.1, (9, 12))
    return hs.HeightField(heights, (0.05, 0.04), (0.1, -0.2, 0.3))


def test_distances_against_trimesh() -> None:
    """Outside the distance is trimesh's; inside the sign is, and nothing is deeper."""
    field = rough()
    reference = trimesh.Trimesh(field.vertices, field.faces, process=False)
    assert reference.is_watertight and reference.volume > 0
    low, high = field.vertices.min(axis=0), field.vertices.max(axis=0)
    points = np.random.default_rng(2).uniform(low - 0.1, high + 0.2, (1500, 3))
    expected = -trimesh.proximity.signed_distance(reference, points)
    signed = np.array([of_mesh(field, point)[0] for point in points])
    outside = expected > 0
    assert outside.sum() > 500 and (~outside).sum() > 50
    np.testing.assert_allclose(signed[outside], expected[outside], atol=1e-12)
    assert (signed[~outside] <= 1e-12).all()
    assert (signed[~outside] >= expected[~outside] - 1e-12).all()


def test_convex_meshes_against_trimesh() -> None:
    """Inside a convex mesh, too, the distance is that to the nearest face."""
    ball = trimesh.creation.icosphere(3)
    mesh = hs.TriangleMesh(ball.vertices, ball.faces)
    points = np.random.default_rng(3).uniform(-1.5, 1.5, (800, 3))
    expected = -trimesh.proximity.signed_distance(ball, points)
    signed = [of_mesh(mesh, point)[0] for point in points]
    np.testing.assert_allclose(signed, expected, atol=1e-12)


def test_gradient_and_hessian_by_differences() -> None:
    """Normal and curvature are the derivatives of the distance, outside."""
    field, step = rough(), 1e-6
    low, high = field.vertices.min(axis=0), field.vertices.max(axis=0)
    points = np.random.default_rng(4).uniform(low - 0.1, high + 0.2, (300, 3))
    curved = 0
    for point in points:
        signed, normal, hessian = of_mesh(field, point)
        number = surface_feature(field.row(), field.data, point)
        around = [
            surface_feature(field.row(), field.data, point + sign * step * axis)
            for axis in np.eye(3)
            for sign in (1, -1)
        ]
        if signed < 0.01 or any(other != number for other in around):
            continue
        curved += bool(hessian.any())
        for axis in np.eye(3):
            ahead, n_ahead, _ = of_mesh(field, point + step * axis)
            behind, n_behind, _ = of_mesh(field, point - step * axis)
            assert (ahead - behind) / 2 / step == pytest.approx(normal @ axis, abs=1e-7)
            np.testing.assert_allclose(
                (n_ahead - n_behind) / 2 / step, hessian @ axis, atol=1e-4
            )
    assert curved > 50


def test_stairs_of_a_mesh_and_of_boxes_touch_alike() -> None:
    """On treads, risers and in valleys a mesh has the contacts that boxes have."""
    boxes = hs.Ground().with_steps(3, 0.1, 0.3, 1.0)
    mesh = hs.Ground().with_stairs(3, 0.1, 0.3, 1.0)
    random = np.random.default_rng(5)
    for _ in range(300):
        # around the valley of the first tread with the second riser
        point = np.array([1.3, 0.0, 0.1]) + random.uniform(-1e-3, 1e-3, 3)
        one = sorted(measure(boxes, point), key=lambda contact: contact[0])[:2]
        two = sorted(measure(mesh, point), key=lambda contact: contact[0])[:2]
        for (gap, normal), (other, direction) in zip(one, two, strict=True):
            assert other == pytest.approx(gap, abs=1e-12)
            np.testing.assert_allclose(direction, normal, atol=1e-12)


def test_edges_that_stick_out_have_one_contact() -> None:
    """What a convex edge separates is never touched together."""
    ground = hs.Ground(solids=()).with_stairs(1, 0.1, 0.3, 0.0)
    random = np.random.default_rng(6)
    for _ in range(200):
        point = np.array([0.0, 0.0, 0.1]) + random.uniform(-1e-3, 1e-3, 3)
        gaps = [gap for gap, _ in measure(ground, point)]
        assert gaps[0] < 0.01 and min(gaps[1:]) > ABSENT


def test_a_pit_has_three_contacts() -> None:
    """The bottom of a pit touches three faces; their gaps are those of the planes."""
    base, tip = 0.1, np.array([0.0, 0.0, -0.1])
    corners = [
        (base * np.cos(angle), base * np.sin(angle), 0.0)
        for angle in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)
    ]
    pit = hs.TriangleMesh([*corners, tip], [(0, 1, 3), (1, 2, 3), (2, 0, 3)])
    assert not pit.closed
    ground = hs.Ground(solids=(pit,))
    for point in (tip + [0, 0, 1e-4], tip - [0, 0, 1e-4], tip + [2e-5, 1e-5, 1e-4]):
        contacts = measure(ground, point)
        normals = np.array([normal for _, normal in contacts])
        assert np.linalg.matrix_rank(normals, tol=1e-3) == 3
        np.testing.assert_allclose([g for g, _ in contacts], normals @ (point - tip))


def test_flat_parts_are_planes() -> None:
    """Over a level or tilted field a point has one contact, with no curvature."""
    x = np.arange(6)[:, None] * np.ones((6, 6))
    for slope in (0.0, 0.3):
        field = hs.HeightField(slope * 0.1 * x, 0.1)
        ground = hs.Ground(solids=(field,))
        for place in ((0.2, 0.2), (0.25, 0.25), (0.31, 0.17)):
            height = 0.01 + slope * place[0]
            gaps = [gap for gap, _ in measure(ground, (*place, height))]
            assert gaps[0] == pytest.approx(0.01 * np.cos(np.arctan(slope)), abs=1e-15)
            assert min(gaps[1:]) > ABSENT
            assert not of_mesh(field, np.array([*place, height]))[2].any()


def test_two_edges_hold_a_ball() -> None:
    """A ball over a ditch narrower than itself touches both of its edges."""
    ditch = np.zeros((4, 2))
    heights = np.vstack([ditch[:1], ditch[:1], [[-0.1, -0.1]], ditch[:2]])
    field = hs.HeightField(heights, (0.02, 0.2), (-0.04, -0.1, 0.0))
    ground = hs.Ground(solids=(field,))
    centre = np.array([0.0, 0.0, 0.03])
    data, table = ground.mesh_data(), ground.table(0.05)
    gaps, normal, hessian = [], np.empty(3), np.empty((3, 3))
    for row in table:
        gaps.append(surface_distance(row, data, centre, normal, hessian))
    assert gaps[:2] == pytest.approx([np.hypot(0.02, 0.03)] * 2)


def test_files(tmp_path: Path) -> None:
    """Arrays, tables, pictures and meshes come back from their files."""
    heights = np.round(np.random.default_rng(7).uniform(0, 0.1, (5, 7)), 6)
    np.save(tmp_path / "a.npy", heights)
    np.savetxt(tmp_path / "a.csv", heights, delimiter=",")
    for name in ("a.npy", "a.csv"):
        field = hs.HeightField.from_file(tmp_path / name, 0.02)
        np.testing.assert_array_equal(field.heights, heights)
    levels = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    Image.fromarray(levels).save(tmp_path / "a.png")
    field = hs.HeightField.from_image(tmp_path / "a.png", (3.0, 2.0), 0.51)
    assert field.heights.shape == (4, 3) and field.spacing == (1.0, 1.0)
    # the lower left pixel is at the least x and y
    assert field.heights[0, 0] == pytest.approx(0.51 * 160 / 255)
    assert field.heights[3, 2] == pytest.approx(0.51 * 60 / 255)
    deep = Image.fromarray(levels.astype(np.uint16) * 256)
    deep.save(tmp_path / "deep.png")
    assert hs.HeightField.from_image(tmp_path / "deep.png", (1, 1), 1.0).heights.max()
    box = trimesh.creation.box((1.0, 2.0, 0.5))
    for suffix in ("stl", "obj", "ply"):
        box.export(tmp_path / f"box.{suffix}")
        mesh = hs.TriangleMesh.from_file(
            tmp_path / f"box.{suffix}", scale=0.1, origin=(0.0, 0.0, 1.0)
        )
        assert mesh.closed and len(mesh.vertices) == 8
        assert of_mesh(mesh, np.array([0.0, 0.0, 2.0]))[0] == pytest.approx(0.975)


def square(*extra: object) -> tuple[list[tuple[float, ...]], list[tuple[int, ...]]]:
    """Vertices and faces of a square."""
    corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]
    return corners, [(0, 1, 2), (0, 2, 3)]


def bad_meshes() -> dict[str, tuple[object, object]]:
    """Meshes that are none, by what the error says of them."""
    corners, faces = square()
    ball = trimesh.creation.icosphere(1)
    return {
        "empty": ([], []),
        "no faces": (corners, np.zeros((0, 3))),
        "finite": ([*corners[:3], (0.0, np.nan, 0.0)], faces),
        "degenerate": ([*corners[:3], (0.5, 0.5, 0.0)], [(0, 1, 2), (0, 2, 3)]),
        "unit metres": (1e6 * np.array(corners), faces),
        "inverted: this open": (corners, [(0, 2, 1), (0, 3, 2)]),
        "inverted: its faces": (ball.vertices, ball.faces[:, ::-1]),
        "inconsistently": (corners, [(0, 1, 2), (0, 3, 2)]),
        "0 to 3": (corners, [(0, 1, 4)]),
        "more than": (corners, np.zeros((600_000, 3))),
    }


@pytest.mark.parametrize("word", sorted(bad_meshes()))
def test_bad_meshes_are_refused(word: str) -> None:
    """Typed errors that say what is wrong with a mesh."""
    vertices, faces = bad_meshes()[word]
    with pytest.raises(hs.errors.ParameterError, match=word.replace("empty", "mesh")):
        hs.TriangleMesh(vertices, faces)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hs.HeightField([[0.0, 1.0]], 0.1),
        lambda: hs.HeightField([[0.0, np.nan], [0.0, 0.0]], 0.1),
        lambda: hs.HeightField(np.zeros((3, 3)), 0.0),
        lambda: hs.HeightField(np.zeros((3, 3)), (0.1, -0.1)),
        lambda: hs.HeightField(np.zeros((3, 3)), 0.1, bottom=0.0),
        lambda: hs.HeightField(np.broadcast_to(0.0, (40_000, 40_000)), 0.1),
        lambda: hs.Ground().with_stairs(0, 0.1, 0.1, 0.0),
        lambda: hs.Ground().with_stairs(10**9, 0.1, 0.1, 0.0),
        lambda: hs.Ground().with_ramp(2.0, 1.0, 0.0),
        lambda: hs.Ground().with_rubble(1, -0.1, (1.0, 1.0)),
        lambda: hs.Ground().with_rubble(1, 0.1, (1.0, 1.0), spacing=1e-6),
    ],
)
def test_nonsense_is_refused(make) -> None:
    """Typed errors, before anything large is made."""
    with pytest.raises(hs.errors.ParameterError):
        make()


def test_indented_faces(tmp_path: Path) -> None:
    """Blanks before a line of an OBJ file lose no face."""
    text = (
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\n  f 2 3 4\n\tf 3 1 4\n"
    )
    (tmp_path / "corner.obj").write_text(text)
    assert len(hs.TriangleMesh.from_file(tmp_path / "corner.obj").faces) == 4


def test_hostile_files(tmp_path: Path) -> None:
    """A file that says to be huge, or is something else, is a typed error."""
    header = np.lib.format.header_data_from_array_1_0(np.zeros((2, 2)))
    header["shape"] = (10**6, 10**6)
    with (tmp_path / "huge.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
    header["shape"] = (100, 100)
    with (tmp_path / "short.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    (tmp_path / "words.csv").write_text("1,2\n3,x\n")
    (tmp_path / "ragged.csv").write_text("1,2\n3\n")
    for name in ("huge.npy", "short.npy", "objects.npy", "words.csv", "ragged.csv"):
        with pytest.raises(FileError, match=name):
            hs.HeightField.from_file(tmp_path / name, 0.1)
    picture = b"\x89PNG\r\n\x1a\n"
    numbers = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    for chunk in (b"IHDR" + numbers, b"IDAT" + zlib.compress(bytes(10))):
        picture += struct.pack(">I", len(chunk) - 4) + chunk
        picture += struct.pack(">I", zlib.crc32(chunk))
    (tmp_path / "huge.png").write_bytes(picture)
    (tmp_path / "not.png").write_bytes(b"GIF89a")
    for name in ("huge.png", "not.png", "missing.png"):
        with pytest.raises(FileError, match=name) as caught:
            hs.HeightField.from_image(tmp_path / name, (1.0, 1.0), 1.0)
        assert name != "huge.png" or "pixels" in str(caught.value)
    (tmp_path / "huge.ply").write_text(
        "ply\nformat binary_little_endian 1.0\nelement vertex 1000000000\n"
        "property float x\nproperty float y\nproperty float z\nend_header\n"
    )
    (tmp_path / "not.stl").write_bytes(b"\xff" * 200)
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    (tmp_path / "plane.obj").write_text("v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n")
    for name in ("huge.ply", "not.stl", "flat.obj", "plane.obj", "mesh.dae"):
        with pytest.raises(FileError, match=name):
            hs.TriangleMesh.from_file(tmp_path / name)


def test_scene_without_meshes() -> None:
    """Without meshes kernels get None and measure planes and boxes as with meshes."""
    box = hs.Box((0.4, 0.3, 0.2), (0.1, 0.0, 0.1))
    plain = hs.Ground(solids=[hs.HalfSpace(), box])
    mixed = hs.Ground(solids=[hs.HalfSpace(), box, rough()])
    assert plain.mesh_data() is None and mixed.mesh_data() is not None
    for point in np.random.default_rng(3).uniform(-0.5, 0.5, (50, 3)):
        for (away, normal), (same, also) in zip(
            measure(plain, point), measure(mixed, point)[:2], strict=True
        ):
            assert away == same and np.array_equal(normal, also)
        for row in plain.table():
            assert surface_feature(row, None, point) == 0
