# SPDX-License-Identifier: Apache-2.0
"""Legs, feet and soles found in URDFs, and robots that have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.contact.geometry.link_pairs import SOLE_SHARE, link_solids
from humans_sim.models.feet import find_feet
from humans_sim.models.legs import NoBipedError, corner_places, sole_named

INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" '
    'ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="10" velocity="5"/>'


def box(size: str, at: str = "0 0 0") -> str:
    """A collision box."""
    return (
        f'<collision><origin xyz="{at}"/><geometry><box size="{size}"/></geometry>'
        "</collision>"
    )


def leg(
    side: str, at: str, foot: str, joints: str = "hip_pitch hip_roll knee ankle"
) -> str:
    """A leg of 0.4 m: thigh, shank and a foot with a shape of its own."""
    text, parent, where = "", "trunk", at
    for name in joints.split():
        axis = "1 0 0" if name.endswith("roll") else "0 1 0"
        shape = foot if name == joints.split()[-1] else ""
        text += (
            f'<link name="{side}_{name}_link">{INERTIA}{shape}</link>'
            f'<joint name="{side}_{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{side}_{name}_link"/><origin xyz="{where}"/>'
            f'<axis xyz="{axis}"/>{LIMIT}</joint>'
        )
        parent, where = f"{side}_{name}_link", "0 0 0"
        if name in ("hip_roll", "knee"):
            where = "0 0 -0.2"
    return text


def robot(tmp_path: Path, *parts: str) -> hs.Model:
    """A trunk with what hangs on it."""
    path = tmp_path / "robot.urdf"
    trunk = f'<link name="trunk">{INERTIA}{box("0.1 0.2 0.3", "0 0 0.2")}</link>'
    path.write_text(f'<robot name="robot">{trunk}{"".join(parts)}</robot>')
    return hs.load_model(path)


SHOE = box("0.16 0.08 0.04", "0.03 0 -0.03")


@pytest.mark.parametrize("name", ["khr1", "bip"])
def test_soles_of_the_packages_robots(name: str) -> None:
    """Corners of their shapes are those that their files have by hand."""
    model = hs.load_model(name)
    feet = find_feet(model)
    assert feet.doubts == ()
    for side, foot in (("l", feet.left), ("r", feet.right)):
        sole = sole_named(model, f"{side}_sole")
        expected = corner_places(model, sole)
        inverse = foot.sole.inverse()
        found = np.array([inverse.act(corner) for corner in foot.corners])
        for corner in expected:
            assert np.linalg.norm(found - corner, axis=1).min() < 2e-3
        assert foot.leg.names[foot.leg.knee] == f"{side}_knee"


def test_a_small_biped(tmp_path: Path) -> None:
    """Sides are those of places, not of names; corners go round from the front left."""
    model = robot(tmp_path, leg("a", "0 -0.1 0", SHOE), leg("b", "0 0.1 0", SHOE))
    feet = find_feet(model)
    assert (feet.left.link, feet.right.link) == ("b_ankle_link", "a_ankle_link")
    expected = [[0.11, 0.04], [-0.05, 0.04], [-0.05, -0.04], [0.11, -0.04]]
    assert feet.left.corners[:, :2] == pytest.approx(np.array(expected))
    assert feet.left.corners[:, 2] == pytest.approx(np.full(4, -0.05))
    assert feet.left.sole.translation == pytest.approx([0.0, 0.0, -0.05])
    assert feet.left.leg.length == pytest.approx(0.4)
    assert feet.left.leg.kinds == ("pitch", "roll", "pitch", "pitch")
    assert feet.left.leg.bend == 1
    assert feet.left.size == pytest.approx([0.16, 0.08])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "no link has a shape"),
        ([leg("a", "0 0.1 0", SHOE)], "must have two feet"),
        (
            [leg(s, f"{x} {y} 0", SHOE) for s, x, y in
             (("a", 0.2, 0.1), ("b", 0.2, -0.1), ("c", -0.2, 0.1), ("d", -0.2, -0.1))],
            "4 links reach the ground",
        ),
        (
            [leg("a", "0.2 0 0", SHOE), leg("b", "-0.2 0 0", SHOE)],
            "behind each other",
        ),
        (
            [leg(s, f"0 {y} 0", box("0.005 0.005 0.04")) for s, y in
             (("a", 0.1), ("b", -0.1))],
            "in a point or a line",
        ),
        (
            [leg(s, f"0 {y} 0", SHOE, "hip_pitch hip_roll") for s, y in
             (("a", 0.1), ("b", -0.1))],
            "three joints or more",
        ),
        (
            [leg(s, f"0 {y} 0", SHOE, "hip_roll side_roll last_roll") for s, y in
             (("a", 0.1), ("b", -0.1))],
            "pitch joints at hip, knee and ankle",
        ),
    ],
)  # fmt: skip
def test_no_bipeds(tmp_path: Path, parts: list[str], why: str) -> None:
    """Robots without two legs and flat feet are refused with the reason."""
    model = robot(tmp_path, *parts)
    with pytest.raises(NoBipedError, match=why):
        find_feet(model)


def test_a_base_that_points_backwards(tmp_path: Path) -> None:
    """Soles that go backwards, or are wide, make one ask for the base's x axis."""
    for shoe, why in (
        (box("0.16 0.08 0.04", "-0.03 0 -0.03"), "behind the ankle"),
        (box("0.08 0.12 0.04", "0.03 0 -0.03"), "0.120 m wide and 0.080 m long"),
    ):
        legs = [leg(s, f"0 {y} 0", shoe) for s, y in (("a", 0.1), ("b", -0.1))]
        (doubt,) = find_feet(robot(tmp_path, *legs)).doubts
        assert why in doubt and "x point forwards" in doubt


