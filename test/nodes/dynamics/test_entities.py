# SPDX-License-Identifier: Apache-2.0
"""What is in a simulation, by name."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import Box
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.nodes.dynamics.entities import BoxBounds, Entities, EntityKind

STEP = Box((0.2, 0.4, 0.1), (1.0, 0.0, 0.05), name="crate")


@pytest.fixture(scope="module")
def scene(khr1: hs.Model) -> SceneSystem:
    """A robot, a crate and a ball on a floor with a step."""
    bodies = [
        SceneBody.box("crate", 1.0, (0.1, 0.2, 0.3)),
        SceneBody.ball("ball", 0.5, 0.05),
    ]
    return SceneSystem(bodies, Ground().with_solids(STEP), robot=khr1)


@pytest.fixture(scope="module")
def entities(khr1: hs.Model, scene: SceneSystem) -> Entities:
    """The entities of the scene."""
    return Entities([khr1.name], scene, scene.ground)


@pytest.fixture
def state(khr1: hs.Model, scene: SceneSystem) -> tuple[np.ndarray, np.ndarray]:
    """Everything turned, everything moving."""
    generator = np.random.default_rng(5)
    robot = pin.integrate(khr1.pin, khr1.neutral(), generator.normal(size=khr1.nv) / 3)
    turn = pin.exp3(np.array([0.3, -0.2, 0.5]))
    q = scene.configuration(
        {"crate": [1.0, 2.0, 3.0], "ball": [-1.0, 0.0, 2.0]},
        robot,
        {"crate": turn},
    )
    return q, generator.normal(size=scene.nv)


def test_names_are_unique(entities: Entities, khr1: hs.Model) -> None:
    """A solid that is called as a body gets a number."""
    assert entities.kinds == {
        khr1.name: EntityKind.ROBOT,
        "crate": EntityKind.BODY,
        "ball": EntityKind.BODY,
        "ground": EntityKind.SOLID,
        "crate_2": EntityKind.SOLID,
    }
    assert entities.free_name("crate") == "crate_3"


def test_velocities_are_those_of_moving_poses(
    entities: Entities, scene: SceneSystem, state: tuple[np.ndarray, np.ndarray]
) -> None:
    """In the world's frame: differences of poses after a short time say the same."""
    q, v = state
    short = 1e-6
    chart = scene.chart(q)
    rates = chart.rates(np.zeros(scene.nv), v)
    later, before = (
        chart.configuration(short * rates),
        chart.configuration(-short * rates),
    )
    for name in ("khr1", "crate", "ball"):
        a, b = entities.pose(name, before), entities.pose(name, later)
        linear = (b.translation - a.translation) / (2 * short)
        angular = pin.log3(b.rotation @ a.rotation.T) / (2 * short)
        velocity = entities.velocity(name, q, v)
        np.testing.assert_allclose(velocity[:3], linear, atol=1e-7)
        np.testing.assert_allclose(velocity[3:], angular, atol=1e-7)


def test_accelerations_are_rates_of_velocities(
    entities: Entities, scene: SceneSystem, state: tuple[np.ndarray, np.ndarray]
) -> None:
    """In the world's frame, also of a base whose own velocity turns with it."""
    q, v = state
    rates = np.random.default_rng(6).normal(size=scene.nv)
    short = 1e-6
    chart = scene.chart(q)
    motion = chart.rates(np.zeros(scene.nv), v)
    later, before = (
        chart.configuration(short * motion),
        chart.configuration(-short * motion),
    )
    for name in ("khr1", "crate"):
        ahead = entities.velocity(name, later, v + short * rates)
        behind = entities.velocity(name, before, v - short * rates)
        expected = (ahead - behind) / (2 * short)
        found = entities.acceleration(name, q, v, rates)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_entities_are_placed(
    entities: Entities, state: tuple[np.ndarray, np.ndarray]
) -> None:
    """Pose and velocity come back as they were given; all others stay."""
    q, v = state
    pose = pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(np.array([0.1, 0.2, -0.3])), np.ones(3)))
    velocity = np.arange(1.0, 7.0)
    for name in ("khr1", "crate", "ball"):
        new_q, new_v = entities.placed(name, q, v, pose, velocity)
        np.testing.assert_allclose(entities.velocity(name, new_q, new_v), velocity)
        there = pin.SE3ToXYZQUAT(entities.pose(name, new_q))
        np.testing.assert_allclose(there, pose, atol=1e-12)
        assert (new_q != q).sum() <= 7
        turned, _ = entities.placed(name, q, v, pose)
        moved = entities.placed(name, q, v, pose)[1]
        np.testing.assert_allclose(
            entities.velocity(name, turned, moved), entities.velocity(name, q, v)
        )
    with pytest.raises(hs.errors.ConfigurationError, match="part of the ground"):
        entities.placed("ground", q, v, pose)


def test_bounds(entities: Entities, khr1: hs.Model, scene: SceneSystem) -> None:
    """Boxes around what there is; the floor has no end."""
    q = scene.configuration({"crate": [1, 2, 3], "ball": [0, 0, 3]}, khr1.neutral())
    box = entities.bounds("crate", q)
    assert box is not None
    np.testing.assert_allclose(box.high - box.low, [0.1, 0.2, 0.3])
    ball = entities.bounds("ball", q)
    assert ball is not None
    np.testing.assert_allclose(ball.high, 0.05)
    step = entities.bounds("crate_2", q)
    assert step is not None
    np.testing.assert_allclose(
        step.around(entities.pose("crate_2", q)).low, [0.9, -0.2, 0]
    )
    assert entities.bounds("ground", q) is None
    robot = entities.bounds(khr1.name, q)
    assert robot is not None
    around = robot.around(entities.pose(khr1.name, q))
    assert around.low[2] == pytest.approx(
        khr1.tags(khr1.neutral())[:, 2].min(), abs=1e-6
    )
    assert 0.3 < around.high[2] - around.low[2] < 0.4


def test_boxes_meet() -> None:
    """Balls and boxes that touch, and that do not."""
    box = BoxBounds(np.zeros(3), np.ones(3))
    assert box.meets_ball(np.array([2.0, 0.5, 0.5]), 1.01)
    assert not box.meets_ball(np.array([2.0, 2.0, 0.5]), 1.4)
    assert box.meets_box(BoxBounds(np.full(3, 0.9), np.full(3, 2.0)))
    assert not box.meets_box(BoxBounds(np.array([0.0, 0.0, 1.1]), np.full(3, 2.0)))
