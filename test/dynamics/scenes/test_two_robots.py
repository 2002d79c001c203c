# SPDX-License-Identifier: Apache-2.0
"""Two robots in one scene: momentum and energy of a bump, each alone when far apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.scene_bodies import SceneBody, SceneRobot
from humans_sim.dynamics.scenes.scene_system import (
    SceneActuation,
    SceneController,
    SceneSystem,
)
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import PERIOD, walk_stream
from humans_sim.results.check import DEEPEST
from humans_sim.results.run import body_poses

ASIDE = {"ball": (0.0, 3.0, 0.5)}
"""Where the scene's body is, out of the way [m]."""
SPEED = 0.4
"""At which each comes [m/s]."""


def body() -> SceneBody:
    """A ball that is not touched."""
    return SceneBody.ball("ball", 0.1, 0.05)


def moved(model: hs.Model, x: float) -> np.ndarray:
    """The neutral posture elsewhere [m]."""
    q = model.neutral()
    q[0] += x
    return q


def momentum(model: hs.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum of a robot about the origin (6,), by pinocchio."""
    data = model.pin.createData()
    pin.computeCentroidalMomentum(model.pin, data, q.copy(), v.copy())
    about = np.cross(data.com[0], data.hg.linear)
    return np.concatenate([data.hg.linear, data.hg.angular + about])


def test_a_bump_in_free_space_keeps_momentum(khr1: hs.Model) -> None:
    """They come at each other, limbs hang loose; nothing is lost but some energy."""
    other = SceneRobot("robot2", khr1)
    scene = SceneSystem(
        [body()],
        hs.Ground.empty(),
        robot=khr1,
        others=[other],
        gravity=(0.0, 0.0, 0.0),
    )
    away = moved(khr1, 0.14)
    away[1] += 0.03  # not quite frontal: they turn, too
    q = scene.configuration(ASIDE, khr1.neutral(), others={"robot2": away})
    (part,) = scene.others
    parts = [(slice(khr1.nq), slice(khr1.nv)), (part.q, part.v)]
    v = np.zeros(scene.nv)
    v[0], v[part.v.start] = SPEED, -SPEED
    simulation = hs.Simulation(scene, time_step=0.5e-3)
    run = simulation.run(q, v, t_end=0.4, sampling_period=0.01)
    own = np.array(
        [
            [momentum(khr1, q[a], v[b]) for a, b in parts]
            for q, v in zip(run.q, run.v, strict=True)
        ]
    )
    scale = khr1.mass * SPEED
    # A floating base has its velocity in its own axes: a step keeps the momentum of
    # what turns to the order of its length.
    total = own.sum(axis=1)
    assert np.abs(total[:, :3] - total[0, :3]).max() < 5e-3 * scale
    assert np.abs(total[:, 3:] - total[0, 3:]).max() < 5e-3 * scale * khr1.neutral()[2]
    kinetic = run.energy[:, 0]
    assert kinetic[-1] < 0.9 * kinetic[0] and np.diff(kinetic).max() < 1e-9 * kinetic[0]
    between = [
        k
        for k, name in enumerate(run.table.names)
        if "robot2/" in name and run.forces[:, k].any()
    ]
    assert between, "they did not touch"
    np.testing.assert_array_equal(body_poses(run)[0, 0, :3], ASIDE["ball"])
    # Momentum goes from one to the other.
    assert own[0, 0, 0] == pytest.approx(scale) == pytest.approx(-own[0, 1, 0])
    assert own[-1, 0, 0] < 0.5 * scale and own[-1, 1, 0] > -0.5 * scale
    check = run.check()
    assert check.ok, str(check)
    assert check[DEEPEST].ok  # links of both, by their convex distance


@pytest.mark.parametrize("second", [False, True])
def test_far_apart_each_is_as_alone(khr1: hs.Model, second: bool) -> None:
    """On the ground, led by servos: the same motion as in a scene of its own."""
    ground = hs.Ground(friction=0.6)

    arms = np.array([("shoulder" in name) for name in khr1.joint_names])

    def swing(t: float, state: hs.ControlState) -> np.ndarray:
        return khr1.neutral()[7:] + 0.2 * arms * np.sin(8.0 * t)

    alone = SceneSystem([body()], ground, robot=khr1)
    servo = hs.Servo(khr1)
    lone = hs.Simulation(alone, servo, swing, control_period=0.02).run(
        alone.configuration(ASIDE, khr1.neutral()), t_end=0.3, sampling_period=0.02
    )
    scene = SceneSystem([body()], ground, robot=khr1, others=[SceneRobot("b", khr1)])
    first, other = hs.Servo(khr1), hs.Servo(khr1)
    actuation = SceneActuation(scene, first, others={"b": other})
    control = SceneController(scene, swing, {"b": swing})
    pair = hs.Simulation(scene, actuation, control, control_period=0.02).run(
        scene.configuration(ASIDE, khr1.neutral(), others={"b": moved(khr1, 2.0)}),
        t_end=0.3,
        sampling_period=0.02,
    )
    (part,) = scene.others
    q, v = (slice(khr1.nq), slice(khr1.nv)) if not second else (part.q, part.v)
    own = pair.q[:, q].copy()
    own[:, 0] -= 2.0 * second
    assert np.abs(lone.q[-1, 7 : khr1.nq] - lone.q[0, 7 : khr1.nq]).max() > 0.1
    np.testing.assert_allclose(own, lone.q[:, : khr1.nq], atol=1e-7)
    np.testing.assert_allclose(pair.v[:, v], lone.v[:, : khr1.nv], atol=1e-4)
    assert pair.check().ok, str(pair.check())


def stream(model: hs.Model, speed: float) -> Callable[[float], np.ndarray]:
    """Joint angles over time of a walk by plan alone, from 0.3 s on [m/s]."""
    walk = walk_stream(model, load_robot("khr1"), 6, (speed, 0.0, 0.0))

    def joints(t: float) -> np.ndarray:
        angles = walk.angles(walk.begin + max(t + PERIOD - 0.3, 0.0))
        return np.array([angles.get(name, 0.0) for name in model.joint_names])

    return joints


@pytest.mark.study
def test_two_walk_into_each_other(khr1: hs.Model) -> None:
    """One forwards, one backwards: they meet, push each other back, and stay up."""
    setup = RobotSetup.of_model(khr1)
    servos = [setup.servos(khr1, command_period=PERIOD) for _ in range(2)]
    walks = [stream(khr1, 0.05), stream(khr1, -0.03)]
    resistance = JointDissipation.of(khr1, servos[0])
    scene = SceneSystem(
        [body()],
        hs.Ground(friction=setup.friction),
        robot=khr1,
        others=[SceneRobot("robot2", khr1, resistance)],
        dissipation=resistance,
    )
    simulation = hs.Simulation(
        scene,
        SceneActuation(scene, servos[0], others={"robot2": servos[1]}),
        SceneController(
            scene, lambda t, _: walks[0](t), {"robot2": lambda t, _: walks[1](t)}
        ),
        control_period=PERIOD,
        time_step=setup.time_step,
        stands=True,
    )
    places = [khr1.standing(walk(-PERIOD)) for walk in walks]
    places[1][0] += 0.2
    start = scene.configuration(ASIDE, places[0], others={"robot2": places[1]})
    run = simulation.run(start, t_end=4.0, sampling_period=0.02)
    (part,) = scene.others
    first, second = run.q[:, 0], run.q[:, part.q.start]
    met = {  # links of the one with links of the other
        pair.name
        for pair in scene.pairs.pairs
        if pair.first.joint > part.shift and 0 < pair.second.joint < scene.first_body
    }
    columns = [k for k, n in enumerate(run.table.names) if n.rpartition(".")[0] in met]
    pushing = run.forces[:, columns, 0].sum(axis=1)
    begin = int(np.flatnonzero(pushing)[0])
    assert 1.5 < run.t[begin] < 3.0
    # Until then both came nearer as they walk alone; then neither gets through.
    assert first[begin] > 0.03 and second[begin] < 0.18
    assert (second - first).min() > 0.1
    assert second[-1] > second[begin]  # it is pushed back
    for height in (run.q[:, 2], run.q[:, part.q.start + 2]):
        assert height.min() > 0.95 * height[0]
    check = run.check()
    assert check.ok and check[DEEPEST].ok, str(check)


def test_what_cannot_be_is_refused(khr1: hs.Model) -> None:
    """A robot without a first one, two of a name, a configuration left out."""
    other = SceneRobot("ball", khr1)
    with pytest.raises(BodyError, match="one name"):
        SceneSystem([body()], robot=khr1, others=[other])
    other = replace(other, name="b")
    with pytest.raises(ParameterError, match="need a first one"):
        SceneSystem([body()], others=[other])
    scene = SceneSystem([body()], robot=khr1, others=[other])
    with pytest.raises(ConfigurationError, match="configurations of b must be given"):
        scene.configuration(ASIDE, khr1.neutral())
    with pytest.raises(ParameterError, match="no robot 'c'"):
        SceneActuation(scene, others={"c": hs.Servo(khr1)})
    with pytest.raises(ParameterError, match="cannot be called 'a/b'"):
        SceneRobot("a/b", khr1)
