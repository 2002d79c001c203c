# SPDX-License-Identifier: Apache-2.0
"""What soles and sensors of each of two robots in a scene see."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.scene_bodies import SceneRobot
from humans_sim.dynamics.scenes.scene_system import SceneActuation, SceneSystem
from humans_sim.dynamics.soles import Soles

TURN = 2.0
"""Heading of the second one [rad]."""


@pytest.fixture(scope="module")
def scene(khr1: hs.Model) -> SceneSystem:
    """Two robots, and no free body."""
    return SceneSystem(
        [], hs.Ground(friction=0.6), robot=khr1, others=[SceneRobot("b", khr1)]
    )


def settled(scene: SceneSystem, model: hs.Model, place: pin.SE3) -> hs.Run:
    """Both stand on their servos, the second at a place, for a moment."""
    away = model.neutral()
    away[:7] = pin.SE3ToXYZQUAT(place * pin.XYZQUATToSE3(away[:7]))
    actuation = SceneActuation(scene, hs.Servo(model), others={"b": hs.Servo(model)})
    run = hs.Simulation(scene, actuation).start(
        scene.configuration({}, model.neutral(), others={"b": away}),
        np.zeros(scene.nv),
    )
    run.command([model.neutral()[7:]] * 2)
    run.advance(0.1)
    return run


def test_each_has_the_loads_of_its_soles(scene: SceneSystem, khr1: hs.Model) -> None:
    """The same loads in the frames of the soles, wherever a robot stands."""
    place = pin.SE3(pin.utils.rotate("z", TURN), np.array([0.5, 0.3, 0.0]))
    sample = settled(scene, khr1, place).sample()
    seen = []
    for part in scene.robots:
        soles = Soles(scene, part)
        points = soles.points(sample)
        names = {soles.names[row] for row in points.rows}
        assert names == set(khr1.contact_names)
        seen.append((points, soles.loads(sample, points)))
    (here, loads), (there, others) = seen
    for load, other in zip(loads, others, strict=True):
        assert load.name == other.name and load.force[2] > 5.0
        np.testing.assert_allclose(other.force, load.force, atol=1e-3)
        np.testing.assert_allclose(other.moment, load.moment, atol=1e-4)
    moved = np.array([place.act(point) for point in here.position])
    np.testing.assert_allclose(there.position, moved, atol=1e-6)
    np.testing.assert_allclose(there.normal, here.normal, atol=1e-9)


def test_contacts_between_them_are_of_both(scene: SceneSystem, khr1: hs.Model) -> None:
    """Each row is of the one's link with a sign, and of the other's with the other."""
    first, second = scene.robots
    ours, theirs = scene.link_contacts(first), scene.link_contacts(second)
    between = np.flatnonzero(ours * theirs)
    assert len(between) and (ours[between] == -theirs[between]).all()
    one, other = Soles(scene, first), Soles(scene, second)
    links = {f"b/{link}" for link in other.links if link}
    for row in between:
        assert one.links[row] == other.surfaces[row]
        assert one.surfaces[row] in links
        assert one.surfaces[row] == f"b/{other.links[row]}"
    assert not (scene.link_contacts(first)[one.of_sole[0]] == 0).all()


def test_frames_can_be_pushed(scene: SceneSystem, khr1: hs.Model) -> None:
    """A force at a frame of the second moves the second alone."""
    q = scene.configuration({}, khr1.neutral(), others={"b": khr1.neutral()})
    force = np.array([0.0, 1.0, 0.0])
    (part,) = scene.others
    for link in ("torso", "l_sole"):
        if not khr1.pin.existFrame(link):
            continue
        alone = hs.Simulation(khr1).system.point_force(
            khr1.neutral(), link, np.zeros(3), force
        )
        moved = scene.point_force(q, f"b/{link}", np.zeros(3), force)
        np.testing.assert_allclose(moved[part.v], alone, atol=1e-12)
        assert not np.delete(moved, np.arange(part.v.start, part.v.stop)).any()


def test_robots_without_names_are_refused(khr1: hs.Model) -> None:
    """The first one alone has none."""
    with pytest.raises(ParameterError, match="need names"):
        SceneSystem([], robot=khr1, others=[SceneRobot("", khr1)])