def test_toes_belong_to_the_foot(tmp_path: Path) -> None:
    """Of a foot with toes, the part that they hang on is the foot; they are named."""
    legs = []
    for side, y in (("a", 0.1), ("b", -0.1)):
        text = leg(side, f"0 {y} 0", SHOE)
        toe = box("0.05 0.08 0.04", "0.025 0 -0.03")
        text += (
            f'<link name="{side}_toe">{INERTIA}{toe}</link><joint name="{side}_toes" '
            f'type="revolute"><parent link="{side}_ankle_link"/><child '
            f'link="{side}_toe"/><origin xyz="0.11 0 0"/><axis xyz="0 1 0"/>{LIMIT}'
            "</joint>"
        )
        legs.append(text)
    feet = find_feet(robot(tmp_path, *legs))
    assert feet.left.link == "a_ankle_link"
    assert len(feet.doubts) == 1 and "a_toe" in feet.doubts[0]


def test_both_legs_end_at_the_same_joint(tmp_path: Path) -> None:
    """Of two equally low links of a foot the same one stands on both sides."""
    joints = "hip_pitch hip_roll knee ankle_pitch ankle_roll"
    legs = []
    for side, y, lower in (("a", 0.1, 0.03), ("b", -0.1, 0.025)):
        text = leg(side, f"0 {y} 0", SHOE, joints)
        empty = f'<link name="{side}_ankle_pitch_link">{INERTIA}</link>'
        assert text.count(empty) == 1
        heel = box("0.04 0.04 0.04", f"0 0 -{lower}")
        legs.append(text.replace(empty, empty.replace("</link>", f"{heel}</link>")))
    feet = find_feet(robot(tmp_path, *legs))
    assert feet.left.leg.names[-1] == "a_ankle_roll"
    assert feet.right.leg.names[-1] == "b_ankle_roll"


@pytest.mark.parametrize("sides", [("a", "b"), ("b", "a")])
def test_soles_are_made_mirror_images(sides: tuple[str, str], tmp_path: Path) -> None:
    """Two that differ a little are their mean; the frames lie likewise, too."""
    legs = [
        leg(sides[0], "0 0.1 0", box("0.16 0.08 0.04", "0.03 0.01 -0.03")),
        leg(sides[1], "0 -0.1 0", box("0.164 0.08 0.04", "0.03 -0.01 -0.03")),
    ]
    feet = find_feet(robot(tmp_path, *legs))
    assert feet.doubts == ("the soles differ by 2.0 mm: both are their mean",)
    flat = [
        np.array([foot.sole.actInv(corner) for corner in foot.corners])
        for foot in (feet.left, feet.right)
    ]
    np.testing.assert_allclose(flat[0], flat[1][::-1] * (1, -1, 1), atol=1e-12)
    np.testing.assert_allclose(flat[0][0], [0.111, 0.05, 0.0], atol=1e-12)
    assert (flat[1][0] > flat[1][2]).tolist() == [True, True, False]  # front left first


