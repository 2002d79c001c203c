# SPDX-License-Identifier: Apache-2.0
"""From a bare URDF to files with which it stands and walks."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.applications import robot_draft
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.robot_trials import try_robot
from humans_sim.contact.geometry.link_pairs import touching_links, usual_pairs
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.results.record import recorded_model


@pytest.fixture
def bare(khr1: hs.Model, tmp_path: Path) -> Path:
    """The KHR-1 as a URDF of another name, with nothing beside it."""
    path = khr1.save(tmp_path / "mine.urdf")
    path.with_suffix(".yaml").unlink(missing_ok=True)
    path.write_text(path.read_text().replace('name="khr1"', 'name="mine"', 1))
    return path


def test_files_load_as_what_was_understood(bare: Path) -> None:
    """The written files give the model and the settings of the draft."""
    draft = draft_robot(bare)
    written = draft.save()
    assert [path.name for path in written] == ["mine.yaml", "mine.walk.yaml"]
    model = hs.load_model(bare)
    assert model.contact_names == draft.model.contact_names
    settings = WalkSettings.of_model(model)
    for key in ("com_height", "stance_width", "step_duration", "max_forward"):
        assert getattr(settings, key) == pytest.approx(
            getattr(draft.settings, key), rel=1e-5
        )
    assert dict(settings.posture) == pytest.approx(dict(draft.settings.posture))


def test_every_line_has_its_reason(bare: Path) -> None:
    """All settings stand in the file, those that people change first in force."""
    draft = draft_robot(bare)
    text = draft.files[bare.with_name("mine.walk.yaml")]
    for name in draft.derived:
        lines = [
            line for line in text.splitlines() if line.lstrip("# ").startswith(name)
        ]
        assert lines and "#" in lines[0][1:], name


def test_it_plans_steps(bare: Path) -> None:
    """A walk of the derived settings goes where it is told, soles level."""
    draft_robot(bare).save()
    model = hs.load_model(bare)
    pattern = WalkPattern(model)
    pattern.walk(4, vx=0.04)
    last = None
    for t in np.arange(0.0, 3.5, 0.02):
        last = pattern.tick(float(t))
    assert last is not None and last.com[0] > 0.03
    assert last.left.pose.rotation[2, 2] == pytest.approx(1.0)


def test_what_is_no_urdf(tmp_path: Path) -> None:
    """Tables and other files are refused with their names."""
    table = tmp_path / "robot.yaml"
    table.write_text("name: x")
    with pytest.raises(hs.errors.ModelFileError, match="must be a URDF"):
        draft_robot(table)
    with pytest.raises(hs.errors.ModelFileError):
        draft_robot(tmp_path / "none.urdf")


def test_links_that_overlap_where_it_stands(bare: Path) -> None:
    """They go through each other, in the file and in the draft, and one is told."""
    draft = draft_robot(bare)
    angles = dict(draft.settings.posture)
    model = draft.model
    q = model.standing(np.array([angles.get(n, 0.0) for n in model.joint_names]))
    # A ball on a shank that is inside the trunk where it stands, and only there.
    place = model.frame_pose(q, "r_shank").actInv(
        model.frame_pose(q, "base_link").translation
    )
    text = bare.read_text()
    ball = (
        f'<collision><origin xyz="{" ".join(map(repr, place.tolist()))}"/><geometry>'
        '<sphere radius="0.001"/></geometry></collision>'
    )
    start = text.index('<link name="r_shank">') + len('<link name="r_shank">')
    bare.write_text(text[:start] + ball + text[start:])
    again = draft_robot(bare)
    pair = ("base_link", "r_shank")
    assert frozenset(pair) in usual_pairs(again.model)[0]
    assert "base_link and r_shank overlap where it stands: left out" in again.doubts
    again.save()
    loaded = hs.load_model(bare)
    assert pair not in touching_links(loaded, loaded.parts.self_collision)
    start = loaded.standing(np.array([angles.get(n, 0.0) for n in loaded.joint_names]))
    still = hs.Simulation(loaded, locked=["*"], gravity=(0, 0, 0))
    run = still.run(start, np.zeros(loaded.nv), t_end=0.02)
    found = run.check()["deepest overlap of solids"]
    assert found.ok and "left out by the model's file: 1" in found.where
    bare.with_suffix(".yaml").write_text(
        bare.with_suffix(".yaml").read_text().partition("self_collision")[0]
    )
    assert not run.check()["deepest overlap of solids"].ok


def test_a_trial_says_what_stops_it(bare: Path) -> None:
    """A robot that was not set up does not walk, in words."""
    trial = try_robot(bare, "torque")
    assert not trial.ok and "init-robot" in trial.outcome


@pytest.mark.study
@pytest.mark.parametrize("actuation", ["torque", "servo"])
def test_a_trial_of_two_steps(bare: Path, actuation: str) -> None:
    """The KHR-1 makes them, as counted where its soles touch, and hardly tilts."""
    draft_robot(bare).save()
    trial = try_robot(bare, actuation)
    assert trial.ok and trial.outcome.startswith("Walked 3 steps"), trial


@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
@pytest.mark.parametrize(
    ("name", "foot", "joints"),
    [
        ("booster_t1/T1_serial", "left_foot_link", 6),
        ("nao/nao", "l_ankle", 6),
        ("valkyrie/valkyrie_sim", "leftFoot", 6),
        pytest.param("atlas/atlas_convex_hull", "l_foot", 6, marks=pytest.mark.study),
        pytest.param("open_duck/robot", "foot_assembly", 5, marks=pytest.mark.study),
    ],
)
def test_published_robots(shared_data: Path, name: str, foot: str, joints: int) -> None:
    """As their makers publish them: names shared, meshes missing, fingers, no file."""
    draft = draft_robot(shared_data / "robots" / f"{name}.urdf")
    assert draft.feet.left.link == foot
    assert len(draft.feet.left.leg.names) == len(draft.feet.right.leg.names) == joints


@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pepper/pepper", "WheelB, WheelFL, WheelFR .* on wheels"),
        ("cassie/cassie", "meshes of 17 links are missing: put 'package://cassie"),
    ],
)
def test_published_robots_that_do_not_walk(
    shared_data: Path, name: str, why: str
) -> None:
    """They are refused for what they are."""
    with pytest.raises(hs.errors.ParameterError, match=why):
        draft_robot(shared_data / "robots" / f"{name}.urdf")


@pytest.mark.parametrize(
    ("forward", "half_turns"), [("-x", 1.0), ("y", 0.5), ("-y", -0.5)]
)
def test_a_base_that_looks_elsewhere(
    bare: Path, forward: str, half_turns: float
) -> None:
    """Feet and knees tell where forwards is; the robot is the same, turned."""
    straight = draft_robot(bare)
    text = bare.read_text()
    root = '<joint name="turned" type="fixed"><parent link="pelvis"/>'
    root += f'<child link="base_link"/><origin rpy="0 0 {half_turns * np.pi}"/></joint>'
    bare.write_text(text.replace("</robot>", f'<link name="pelvis"/>{root}</robot>'))
    found = draft_robot(bare)
    assert any(f"{forward} of the root link" in doubt for doubt in found.doubts)
    assert found.feet.left.link == straight.feet.left.link
    found.save()
    model = hs.load_model(bare)
    q = model.standing(np.zeros(len(model.joint_names)))
    tags = model.tags(q)
    same = straight.model.tags(q)
    assert np.allclose(tags, same, atol=1e-6)
    for key in ("com_height", "max_forward", "stance_width"):
        assert getattr(found.settings, key) == pytest.approx(
            getattr(straight.settings, key), rel=1e-4
        )


def test_a_robot_of_its_table_looks_forwards(bare: Path) -> None:
    """Another word than an axis is refused with file and line."""
    bare.with_suffix(".yaml").write_text("forward: ahead\n")
    with pytest.raises(hs.errors.ModelFileError, match=r"mine.yaml:1.*forward"):
        hs.load_model(bare)


def test_light_links_of_a_crowd(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pairs would be too many, the light end of a limb goes through itself."""
    assert not any("light links" in doubt for doubt in draft_robot(bare).doubts)
    monkeypatch.setattr(robot_draft, "_CROWDED", 0.0)
    monkeypatch.setattr(robot_draft, "_LIGHT", 0.093)
    found = draft_robot(bare)
    assert any("light links" in doubt for doubt in found.doubts), found.doubts
    pairs = {frozenset(pair) for pair in found.model.parts.self_collision.exclude}
    assert frozenset(("l_hand", "l_arm")) in pairs
    assert frozenset(("l_hand", "r_hand")) not in pairs


