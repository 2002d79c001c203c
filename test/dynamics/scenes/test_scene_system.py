# SPDX-License-Identifier: Apache-2.0
"""Scenes: bodies that rest, slide, roll and collide by the bipeds' contact problem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.bodies import BodyError, RigidBodies, move, of_box
from humans_sim.bodies.loads import Gravity, Spring, Wind, forces_of
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import (
    SceneActuation,
    SceneSystem,
    moving_bodies,
)

G = 9.81


def simulate(
    scene: SceneSystem,
    q: np.ndarray,
    v: np.ndarray | None = None,
    *,
    t_end: float,
    step: float = 2e-3,
    actuation: SceneActuation | None = None,
) -> hs.Run:
    """By time stepping."""
    simulation = hs.Simulation(scene, actuation, method="time_stepping", time_step=step)
    return simulation.run(q, v, t_end=t_end, sampling_period=0.01)


def weights(run: hs.Run, word: str) -> float:
    """Sum of the last normal forces of contacts whose names end so."""
    which = [k for k, name in enumerate(run.table.names) if word in name]
    return float(run.forces[-1, which, 0].sum())


def test_a_stack_stands() -> None:
    """Boxes fall 2 mm on each other and stay; each carries those above it."""
    count = 4
    bodies = [SceneBody.box(f"b{k}", 1.0, (0.2, 0.2, 0.1)) for k in range(count)]
    scene = SceneSystem(bodies, hs.Ground(friction=0.5))
    q = scene.configuration(
        {f"b{k}": (0.01 * k, 0.0, 0.05 + 0.102 * k) for k in range(count)}
    )
    run = simulate(scene, q, t_end=0.8)
    assert run.check().ok
    places = run.q[-1].reshape(count, 7)
    np.testing.assert_allclose(places[:, 2], 0.05 + 0.1 * np.arange(count), atol=1e-8)
    np.testing.assert_allclose(places[:, 0], 0.01 * np.arange(count), atol=1e-6)
    assert weights(run, "b0/ground.") == pytest.approx(4 * G, rel=1e-6)
    for k in range(1, count):
        carried = weights(run, f"b{k}/b{k - 1}.")
        assert carried == pytest.approx((count - k) * G, rel=1e-6)


def test_a_box_slides_to_rest() -> None:
    """v^2 / (2 mu g), with the lower friction of box and floor."""
    box = SceneBody.box("box", 2.0, (0.3, 0.2, 0.05), friction=0.2)
    scene = SceneSystem([box], hs.Ground(friction=0.8))
    q = scene.configuration({"box": (0.0, 0.0, 0.025)})
    v = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = simulate(scene, q, v, t_end=0.8, step=5e-4)
    assert run.check().ok
    assert run.q[-1, 0] == pytest.approx(1.0 / (2 * 0.2 * G), rel=3e-3)
    assert np.abs(run.v[-1]).max() < 1e-9


def test_a_ball_rolls_down_a_slope() -> None:
    """5/7 of g sin(angle), and it does not slip."""
    angle = 0.2
    ball = SceneBody.ball("ball", 0.5, 0.1)
    scene = SceneSystem([ball], hs.Ground.slope(angle, friction=0.9))
    normal = np.array(scene.ground.solids[0].normal)
    q = scene.configuration({"ball": tuple(0.1 * normal)})
    run = simulate(scene, q, t_end=1.0, step=1e-3)
    distance = np.linalg.norm(run.q[-1, :3] - run.q[0, :3])
    assert distance == pytest.approx(0.5 * 5 / 7 * G * math.sin(angle), rel=3e-3)
    moving = moving_bodies(scene, run.q[-1], run.v[-1])
    at_floor = moving.v[0] + np.cross(moving.w[0], -0.1 * normal)
    assert np.abs(at_floor).max() < 1e-6


def test_balls_exchange_their_speeds() -> None:
    """Head-on, elastic: one stops, the other moves; nothing else is there."""
    bodies = [SceneBody.ball(name, 1.0, 0.05) for name in "ab"]
    scene = SceneSystem(
        bodies,
        hs.Ground(friction=0.0, restitution=1.0, solids=()),
        gravity=(0.0, 0.0, 0.0),
    )
    q = scene.configuration({"a": (0.0, 0.0, 0.0), "b": (0.2, 0.0, 0.0)})
    v = np.zeros(12)
    v[0] = 1.0
    run = simulate(scene, q, v, t_end=0.3)
    np.testing.assert_allclose(run.v[-1, [0, 6]], [0.0, 1.0], atol=1e-9)


def test_momentum_of_a_brawl() -> None:
    """Boxes and balls that hit each other in the air keep their momentum."""
    rng = np.random.default_rng(2)
    bodies = [SceneBody.box(f"box{k}", 1.0 + k, (0.1, 0.15, 0.2)) for k in range(3)]
    bodies += [SceneBody.ball(f"ball{k}", 0.5, 0.08) for k in range(2)]
    scene = SceneSystem(bodies, hs.Ground(friction=0.4, solids=()), gravity=(0, 0, 0))
    places = {}
    v = np.zeros(scene.nv)
    for k, body in enumerate(bodies):
        around = 2 * math.pi * k / len(bodies)
        out = np.array([math.cos(around), math.sin(around), 0.05 * (-1) ** k])
        places[body.name] = tuple(0.35 * out)
        v[6 * k : 6 * k + 3] = -0.8 * out
        v[6 * k + 3 : 6 * k + 6] = rng.normal(size=3)
    q = scene.configuration(places)
    run = simulate(scene, q, v, t_end=0.6)

    def momentum(k: int) -> np.ndarray:
        moving = moving_bodies(scene, run.q[k], run.v[k])
        masses = np.array([body.properties.mass for body in bodies])
        return masses @ moving.v

    assert run.check().ok
    assert any(event.kind == "contact" for event in run.events) or run.contacts.any()
    np.testing.assert_allclose(momentum(-1), momentum(0), atol=1e-9)
    kinetic = run.energy[:, 0]
    assert kinetic[-1] < 0.9 * kinetic[0]


def test_rates_are_those_of_the_gaps() -> None:
    """Differences of gaps along a motion, for contacts of every kind; rows agree."""
    rng = np.random.default_rng(8)
    khr1 = hs.load_model("khr1")
    bodies = [
        SceneBody.box("box", 1.0, (0.3, 0.3, 0.2)),
        SceneBody.box("lid", 1.0, (0.2, 0.25, 0.1)),
        SceneBody.ball("ball", 0.5, 0.08),
    ]
    tips = ("r_middle_finger_tip", "l_middle_finger_tip")
    scene = SceneSystem(
        bodies,
        robot=khr1,
        contacts=(*khr1.contact_names, *tips),
        radii=dict.fromkeys(tips, 0.01),
    )
    turn = Rotation.from_euler("xyz", [0.02, -0.03, 0.4]).as_matrix()
    q = scene.configuration(
        {"box": (0.3, 0.0, 0.11), "lid": (0.31, 0.02, 0.27), "ball": (0.3, 0.3, 0.2)},
        khr1.standing(np.zeros(len(khr1.joint_names))),
        {"lid": turn},
    )
    v = 0.1 * rng.normal(size=scene.nv)
    gap, rate = scene.gap_rates(q, v)
    h = 1e-6
    chart = scene.chart(q)
    ahead, behind = (
        scene.gaps(chart.configuration(s * h * chart.rates(np.zeros(scene.nv), v)))
        for s in (1, -1)
    )
    near = (gap < 0.9) & (ahead < 0.9) & (behind < 0.9)
    assert near.sum() > 12
    difference = (ahead - behind) / (2 * h)
    # solids: exact at the surface, to the first order of gap times spin beside it
    np.testing.assert_allclose(rate[near], difference[near], atol=2e-2)
    single = np.array(["." not in name for name in scene.contacts.names])
    np.testing.assert_allclose(
        rate[near & single], difference[near & single], atol=1e-7
    )
    terms = scene.terms(q, v, np.flatnonzero(near))
    np.testing.assert_allclose(terms.jacobian[:, 0] @ v, rate[near], atol=1e-12)
    np.testing.assert_allclose(terms.gap, gap[near])


@pytest.mark.study
def test_loads_in_a_scene_and_in_the_air() -> None:
    """A box on a spring in the wind: time stepping comes to the Lie group's motion."""
    size = (0.2, 0.3, 0.1)
    loads = [
        Spring(0, (0.1, 0.15, 0.05), (0.0, 0.0, 1.0), 40.0, damping=0.5, length=0.2),
        Wind([0.05], (2.0, 0.0, 0.0)),
    ]
    bodies = RigidBodies([of_box(1.0, size)])
    state = bodies.state(np.array([[0.1, 0.0, 0.7]]))
    forces = forces_of(bodies, [*loads, Gravity(bodies.masses)])
    truth = move(bodies, state, 1.0, forces=forces, tolerance=1e-10).x[-1, 0]
    scene = SceneSystem([SceneBody.box("box", 1.0, size)], hs.Ground(solids=()))
    q = scene.configuration({"box": (0.1, 0.0, 0.7)})
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        actuation = SceneActuation(scene, loads=loads)
        run = simulate(scene, q, t_end=1.0, step=step, actuation=actuation)
        errors.append(np.abs(run.q[-1, :3] - truth).max())
    assert errors[-1] < 1e-2
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1, atol=0.4)