def test_an_ankle_beside_its_foot(tmp_path: Path) -> None:
    """Where the joints lie on other sides of their feet, frames are in the middle."""
    shoe = box("0.16 0.08 0.04", "0.03 0.05 -0.03")
    feet = find_feet(
        robot(tmp_path, leg("a", "0 0.05 0", shoe), leg("b", "0 -0.15 0", shoe))
    )
    assert feet.doubts == ()
    for foot in (feet.left, feet.right):
        assert foot.sole.translation == pytest.approx([0.0, 0.05, -0.05])


def test_soles_that_differ(tmp_path: Path) -> None:
    """They stay as they are, and one is asked."""
    legs = [
        leg("a", "0 0.1 0", SHOE),
        leg("b", "0 -0.1 0", box("0.12 0.08 0.04", "0.03 0 -0.03")),
    ]
    feet = find_feet(robot(tmp_path, *legs))
    assert "no mirror images: 0.160 x 0.080 and 0.120 x 0.080 m" in feet.doubts[0]
    assert feet.right.size == pytest.approx([0.12, 0.08])


@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
def test_feet_whose_meshes_are_missing(tmp_path: Path) -> None:
    """A foot has its other shapes, and one is told; a robot without any is refused."""
    gone = '<collision><geometry><mesh filename="foot.stl"/></geometry></collision>'
    legs = [leg(s, f"0 {y} 0", SHOE + gone) for s, y in (("a", 0.1), ("b", -0.1))]
    doubts = find_feet(robot(tmp_path, *legs)).doubts
    assert len(doubts) == 2 and "'foot.stl' of the foot a_ankle_link" in doubts[0]
    legs = [leg(s, f"0 {y} 0", gone) for s, y in (("a", 0.1), ("b", -0.1))]
    with pytest.raises(NoBipedError, match="no link has a shape.*2 links.*'foot.stl'"):
        find_feet(robot(tmp_path, *legs))


def test_wheels_are_no_feet(tmp_path: Path) -> None:
    """Without their meshes, too: joints without end, side by side, lowest of all."""
    wheels = "".join(
        f'<link name="{name}">{INERTIA}</link><joint name="{name}" type="continuous">'
        f'<parent link="tibia"/><child link="{name}"/><origin xyz="0 {y} -0.3"/>'
        '<axis xyz="0 1 0"/><limit effort="1" velocity="1"/></joint>'
        for name, y in (("wheel_left", 0.1), ("wheel_right", -0.1))
    )
    tibia = (
        f'<link name="tibia">{INERTIA}</link><joint name="knee" type="revolute">'
        f'<parent link="trunk"/><child link="tibia"/><axis xyz="0 1 0"/>{LIMIT}</joint>'
    )
    with pytest.raises(NoBipedError, match="wheel_left, wheel_right .* on wheels"):
        find_feet(robot(tmp_path, tibia, wheels))
    legs = [leg(s, f"0 {y} 0", SHOE) for s, y in (("a", 0.1), ("b", -0.1))]
    endless = [text.replace('lower="-1" upper="2" ', "") for text in legs]
    endless = [text.replace('"revolute"', '"continuous"') for text in endless]
    assert find_feet(robot(tmp_path, *endless)).left.link == "a_ankle_link"


def test_balls_of_a_foot_leave_the_floor_to_its_sole(tmp_path: Path) -> None:
    """They are as thick as fits above the layer of the sole: nothing touches twice."""
    balls = "".join(
        f'<collision><origin xyz="{x} {y} -0.04"/><geometry><sphere radius="0.01"/>'
        "</geometry></collision>"
        for x in (-0.05, 0.11)
        for y in (-0.03, 0.03)
    )
    bare = robot(tmp_path, leg("a", "0 0.1 0", balls), leg("b", "0 -0.1 0", balls))
    draft_robot(bare.parts.source).save()
    model = hs.load_model(bare.parts.source)
    points = model.tag_points(model.contact_names)
    tags = {
        joint: np.column_stack([rows, np.zeros(len(rows))])
        for k, joint in enumerate(points.joints)
        if len(rows := points.local[points.row == k])
    }
    solids = link_solids(model, tags)["a_ankle_link"].solids
    left = [solid for solid in solids if solid.radius > 0.0]
    assert len(left) == 4
    layer = -0.05 + SOLE_SHARE * np.hypot(0.16, 0.06)
    for solid in left:
        assert solid.vertices[:, 2].min() - solid.radius == pytest.approx(layer)
        assert solid.radius > 0.008