def test_a_robot_whose_zero_is_no_stand(bare: Path) -> None:
    """Feet pitched and legs spread at zero angles: soles and posture are the same."""
    straight = draft_robot(bare)
    robot = ET.parse(bare)
    turns = {"ankle_pitch": (0.3, "0 0.3 0"), "hip_roll": (0.25, "{} 0 0")}
    for joint in robot.findall("joint"):
        side, _, kind = joint.get("name", "").partition("_")
        if kind in turns:
            angle, rpy = turns[kind]
            roll = (0.25 if side == "l" else -0.25) * (kind == "hip_roll")
            joint.find("origin").set("rpy", rpy.format(roll))
            for end, sign in (("lower", -1.0), ("upper", 1.0)):
                limit = joint.find("limit")
                limit.set(end, str(float(limit.get(end)) + sign * angle))
    robot.write(bare)
    found = draft_robot(bare)
    for side in ("left", "right"):
        foot, same = getattr(found.feet, side), getattr(straight.feet, side)
        assert np.allclose(foot.corners, same.corners, atol=1e-4)
    posture = found.settings.posture
    rest = straight.settings.posture
    for side in "lr":
        name = f"{side}_ankle_pitch"
        assert posture[name] == pytest.approx(rest[name] - 0.3, abs=2e-2)
        assert abs(posture[f"{side}_hip_roll"]) == pytest.approx(0.25, abs=2e-2)
    for key in ("com_height", "stance_width", "max_forward"):
        assert getattr(found.settings, key) == pytest.approx(
            getattr(straight.settings, key), rel=0.02
        )