@pytest.mark.study
def test_springs_between_bodies_keep_momentum_and_energy() -> None:
    """Two bodies that pull each other; what is refused of loads."""
    bodies = RigidBodies([of_box(1.0, (0.2, 0.1, 0.1)), of_box(2.0, (0.1, 0.1, 0.3))])
    state = bodies.state(np.array([[0.0, 0, 0], [0.6, 0.1, 0]]))
    spring = Spring(0, (0.1, 0.05, 0), (0, 0.05, 0.1), 30.0, other=1, length=0.1)
    forces = forces_of(bodies, [spring])
    motion = move(bodies, state, 3.0, forces=forces, tolerance=1e-11)
    for part in bodies.momentum(motion.state(-1)):
        np.testing.assert_allclose(part, 0.0, atol=1e-8)
    with pytest.raises(BodyError, match="to itself"):
        Spring(1, (0, 0, 0), (0, 0, 0), 1.0, other=1)
    with pytest.raises(BodyError, match="must not be negative"):
        Spring(1, (0, 0, 0), (0, 0, 0), -1.0)
    with pytest.raises(BodyError, match="must not be negative"):
        Wind([-1.0])


def test_what_a_scene_refuses() -> None:
    """No bodies, one name twice, places left out, quaternions that are none."""
    ball = SceneBody.ball("ball", 1.0, 0.1)
    with pytest.raises(BodyError, match="needs a body"):
        SceneSystem([])
    with pytest.raises(BodyError, match="one name"):
        SceneSystem([ball, ball])
    scene = SceneSystem([ball])
    with pytest.raises(ParameterError, match="event_driven, only by time_stepping"):
        hs.Simulation(scene, method="event_driven")
    with pytest.raises(ConfigurationError, match="places of ball"):
        scene.configuration({"box": (0, 0, 0)})
    with pytest.raises(ConfigurationError, match="quaternion"):
        hs.Simulation(scene, method="time_stepping").run(np.zeros(7))
    with pytest.raises(BodyError, match="friction"):
        SceneBody.ball("ball", 1.0, 0.1, friction=-1.0)
    inside = scene.configuration({"ball": (0, 0, 0.05)})
    with pytest.raises(hs.HumansError, match="inside"):
        hs.Simulation(scene, method="time_stepping").run(inside)
