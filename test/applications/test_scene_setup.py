# SPDX-License-Identifier: Apache-2.0
"""Scenes of files, as scenarios and the node of the dynamics read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scene_setup import read_scene
from humans_sim.dynamics.scenes.scene_system import SceneActuation
from humans_sim.dynamics.soles import Soles

SCENE = """ground:
  friction: 0.6
  boxes: [{size: [0.2, 0.2, 0.1], centre: [1, 0, 0.05], name: step}]
bodies:
  crate: {box: [0.1, 0.1, 0.1], mass: 0.5, at: [0.5, 0, 0.05]}
  marble: {ball: 0.02, mass: 0.01, at: [0.5, 0.3, 0.02], velocity: [0.1, 0, 0]}
"""
G = 9.81


def scene_file(folder: Path, text: str = SCENE) -> str:
    """A file with a scene and nothing else."""
    path = folder / "scene.yaml"
    path.write_text(text)
    return str(path)


def test_a_scene_needs_no_scenario(khr1: hs.Model, tmp_path: Path) -> None:
    """Ground, bodies and start come from a file without title and time."""
    setup = read_scene(scene_file(tmp_path))
    ground = setup.ground(0.9)
    assert ground.friction == 0.6
    assert [solid.name for solid in ground.solids] == ["ground", "step"]
    system = setup.system(ground, khr1, whole_body=False)
    robot = khr1.standing(np.zeros(len(khr1.joint_names)))
    q, v = setup.start(system, robot, np.full(khr1.nv, 0.0))
    assert [body.name for body in system.bodies] == ["crate", "marble"]
    np.testing.assert_array_equal(q[: khr1.nq], robot)
    np.testing.assert_allclose(v[khr1.nv + 6 :], [0.1, 0, 0, 0, 0, 0])


def test_forces_under_feet_among_bodies(khr1: hs.Model, tmp_path: Path) -> None:
    """A robot that stands among bodies has its weight under its soles."""
    setup = read_scene(scene_file(tmp_path))
    servo = hs.Servo(khr1)
    system = setup.system(setup.ground(0.6), khr1, servo.armature, whole_body=True)
    sim = hs.Simulation(
        system, SceneActuation(system, servo, setup.loads), method="time_stepping"
    )
    robot = khr1.standing(np.zeros(len(khr1.joint_names)))
    stepper = sim.start(*setup.start(system, robot))
    stepper.advance(0.1)
    sample, soles = stepper.sample(), Soles(system)
    assert set(soles.surfaces) >= {"ground", "step", "crate", "marble"}
    points = soles.points(sample)
    loads = soles.loads(sample, points)
    total = sum(load.force[2] for load in loads)
    assert total == pytest.approx(khr1.mass * G, rel=0.02)
    assert points.force.sum(axis=0)[2] == pytest.approx(total, rel=1e-9)


def test_bodies_and_links_are_pushed(khr1: hs.Model, tmp_path: Path) -> None:
    """An impulse on a body moves that body alone, by impulse over mass."""
    setup = read_scene(scene_file(tmp_path))
    system = setup.system(setup.ground(0.6), khr1, whole_body=False)
    q, _ = setup.start(system, khr1.standing(np.zeros(len(khr1.joint_names))))
    force = system.point_force(q, "marble", np.zeros(3), np.array([0, 0, 0.02]))
    mass = system.terms(q, np.zeros(system.nv), np.zeros(0, int)).mass
    jump = np.linalg.solve(mass, force)
    assert jump[-4] == pytest.approx(2.0)
    assert np.abs(np.delete(jump, -4)).max() < 1e-12
    arm = system.point_force(q, "crate", np.array([0, 0.05, 0]), np.array([1.0, 0, 0]))
    np.testing.assert_allclose(arm[-12:-6], [1, 0, 0, 0, 0, -0.05], atol=1e-12)
    own = system.point_force(q, "l_foot", np.zeros(3), np.array([1.0, 0, 0]))
    assert np.abs(own[: khr1.nv]).max() > 0
    assert not own[khr1.nv :].any()
    with pytest.raises(hs.errors.ParameterError, match="no link or frame 'tail'"):
        system.point_force(q, "tail", np.zeros(3), np.zeros(3))


def test_feet_on_balls_among_bodies(khr1: hs.Model, tmp_path: Path) -> None:
    """A scene may say how the feet touch."""
    text = SCENE + "contact_geometry: spheres\nwhole_body: false\n"
    setup = read_scene(scene_file(tmp_path, text))
    system = setup.system(setup.ground(0.6), khr1)
    assert system.features is None
    assert "l_sole_heel" in system.contact_points
    assert system.radii.max() > 0


def test_self_collision_of_a_scene(khr1: hs.Model, tmp_path: Path) -> None:
    """Robots among bodies touch themselves unless the file says no."""
    kinds = []
    for text in (SCENE, SCENE + "self_collision: false\n"):
        setup = read_scene(scene_file(tmp_path, text))
        system = setup.system(setup.ground(0.6), khr1, whole_body=False)
        kinds.append("link" in system.contacts.kinds)
    assert kinds == [True, False]


def test_faults_have_their_place(tmp_path: Path) -> None:
    """A wrong body is reported with its line."""
    wrong = SCENE.replace("mass: 0.5", "mass: -1")
    with pytest.raises(hs.errors.ModelFileError, match=r"scene\.yaml:5: bodies\.crate"):
        read_scene(scene_file(tmp_path, wrong))
    with pytest.raises(hs.errors.ParameterError, match="scenario"):
        read_scene("no-such-scene")