def test_soles_of_links_with_oblique_axes_are_planes(bare: Path) -> None:
    """Corners in axes that are none of the sole's are in one plane to 1e-11 m.

    Time steps put what touches onto the floor so far: four corners 1e-7 m off a plane
    never came there.
    """
    turn = pin.rpy.rpyToMatrix(0.4, 0.3, 0.2)
    robot = ET.parse(bare)
    for side in "lr":
        joint = robot.find(f"joint[@name='{side}_ankle_roll']")
        joint.find("origin").set("rpy", "0.4 0.3 0.2")
        axis = np.array(joint.find("axis").get("xyz").split(), dtype=float)
        joint.find("axis").set("xyz", " ".join(map(str, turn.T @ axis)))
        for origin in robot.findall(f"link[@name='{side}_foot']/*/origin"):
            place = np.array(origin.get("xyz").split(), dtype=float)
            angles = np.array(origin.get("rpy", "0 0 0").split(), dtype=float)
            own = turn.T @ pin.rpy.rpyToMatrix(*angles)
            origin.set("xyz", " ".join(map(str, turn.T @ place)))
            origin.set("rpy", " ".join(map(str, pin.rpy.matrixToRpy(own))))
    robot.write(bare)
    draft_robot(bare).save()
    model = hs.load_model(bare)
    q = model.standing(np.zeros(len(model.joint_names)))
    for toe, *others in model.tags(q)[:8].reshape(2, 4, 3):
        sides = np.array(others) - toe
        area = np.linalg.norm(np.cross(sides[0], sides[1]))
        assert abs(np.linalg.det(sides)) / area < 1e-11


def test_a_linked_robot_is_recorded_where_the_link_is(
    bare: Path, tmp_path: Path
) -> None:
    """The files beside the link are its own: a run finds them again."""
    link = tmp_path / "links" / "linked.urdf"
    link.parent.mkdir()
    link.symlink_to(bare)
    draft_robot(link).save()
    model = hs.load_model(link)
    run = hs.Simulation(model, method="time_stepping").run(model.neutral(), t_end=0.01)
    assert recorded_model(run.info).contact_names == model.contact_names
    assert len(model.contact_names) == 8
