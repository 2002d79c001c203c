# SPDX-License-Identifier: Apache-2.0
"""The skin of Human36: closed, of a body's size, on its joints; soles on the floor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import humans_sim as hs
import humans_sim.soft as soft
from humans_sim.models.collision_shapes import collision_shapes
from humans_sim.soft.skin.skin import (
    cache_folder,
    cached,
    cut_mesh,
    link_meshes,
    skin_key,
)

COARSE = 0.0125
"""Grid of the tests, that of the viewer: fingers are apart on it [m]."""


@pytest.fixture(scope="module")
def model() -> hs.Model:
    """Human36 as it is."""
    return hs.load_model("human36")


@pytest.fixture(scope="module")
def skin(model: hs.Model) -> soft.Skin:
    """Its skin on a coarse grid, made anew."""
    return soft.make_skin(model, COARSE)


def posture(model: hs.Model, **degrees: float) -> np.ndarray:
    """Standing with some joints turned, on both sides where no side is given."""
    angles = np.zeros(len(model.joint_names))
    for k, joint in enumerate(model.joint_names):
        for name, value in degrees.items():
            if joint in (name, f"l_{name}", f"r_{name}"):
                angles[k] = np.radians(value)
    return model.standing(angles)


POSTURES = {
    "standing": {},
    "arms up": {"shoulder_roll": 165, "clavicle_roll": 20},
    "sitting": {"hip_pitch": 90, "knee": -90, "elbow_pitch": 60},
    "stride": {"l_hip_pitch": 28, "r_hip_pitch": -15, "r_knee": -25},
}


def test_it_is_a_closed_sphere(skin: soft.Skin) -> None:
    """Watertight, Euler's number 2, one piece, facing out."""
    mesh = skin.mesh()
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert mesh.euler_number == 2
    assert mesh.body_count == 1 and mesh.volume > 0


def test_area_and_volume_are_a_body_s(model: hs.Model, skin: soft.Skin) -> None:
    """Area as DuBois (1916) within 5 %, volume as the mass in water within 8 %."""
    mesh = skin.mesh()
    dubois = 0.007184 * model.mass**0.425 * (100 * model.height) ** 0.725
    assert mesh.area == pytest.approx(dubois, rel=0.05)
    assert 1000 * mesh.volume == pytest.approx(model.mass, rel=0.08)


def test_vertices_lie_on_the_surface(model: hs.Model, skin: soft.Skin) -> None:
    """The implicit distance of the vertices is small beside the grid."""
    shape = soft.body_shape(model)
    off = np.abs(shape.distance(skin.vertices))
    assert np.quantile(off, 0.95) < 0.02 * COARSE
    assert off.max() < 0.5 * COARSE


def test_parts_blend_along_the_tree_alone(model: hs.Model) -> None:
    """Neighbours of the blending graph are neighbours in the kinematic tree."""
    shape = soft.body_shape(model)
    names = [part.name for part in shape.parts]
    pairs = {(names[a], names[b]) for a, b in shape.sweeps.edges}
    assert ("trunk", "l_leg") in pairs and ("l_arm", "l_palm") in pairs
    for a, b in pairs:
        sides = {name[:2] for name in (a, b)} & {"l_", "r_"}
        assert len(sides) < 2, f"{a} blends with {b}"
    # between the legs, as far from both: one does not feel the other
    legs = np.array([[0.0, 0.0, 0.45], [0.02, 0.0, 0.3]])
    without = shape.sweeps._replace(
        edges=np.zeros((0, 2), dtype=np.int64), widths=np.zeros(0)
    )
    plain = soft.BodyShape(shape.parts, without, shape.pose, shape.colours)
    np.testing.assert_allclose(shape.distance(legs), plain.distance(legs), atol=5e-4)


