# SPDX-License-Identifier: Apache-2.0
"""URDF: every model's loads back, other parsers read it, any URDF is a model."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yourdfpy

import humans_sim as hs
from humans_sim.core.resources import share_directory

REP_120 = ("base_link", "l_sole", "r_sole", "torso", "gaze")


def test_round_trip(model: hs.Model, tmp_path: Path, rng: np.random.Generator) -> None:
    """Written and loaded back, the model is the same: M, N, tags, limits, frames."""
    again = hs.load_model(model.save(tmp_path / f"{model.name}.urdf"))
    assert again.joint_names == model.joint_names
    assert again.tag_names == model.tag_names
    assert again.contact_names == model.contact_names
    assert again.soles == model.soles
    np.testing.assert_array_equal(again.lower_limits, model.lower_limits)
    np.testing.assert_array_equal(again.upper_limits, model.upper_limits)
    np.testing.assert_array_equal(again.effort_limits, model.effort_limits)
    np.testing.assert_array_equal(again.neutral(), model.neutral())
    for _ in range(5):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        np.testing.assert_allclose(again.inertia(q), model.inertia(q), atol=1e-9)
        np.testing.assert_allclose(
            again.nl_effects(q, v), model.nl_effects(q, v), atol=1e-9
        )
        np.testing.assert_allclose(again.tags(q), model.tags(q), atol=1e-12)
        for frame in REP_120:
            computed, theirs = model.frame_pose(q, frame), again.frame_pose(q, frame)
            assert computed.isApprox(theirs, 1e-12)
        q_h = rng.uniform(-0.5, 0.5, model.nv)
        computed, theirs = model.humans.inertia(q_h), again.humans.inertia(q_h)
        np.testing.assert_allclose(theirs, computed, atol=1e-9)


def test_text_alone(model: hs.Model, rng: np.random.Generator) -> None:
    """Pinocchio reads the text itself to the same bodies."""
    plain = pin.buildModelFromXML(model.urdf(), pin.JointModelFreeFlyer())
    bodies = model if model.rotors is None else hs.load_model(model.name, rotors=False)
    q = model.random_configuration(rng)
    expected = pin.crba(plain, plain.createData(), q)
    np.testing.assert_allclose(bodies.inertia(q), expected, atol=1e-9)


def test_yourdfpy_reads_it(model: hs.Model, tmp_path: Path) -> None:
    """Another parser reads it, meshes included, and puts the soles on the ground."""
    path = tmp_path / "model.urdf"
    path.write_text(
        model.urdf().replace("package://humans_sim", str(share_directory()))
    )
    robot = yourdfpy.URDF.load(
        str(path), load_collision_meshes=True, build_collision_scene_graph=True
    )
    assert set(robot.actuated_joint_names) == set(model.joint_names)
    assert set(REP_120) <= set(robot.link_map)
    sole = robot.get_transform("l_sole", "base_link")[2, 3]
    assert sole == pytest.approx(-model.neutral()[2], abs=1e-9)
    lowest = robot.scene.bounds[0, 2]
    assert lowest == pytest.approx(-model.neutral()[2], abs=2e-3)
    assert len(robot.collision_scene.geometry) > 5


def test_check_urdf_reads_it(model: hs.Model, tmp_path: Path) -> None:
    """So does urdfdom's own checker."""
    checker = shutil.which("check_urdf")
    if checker is None:
        pytest.skip("check_urdf is not installed (Debian: liburdfdom-tools)")
    path = tmp_path / "model.urdf"
    path.write_text(model.urdf())
    done = subprocess.run([checker, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Successfully Parsed" in done.stdout


def test_frames_of_rep_120(model: hs.Model) -> None:
    """Soles lie flat on the ground left and right; the gaze is in front and high."""
    q = model.neutral()
    left, right = model.frame_pose(q, "l_sole"), model.frame_pose(q, "r_sole")
    gaze, torso = model.frame_pose(q, "gaze"), model.frame_pose(q, "torso")
    for sole in (left, right):
        assert sole.translation[2] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(sole.rotation, np.eye(3), atol=1e-12)
    assert left.translation[1] > 0 > right.translation[1]
    assert gaze.translation[2] > torso.translation[2] > 0.2 * gaze.translation[2]
    assert gaze.translation[0] > 0


def test_a_urdf_of_ones_own(tmp_path: Path) -> None:
    """Contacts, soles, tags, frames and limits come from the YAML beside a URDF."""
    legs = ""
    for side, y in (("left", 0.1), ("right", -0.1)):
        legs += f"""<link name="{side}_leg"><inertial><origin xyz="0 0 -0.3"/>
          <mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0"
          iyz="0"/></inertial><visual><geometry><cylinder radius="0.03" length="0.6"/>
          </geometry></visual></link><joint name="{side}_hip" type="revolute">
          <parent link="trunk"/><child link="{side}_leg"/><origin xyz="0 {y} 0"/>
          <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="5"/>
          </joint>"""
    path = tmp_path / "walker.urdf"
    path.write_text(
        f"""<robot name="walker"><link name="trunk"><inertial><mass value="5"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
        </link>{legs}</robot>"""
    )
    path.with_suffix(".yaml").write_text(
        """
title: a walker of sticks
frames:
  - {name: l_sole, link: left_leg, xyz: [0, 0, -0.6]}
  - {name: r_sole, link: right_leg, xyz: [0, 0, -0.6], rpy: [0, 0, 0.1]}
tags:
  - {name: left_toe, link: left_leg, xyz: [0.1, 0, -0.6]}
  - {name: right_toe, link: right_leg, xyz: [0.1, 0, -0.6]}
  - {name: crown, link: trunk, xyz: [0, 0, 0.4]}
contacts: [left_toe, right_toe]
soles: {l_sole: [left_toe], r_sole: [right_toe]}
limits: {left_hip: [-30, 45]}
"""
    )
    model = hs.load_model(path)
    assert (model.name, model.title) == ("walker", "a walker of sticks")
    assert model.nv == 8 and model.mass == pytest.approx(9.0)
    assert model.tag_names == ("left_toe", "right_toe", "crown")
    np.testing.assert_allclose(model.contact(model.neutral())[:, 2], 0, atol=1e-12)
    np.testing.assert_allclose(np.degrees(model.lower_limits), [-30, np.degrees(-1)])
    np.testing.assert_allclose(np.degrees(model.upper_limits), [45, np.degrees(1)])
    assert model.frame_pose(model.neutral(), "r_sole").translation[2] == pytest.approx(
        0
    )
    assert model.base_footprint(model.neutral()).translation[2] == pytest.approx(0)
    matrix = model.humans.inertia(np.zeros(8))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    with pytest.raises(hs.errors.ParameterError, match="'mass' is for"):
        hs.load_model(path, mass=3.0)
    with pytest.raises(hs.HumansError, match="edit the URDF"):
        model.with_mass(3.0)


def test_xacro(tmp_path: Path) -> None:
    """A xacro file is a model as well."""
    path = tmp_path / "one.urdf.xacro"
    path.write_text(
        """<robot name="one" xmlns:xacro="http://www.ros.org/wiki/xacro">
        <xacro:property name="m" value="${1 + 1}"/><link name="base_link"><inertial>
        <mass value="${m}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
        </inertial></link></robot>"""
    )
    assert hs.load_model(path).mass == pytest.approx(2.0)
