# SPDX-License-Identifier: Apache-2.0
"""Balls in the soles of bipeds: where they lie, what they leave alone, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.contact.geometry.foot_spheres import (
    feet_of,
    sole_point_feet,
    sphere_feet,
    sphere_tags,
    with_sphere_tags,
)
from humans_sim.models.description import Sole

ENDS = ("heel", "fore_left", "fore_right")


def in_sole(model: hs.Model, sole: Sole, names: tuple[str, ...]) -> np.ndarray:
    """Tags in the frame of a sole (n, 3)."""
    q = model.neutral()
    pose = model.frame_pose(q, sole.name)
    rows = [model.tag_names.index(name) for name in names]
    return np.array([pose.actInv(place) for place in model.tags(q)[rows]])


def walker(folder: Path, corners: str, contacts: str) -> hs.Model:
    """A URDF with one leg and a sole that is turned about the vertical."""
    path = folder / "walker.urdf"
    path.write_text(
        """<robot name="walker"><link name="trunk"><inertial><mass value="5"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
        </link><link name="leg"><inertial><origin xyz="0 0 -0.3"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
        </link><joint name="hip" type="revolute"><parent link="trunk"/>
        <child link="leg"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="9" velocity="5"/></joint></robot>"""
    )
    path.with_suffix(".yaml").write_text(
        f"""