@pytest.mark.parametrize("name", POSTURES)
def test_soles_are_on_the_floor(model: hs.Model, skin: soft.Skin, name: str) -> None:
    """No vertex is below the lowest contact; flat feet touch the floor."""
    places = skin.posed(model, posture(model, **POSTURES[name]))
    assert places[:, 2].min() > -1e-9
    if name != "stride":
        assert places[:, 2].min() == pytest.approx(0.0, abs=1e-6)


def test_it_follows_the_joints(model: hs.Model, skin: soft.Skin) -> None:
    """Rigid motion moves it rigidly; what one joint carries keeps its shape."""
    rng = np.random.default_rng(1)
    q = posture(model, **POSTURES["sitting"])
    near = skin.posed(model, q)
    moved = q.copy()
    moved[:3] += [1.0, -2.0, 0.5]
    np.testing.assert_allclose(skin.posed(model, moved), near + [1, -2, 0.5])
    head = np.flatnonzero(skin.weights[:, skin.bones.index("head_roll")] > 1 - 1e-12)
    pairs = rng.choice(head, (50, 2))
    apart = [
        np.linalg.norm(v[pairs[:, 0]] - v[pairs[:, 1]], axis=1)
        for v in (skin.vertices, near)
    ]
    np.testing.assert_allclose(*apart, atol=1e-12)


@pytest.mark.parametrize("name", POSTURES)
def test_it_bends_without_collapsing(
    model: hs.Model, skin: soft.Skin, name: str
) -> None:
    """In all postures the volume stays within 12 % of the one it was made with."""
    places = skin.posed(model, posture(model, **POSTURES[name]))
    mesh = trimesh.Trimesh(places, skin.faces, process=False)
    assert mesh.volume == pytest.approx(skin.mesh().volume, rel=0.12)


def test_weights_are_shares(skin: soft.Skin) -> None:
    """They are not negative, sum to one, and are four at most."""
    assert (skin.weights >= 0).all()
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0)
    assert (skin.weights > 0).sum(axis=1).max() <= 4


def test_proportions(model: hs.Model, skin: soft.Skin) -> None:
    """As high as the person, the head 1/7 to 1/8.2 of it, soles where feet are."""
    places = skin.posed(model, model.neutral())
    assert np.ptp(places[:, 2]) == pytest.approx(model.height, rel=0.01)
    shape = soft.body_shape(model)
    parts = np.array([part.name for part in shape.parts])[shape.part_of(skin.vertices)]
    head = places[np.isin(parts, ["head", "hair", "nape"])][:, 2]
    assert 1 / 8.2 < np.ptp(head) / model.height < 1 / 6.9
    toe, heel = (
        model.tags(model.neutral())[model.tag_names.index(tag), 0]
        for tag in ("l_digit2", "l_calcaneous_post")
    )
    soles = places[np.unique(skin.faces[skin.labels == skin.materials.index("soles")])]
    assert soles[:, 0].max() == pytest.approx(toe, abs=0.02)
    assert soles[:, 0].min() == pytest.approx(heel, abs=0.02)


def test_materials_are_cut_at_lines(skin: soft.Skin) -> None:
    """The lower hem of the shirt is a level line: no teeth of the grid."""
    shirt, trousers = (skin.materials.index(name) for name in ("shirt", "trousers"))
    shared = np.intersect1d(
        skin.faces[skin.labels == shirt], skin.faces[skin.labels == trousers]
    )
    assert len(shared) > 40
    assert np.ptp(skin.vertices[shared, 2]) < 0.1 * COARSE


def test_a_cut_mesh_stays_closed() -> None:
    """An icosphere cut at a plane has two labels, the same area, and is closed."""
    ball = trimesh.creation.icosphere(3, 1.0)
    vertices, faces, labels = cut_mesh(
        np.asarray(ball.vertices),
        np.asarray(ball.faces),
        lambda points: (points[:, 2] > 0.123).astype(int),
    )
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert mesh.area == pytest.approx(ball.area)
    upper = mesh.triangles_center[labels == 1][:, 2]
    assert upper.min() > 0.12 and set(labels) == {0, 1}


