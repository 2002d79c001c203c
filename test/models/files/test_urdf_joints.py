# SPDX-License-Identifier: Apache-2.0
"""Joints as files in the world have them: continuous, following, without limits."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import ModelFileWarning
from humans_sim.models.files.urdf_file import urdf_parts

pytestmark = pytest.mark.filterwarnings(
    "ignore::humans_sim.core.errors.ModelFileWarning"
)
INERTIA = '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="-0.02"/>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def link(name: str, mass: float = 1.0, inertia: str = INERTIA) -> str:
    """A link with its centre of mass beside its origin."""
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0.2 -0.3" rpy="0.1 0 0.2"/>'
        f'<mass value="{mass}"/>{inertia}</inertial></link>\n'
    )


def joint(name: str, parent: str, child: str, kind: str, inside: str = LIMIT) -> str:
    """A joint with an axis that is none of its frame's."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/>'
        f'<axis xyz="1 2 -1"/>{inside}</joint>\n'
    )


def robot(*parts: str) -> str:
    """A robot with a base and a leg, and more."""
    body = link("base_link", 5.0) + link("leg", 2.0)
    hip = joint("hip", "base_link", "leg", "revolute")
    return f'<robot name="r">{body}{hip}{"".join(parts)}</robot>'


def load(folder: Path, text: str) -> hs.Model:
    """The model of a text."""
    path = folder / "robot.urdf"
    path.write_text(text)
    return hs.load_model(path)


def pinocchio_alone(text: str) -> pin.Model:
    """Pinocchio's own reading; a joint that follows is one of its own there."""
    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())


def test_a_continuous_joint_turns_without_end(tmp_path: Path) -> None:
    """One coordinate, no limits; its dynamics are those of pinocchio's own kind."""
    bare = '<limit effort="3" velocity="4"/><dynamics damping="0.1"/>'
    text = robot(link("wheel"), joint("axle", "leg", "wheel", "continuous", bare))
    model = load(tmp_path, text)
    assert (model.nq, model.nv) == (9, 8) and model.notes == ()
    np.testing.assert_array_equal(model.lower_limits, [-1.0, -np.inf])
    np.testing.assert_array_equal(model.upper_limits, [2.0, np.inf])
    np.testing.assert_array_equal(model.effort_limits, [3.0, 3.0])
    theirs = pinocchio_alone(text)
    assert theirs.nq == 10
    rng = np.random.default_rng(0)
    for angle in (0.3, 40.0, -1000.0):
        q = model.random_configuration(rng)
        q[8] = angle
        v = rng.normal(size=8)
        q_theirs = np.array([*q[:8], math.cos(angle), math.sin(angle)])
        data = theirs.createData()
        mass = pin.crba(theirs, data, q_theirs)
        np.testing.assert_allclose(model.inertia(q), mass, atol=1e-11)
        effects = pin.nonLinearEffects(theirs, data, q_theirs, v)
        np.testing.assert_allclose(model.nl_effects(q, v), effects, atol=1e-11)
    q = model.neutral()
    v = np.zeros(8)
    v[7] = 20.0
    sim = hs.Simulation(model, gravity=(0, 0, 0), contacts=hs.Contacts(limits=True))
    run = sim.run(q, v, t_end=1.0, sampling_period=0.25)
    assert run.q[-1, 8] > 3.0 * math.pi  # through every angle that a limit could have
    again = hs.load_model(model.save(tmp_path / "again.urdf"))
    np.testing.assert_array_equal(again.upper_limits, model.upper_limits)


def test_a_continuous_joint_with_limits_keeps_them(tmp_path: Path) -> None:
    """What a file says counts: an upper limit above a lower one is one."""
    text = robot(link("shin"), joint("knee", "leg", "shin", "continuous"))
    model = load(tmp_path, text)
    np.testing.assert_array_equal(model.upper_limits, [2.0, 2.0])
    assert model.notes == ("continuous joints keep the limits they have: knee",)