frames: [{{name: sole, link: leg, xyz: [0, 0, -0.6], rpy: [0, 0, 1.5707963267948966]}}]
tags: [{corners}, {{name: hand, link: trunk, xyz: [0.2, 0, 0]}}]
contacts: [{contacts}, hand]
soles: {{sole: [{contacts}]}}
"""
    )
    return hs.load_model(path)


# The sole's x is the world's y: 0.2 m long, 0.08 m wide.
CORNERS = ", ".join(
    f"{{name: {name}, link: leg, xyz: [{x}, {y}, -0.6]}}"
    for name, x, y in (
        ("a", -0.04, -0.1),
        ("b", 0.04, -0.1),
        ("c", 0.04, 0.1),
        ("d", -0.04, 0.1),
    )
)


def test_balls_lie_in_the_soles(model: hs.Model) -> None:
    """Within the outline, on its plane, the heel behind and the others side by side."""
    feet = sphere_feet(model)
    assert len(feet.radii) == 6
    corners_of = {name for sole in model.soles for name in sole.contacts}
    others = tuple(name for name in model.contact_names if name not in corners_of)
    assert feet.contacts == (*feet.radii, *others)
    for old, sole in zip(model.soles, feet.model.soles, strict=True):
        assert sole.spheres == tuple(f"{sole.name}_{end}" for end in ENDS)
        assert sole.contacts == old.contacts
        corners = in_sole(model, sole, sole.contacts)
        centres = in_sole(feet.model, sole, sole.spheres)
        radii = np.array([feet.radii[name] for name in sole.spheres])
        np.testing.assert_allclose(centres[:, 2] - radii, corners[0, 2], atol=1e-12)
        outline = ConvexHull(corners[:, :2]).equations
        assert (outline[:, :2] @ centres[:, :2].T + outline[:, 2:] < 1e-9).all()
        low, high = corners.min(axis=0)[:2], corners.max(axis=0)[:2]
        assert (centres[:, :2] - radii[:, None] >= low - 1e-12).all()
        assert (centres[:, :2] + radii[:, None] <= high + 1e-12).all()
        heel, left, right = centres
        assert heel[0] < min(left[0], right[0]) and left[1] > right[1]
        assert (np.ptp(corners[:, 0]) / radii < 20).all()


def test_the_model_is_otherwise_the_same(human: hs.Model) -> None:
    """Contact points, tags, dynamics: as before; balls twice are balls once."""
    feet = sphere_feet(human)
    assert feet.model.contact_names == human.contact_names
    assert feet.model.tag_names[: len(human.tag_names)] == human.tag_names
    assert len(human.tag_names) + 6 == len(feet.model.tag_names)
    assert not human.soles[0].spheres
    q = human.neutral()
    np.testing.assert_array_equal(feet.model.inertia(q), human.inertia(q))
    again = sphere_feet(feet.model, heel_radius=0.03)
    assert again.contacts == feet.contacts
    assert again.model.tag_names == feet.model.tag_names
    assert again.radii["l_sole_heel"] == 0.03
    assert again.radii["l_sole_fore_left"] == feet.radii["l_sole_fore_left"]


def test_balls_as_plain_data(khr1: hs.Model) -> None:
    """Taken down and put back: the same centres."""
    feet = sphere_feet(khr1).model
    again = with_sphere_tags(khr1, sphere_tags(feet))
    assert again.soles == feet.soles
    q = khr1.neutral()
    np.testing.assert_array_equal(again.tags(q), feet.tags(q))
    assert sphere_tags(khr1) == {}
    for bad in (["tail", 0.0, 0.0, 0.0], ["l_foot", 0.0, 0.0]):
        with pytest.raises(hs.errors.ParameterError, match="no place"):
            with_sphere_tags(khr1, {"l_sole": {"l_sole_heel": bad}})
    with pytest.raises(hs.errors.ParameterError, match="already"):
        with_sphere_tags(
            khr1, {"l_sole": {khr1.tag_names[0]: ["l_foot", 0.0, 0.0, 0.0]}}
        )


def test_a_urdf_with_a_turned_sole(tmp_path: Path) -> None:
    """Forward is the sole's x, wherever the trunk looks; the hand touches as before."""
    biped = walker(tmp_path, CORNERS, "a, b, c, d")
    feet = sphere_feet(biped, heel_radius=0.03, fore_radius=0.01)
    q = biped.neutral()
    rows = [feet.model.tag_names.index(f"sole_{end}") for end in ENDS]
    np.testing.assert_allclose(
        feet.model.tags(q)[rows],
        [[0.0, -0.07, 0.03], [-0.03, 0.09, 0.01], [0.03, 0.09, 0.01]],
        atol=1e-12,
    )
    assert feet.contacts == ("sole_heel", "sole_fore_left", "sole_fore_right", "hand")
    assert feet_of(biped, "points").contacts == ("a", "b", "c", "d", "hand")
    assert feet_of(biped, "soles").contacts == ("a", "b", "c", "d")
    chosen = feet_of(biped, "spheres", contacts=["a", "b"])
    assert chosen.contacts == ("sole_heel", "sole_fore_left", "sole_fore_right")


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ({"heel_radius": 0.0}, "heel_radius of l_sole must be above 0"),
        ({"fore_radius": -0.01}, "fore_radius"),
        ({"heel_radius": float("nan")}, "heel_radius"),
        ({"fore_radius": 0.04}, "half the sole's width"),
    ],
)
def test_bad_radii(khr1: hs.Model, radii: dict[str, float], message: str) -> None:
    """What does not fit into a sole is refused."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        sphere_feet(khr1, **radii)


def test_feet_that_cannot_have_balls(tmp_path: Path, khr1: hs.Model) -> None:
    """An unknown word; too few corners; corners not in a plane; balls in a heap."""
    with pytest.raises(hs.errors.ParameterError, match="points, soles, spheres"):
        feet_of(khr1, "wheels")
    line = walker(tmp_path, CORNERS, "a, b")
    with pytest.raises(hs.errors.ParameterError, match="no flat outline"):
        sphere_feet(line)
    bent = CORNERS.replace("0.1, -0.6", "0.1, -0.5", 1)
    with pytest.raises(hs.errors.ParameterError, match="no flat outline"):
        sphere_feet(walker(tmp_path, bent, "a, b, c, d"))
    short = CORNERS.replace("0.1, -0.6", "0.02, -0.6")
    with pytest.raises(hs.errors.ParameterError, match="do not fit"):
        sphere_feet(walker(tmp_path, short, "a, b, c, d"), 0.03, 0.03)
    pole = walker(tmp_path, CORNERS, "a, b, c, d").parts
    without = hs.Model(type(pole)(**{**vars(pole), "soles": ()}))
    with pytest.raises(hs.errors.ParameterError, match="no soles"):
        feet_of(without, "spheres")


def test_points_cover_a_sole(khr1: hs.Model) -> None:
    """Points lie in the plane of the corners, inside, as close as asked."""
    spacing = 0.02
    feet = sole_point_feet(khr1, spacing)
    corners = khr1.contact(khr1.neutral())[:4]
    tags = feet.model.tags(feet.model.neutral())
    names = [name for name in feet.contacts if name.startswith("r_sole_point")]
    points = np.array([tags[feet.model.tag_names.index(name)] for name in names])
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-12)
    low, high = corners.min(axis=0), corners.max(axis=0)
    assert (points >= low - 1e-12).all() and (points <= high + 1e-12).all()
    every = np.vstack([corners, points])[:, :2]
    random = np.random.default_rng(1).uniform(low[:2], high[:2], (500, 2))
    apart = np.linalg.norm(random[:, None] - every, axis=2).min(axis=1)
    assert apart.max() < spacing / np.sqrt(2)
    with pytest.raises(hs.errors.ParameterError, match="larger spacing"):
        sole_point_feet(khr1, 1e-4)