@pytest.mark.study
def test_other_people(model: hs.Model, skin: soft.Skin) -> None:
    """A taller person's skin is taller; fitting comes near to making it anew."""
    tall = model.with_height(1.95)
    fitted = skin.fitted(tall)
    made = soft.make_skin(tall, COARSE)
    high = [np.ptp(s.posed(tall, tall.neutral())[:, 2]) for s in (fitted, made)]
    assert high == pytest.approx([1.95, 1.95], rel=0.01)
    assert made.mesh().euler_number == 2
    heavy = soft.body_shape(model.with_mass(95.0))
    belly, nose = np.array([[0.12, 0.0, 1.1]]), np.array([[0.2, 0.0, 1.6]])
    shape = soft.body_shape(model)
    assert heavy.distance(belly)[0] < shape.distance(belly)[0] - 0.008
    assert heavy.distance(nose)[0] == pytest.approx(shape.distance(nose)[0])


def test_cache(
    model: hs.Model,
    skin: soft.Skin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Made once, read again; another size is another file; damage is made good."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def make(person: hs.Model, spacing: float) -> soft.Skin:
        calls.append(spacing)
        return skin

    first = cached(model, COARSE, make)
    again = cached(model, COARSE, make)
    assert len(calls) == 1
    np.testing.assert_array_equal(first.vertices, again.vertices)
    assert first.bones == again.bones and first.materials == again.materials
    (file,) = cache_folder().iterdir()
    file.write_bytes(b"no skin")
    cached(model, COARSE, make)
    assert len(calls) == 2
    keys = {
        skin_key(model, COARSE),
        skin_key(model, 2 * COARSE),
        skin_key(model.with_height(1.8), COARSE),
        skin_key(model.with_mass(80.0), COARSE),
    }
    assert len(keys) == 4


def test_pieces_of_links_overlap(model: hs.Model, skin: soft.Skin) -> None:
    """Every triangle is on a link; at joints on both; pieces lie in their frames."""
    pieces = link_meshes(model, skin)
    links = {link for link, _ in pieces}
    assert {"base_link", "torso", "head", "l_foot", "r_hand"} <= links
    count = sum(len(mesh.faces) for mesh in pieces.values())
    assert len(skin.faces) < count < 1.4 * len(skin.faces)
    sole = pieces["l_foot", "soles"]
    depth = model.frame_pose(model.neutral(), "l_foot").translation[2]
    assert sole.vertices[:, 2].min() == pytest.approx(-depth, abs=1e-6)


def test_urdf_with_skin(model: hs.Model, tmp_path: Path) -> None:
    """Masses and collision shapes stay; drawn meshes are read; soles on the floor."""
    path = soft.save_skinned(model, tmp_path / "person.urdf")
    loaded = hs.load_model(path)
    assert loaded.mass == pytest.approx(model.mass)
    old, new = collision_shapes(model), collision_shapes(loaded)
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        np.testing.assert_allclose(a.vertices, b.vertices, atol=1e-9)
    q = model.neutral()
    np.testing.assert_allclose(loaded.inertia(q), model.inertia(q), atol=1e-9)


def test_refusals(model: hs.Model) -> None:
    """Robots have no skin; grids that are too coarse are refused."""
    with pytest.raises(soft.SoftError, match="has no skin"):
        soft.skin_of(hs.load_model("khr1"))
    shape = soft.body_shape(model)
    with pytest.raises(soft.SoftError, match="leaves the box"):
        soft.net_of(shape.distance, np.array([[-0.3, -1, 0.5], [0.3, 1, 1]]), 0.05)
    with pytest.raises(soft.SoftError, match="nothing is inside"):
        soft.net_of(shape.distance, np.array([[5, 5, 5], [6, 6, 6]]), 0.1)
