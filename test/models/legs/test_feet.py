# SPDX-License-Identifier: Apache-2.0
"""Legs, feet and soles found in URDFs, and robots that have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models.legs import NoBipedError, corner_places, find_feet, sole_named

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