def test_missing_limits(tmp_path: Path) -> None:
    """No <limit>, no effort, no velocity: unlimited, with a note for each."""
    text = robot(
        link("a"),
        joint("turn", "leg", "a", "revolute", ""),
        link("b"),
        joint("slide", "leg", "b", "prismatic", ""),
        link("c"),
        joint("weak", "leg", "c", "revolute", '<limit lower="-1" upper="1"/>'),
    )
    with pytest.warns(ModelFileWarning) as warned:
        model = load(tmp_path, text)
    by_name = dict(zip(model.joint_names, model.upper_limits, strict=True))
    assert by_name == {"hip": 2.0, "turn": np.inf, "slide": np.inf, "weak": 1.0}
    assert sorted(model.effort_limits) == [3.0, np.inf, np.inf, np.inf]
    assert sorted(model.velocity_limits) == [4.0, np.inf, np.inf, np.inf]
    assert model.notes == (
        "no <limit>, no end of their range: turn, slide",
        "no limit of effort or velocity: turn, slide, weak",
    )
    assert [str(w.message).partition(".urdf: ")[2] for w in warned] == [*model.notes]
    # Other readers find numbers that they can read.
    assert pinocchio_alone(model.urdf()).nv == model.nv


@given(
    kind=st.sampled_from(["revolute", "continuous", "prismatic"]),
    factor=st.floats(-2.0, 2.0, allow_subnormal=False),
    offset=st.floats(-2.0, 2.0, allow_subnormal=False),
)
def test_a_joint_that_follows_is_locked_where_it_stands(
    kind: str, factor: float, offset: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its own equations struck out of the whole robot's give the model's."""
    mimic = f'{LIMIT}<mimic joint="hip" multiplier="{factor}" offset="{offset}"/>'
    behind = f'{LIMIT}<mimic joint="finger" multiplier="{factor}" offset="0.5"/>'
    text = robot(
        link("one"),
        joint("finger", "leg", "one", kind, mimic),
        link("two", 0.5),
        joint("tip", "one", "two", "revolute", behind),
    )
    model = load(tmp_path_factory.mktemp("r"), text)
    assert model.joint_names == ("hip",) and model.mass == 8.5
    (note,) = model.notes
    assert note.startswith("locked: finger") and "(follows hip)" in note
    full = pinocchio_alone(text.replace('type="continuous"', 'type="revolute"'))
    assert list(full.names)[2:] == ["hip", "finger", "tip"]
    q = np.array([*pin.neutral(full)[:7], 0.7, offset, factor * offset + 0.5])
    mass = pin.crba(full, full.createData(), q)[:7, :7]
    np.testing.assert_allclose(model.inertia(q[:8]), mass, atol=1e-11)


def test_a_joint_that_carries_others_follows_nobody(tmp_path: Path) -> None:
    """A leg behind it stays a leg."""
    mimic = f'{LIMIT}<mimic joint="hip"/>'
    text = robot(
        link("thigh"),
        joint("other_hip", "base_link", "thigh", "revolute", mimic),
        link("shin"),
        joint("knee", "thigh", "shin", "revolute"),
    )
    model = load(tmp_path, text)
    assert set(model.joint_names) == {"hip", "other_hip", "knee"}
    assert "moves by itself: other_hip" in model.notes[0]


ZERO = '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'


def test_joints_that_move_nothing_are_locked(tmp_path: Path) -> None:
    """Fingers without mass, the last ones first; frames between two joints stay."""
    text = robot(
        '<link name="palm"/>',
        joint("l_finger1", "leg", "palm", "revolute"),
        link("tip", 0.0, ZERO),
        joint("l_finger2", "palm", "tip", "prismatic"),
        '<link name="cross"/>',
        joint("waist_roll", "base_link", "cross", "revolute"),
        link("chest", 3.0),
        joint("waist_pitch", "cross", "chest", "revolute").replace("1 2 -1", "0 1 0"),
    )
    model = load(tmp_path, text)
    assert set(model.joint_names) == {"hip", "waist_roll", "waist_pitch"}
    assert model.notes == ("locked: l_finger1, l_finger2 (no inertia to move)",)
    assert np.linalg.eigvalsh(model.inertia(model.neutral()))[0] > 0.0
    assert model.mass == 10.0
    again = hs.load_model(model.save(tmp_path / "again.urdf"))
    assert again.notes == () and again.joint_names == model.joint_names


def test_little_is_not_nothing(tmp_path: Path) -> None:
    """A finger of a gram moves."""
    small = ZERO.replace('"0"', '"1e-8"', 1)
    text = robot(
        link("tip", 1e-3, small), joint("finger", "leg", "tip", "revolute", LIMIT)
    )
    assert load(tmp_path, text).joint_names == ("hip", "finger")


def test_the_world_below_a_floating_joint(tmp_path: Path) -> None:
    """It stands for the floating base that every model has."""
    world = '<link name="world"/>' + joint("base", "world", "base_link", "floating", "")
    model = load(tmp_path, robot(world))
    assert model.joint_names == ("hip",) and model.nv == 7
    assert "'" not in model.notes[0] and "world" in model.notes[0]
    np.testing.assert_array_equal(
        model.neutral()[:3:], load(tmp_path, robot()).neutral()[:3]
    )


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_joints_of_several_axes(kind: str, tmp_path: Path) -> None:
    """Inside a robot they are refused with their line."""
    text = robot("\n", link("x"), joint("loose", "leg", "x", kind, ""))
    with pytest.raises(hs.errors.ModelFileError, match="make it fixed") as caught:
        load(tmp_path, text)
    assert caught.value.line == 6 and "joint loose" in str(caught.value.key)


def test_what_is_settled_is_what_is_published(tmp_path: Path) -> None:
    """The text has the fixed joints; a sound file's stays as it was written."""
    path = tmp_path / "robot.urdf"
    mimic = f'{LIMIT}<mimic joint="hip" offset="0.5"/>'
    path.write_text(robot(link("f"), joint("finger", "leg", "f", "revolute", mimic)))
    element = parse_xml(urdf_parts(path).urdf, path).findall("joint")[1]
    assert element.get("type") == "fixed" and element.find("mimic") is None
    path.write_text(robot())
    assert urdf_parts(path).urdf == robot()


def test_rotors_of_a_urdf(tmp_path: Path) -> None:
    """The armature that simulators read counts; a negative one is refused."""
    rotor = f'{LIMIT}<dynamics armature="0.25"/>'
    text = robot(link("a"), joint("arm", "leg", "a", "revolute", rotor))
    model = load(tmp_path, text)
    bare = load(tmp_path, text.replace(' armature="0.25"', ' damping="0"'))
    q = model.neutral()
    difference = model.inertia(q) - bare.inertia(q)
    np.testing.assert_allclose(difference, np.diag([0.0] * 7 + [0.25]), atol=1e-14)
    (tmp_path / "robot.yaml").write_text("dynamics: {arm: {armature: 0.5}}")
    heavier = load(tmp_path, text)
    np.testing.assert_array_equal(heavier.pin.armature, [0.0] * 7 + [0.5])
    again = hs.load_model(heavier.save(tmp_path / "again.urdf"))
    np.testing.assert_array_equal(again.inertia(q), heavier.inertia(q))
    with pytest.raises(hs.errors.ModelFileError, match="armature -1 is negative"):
        load(tmp_path, text.replace("0.25", "-1"))


def test_a_joint_that_moves_something_elsewhere(tmp_path: Path) -> None:
    """A mass on its axis in the zero position is beside it in others."""
    point = (
        '<link name="bob"><inertial><origin xyz="0 0 0.5"/><mass value="1"/>'
        f"{ZERO}</inertial></link>"
    )
    around = joint("around", "leg", "arm", "revolute").replace("1 2 -1", "0 0 1")
    up = joint("up", "arm", "bob", "revolute").replace("1 2 -1", "0 1 0")
    up = up.replace('<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/>', "")
    model = load(tmp_path, robot('<link name="arm"/>', around, point, up))
    assert model.joint_names == ("hip", "around", "up") and model.notes == ()
