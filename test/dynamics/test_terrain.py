# SPDX-License-Identifier: Apache-2.0
"""Balls and robots on terrain: as on the planes and boxes it is made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.resources import resource

RADIUS, SLOPE = 0.1, 0.3
METHODS = ("event_driven", "time_stepping")


@pytest.fixture(scope="module")
def ball() -> hs.Model:
    """A ball of 0.1 m."""
    return hs.load_model(resource("urdf", "ball.urdf"))


def roll(
    ball: hs.Model, ground: hs.Ground, q: object, v: object, t_end: float, method: str
) -> hs.Run:
    """A run of the ball from a place."""
    start = ball.neutral()
    start[:3] = q
    sim = hs.Simulation(
        ball,
        ground=ground,
        contacts=hs.Contacts(radii={"centre": RADIUS}),
        method=method,
    )
    return sim.run(start, np.asarray(v, float), t_end=t_end, sampling_period=0.05)


def sloped(friction: float = 0.8) -> list[hs.Ground]:
    """One slope as a half space, an open mesh and a height field."""
    side, rise = 2.0, math.tan(SLOPE)
    corners = [(x, y, rise * x) for x, y in ((-2, -2), (2, -2), (2, 2), (-2, 2))]
    mesh = hs.TriangleMesh(corners, [(0, 1, 2), (0, 2, 3)])
    x = np.linspace(-side, side, 21)
    heights = np.outer(rise * x, np.ones(21))
    field = hs.HeightField(heights, 0.2, (-side, -side, 0.0))
    return [
        hs.Ground.slope(SLOPE, friction=friction),
        hs.Ground(friction=friction, solids=(mesh,)),
        hs.Ground(friction=friction, solids=(field,)),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_one_slope_in_three_forms(ball: hs.Model, method: str) -> None:
    """A ball falls on a slope and rolls: half space, mesh and height field agree."""
    normal = np.array([-math.sin(SLOPE), 0.0, math.cos(SLOPE)])
    place = RADIUS * normal + [0.01, 0.02, 0.03]
    runs = [
        roll(ball, ground, place, (0.2, 0.1, 0.0, 1.0, 2.0, 3.0), 0.4, method)
        for ground in sloped()
    ]
    assert (runs[0].contacts[-1] != 0).any()
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-10)
        np.testing.assert_allclose(run.v, runs[0].v, atol=1e-10)
        np.testing.assert_allclose(run.forces[:, 0], runs[0].forces[:, 0], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_rolls_off_a_step(ball: hs.Model, method: str) -> None:
    """Over the edge, slipping, in flight and on the floor: as on a step that is a box.

    The normal turns on the edge: its curvature is in the event-driven result.
    """
    scenes = [
        hs.Ground(friction=0.6).with_steps(1, 0.1, 0.5, 0.0),
        hs.Ground(friction=0.6).with_stairs(1, 0.1, 0.5, 0.0),
    ]
    start = (0.1, 0.0, 0.21), (-0.5, 0.05, 0.0, 0.0, 0.0, 0.0)
    one, two = (roll(ball, ground, *start, 0.6, method) for ground in scenes)
    np.testing.assert_allclose(two.q, one.q, atol=1e-8)
    kinds = [[event.kind for event in run.events] for run in (one, two)]
    assert kinds[0] == kinds[1] and "contact_opened" in kinds[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_robot_on_a_ramp(khr1: hs.Model, method: str) -> None:
    """A stiff KHR-1 falls on a ramp and slides down it: as on a half space."""
    ramp = hs.Ground(friction=0.2, solids=()).with_ramp(SLOPE, 2.0, -1.0)
    high = math.tan(SLOPE)
    normal = (-math.sin(SLOPE), 0.0, math.cos(SLOPE))
    plane = hs.HalfSpace(normal, (0.0, 0.0, high))
    q = khr1.neutral()
    q[2] += high + 0.03
    runs = [
        hs.Simulation(khr1, ground=ground, locked=["*"], method=method).run(
            q, t_end=0.25, sampling_period=0.05
        )
        for ground in (hs.Ground(friction=0.2, solids=(plane,)), ramp)
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-8)
    assert (runs[0].contacts != 0).any()


def test_a_sliding_point_flies_off_a_convex_edge(ball: hs.Model) -> None:
    """Without friction a point leaves an edge and falls freely: by hand."""
    ground = hs.Ground(friction=0.0, solids=()).with_stairs(1, 1.0, 3.0, -3.0)
    start = ball.neutral()
    start[:3] = (-0.1, 0.0, 1.0)
    sim = hs.Simulation(ball, ground=ground, contacts=hs.Contacts(whole_body=False))
    run = sim.run(start, np.array([1.0, 0, 0, 0, 0, 0]), t_end=0.3)
    left = [e.time for e in run.events if e.kind == "contact_opened"]
    assert left == pytest.approx([0.1], abs=2e-9)
    fall = 0.5 * 9.81 * np.maximum(run.t - 0.1, 0.0) ** 2
    np.testing.assert_allclose(run.q[:, 2], 1.0 - fall, atol=1e-8)


def test_a_sliding_point_stops_in_a_valley(ball: hs.Model) -> None:
    """A point that slides along a tread hits the riser, and rests on both."""
    ground = hs.Ground(friction=0.0, solids=()).with_stairs(2, 0.1, 0.5, 0.0)
    start = ball.neutral()
    start[:3] = (0.4, 0.0, 0.1)
    for method, exact in zip(METHODS, (1e-9, 2e-3), strict=True):
        sim = hs.Simulation(
            ball, ground=ground, method=method, contacts=hs.Contacts(whole_body=False)
        )
        run = sim.run(start, np.array([1.0, 0, 0, 0, 0, 0]), t_end=0.2)
        hits = [e.time for e in run.events if e.subject.endswith("stairs:1")]
        assert min(hits) == pytest.approx(0.1, abs=exact)
        np.testing.assert_allclose(run.q[-1, :3], [0.5, 0.0, 0.1], atol=1e-8)
        assert np.sum(run.contacts[-1] != 0) >= 1
        assert run.forces[-1, :, 0].sum() == pytest.approx(ball.mass * 9.81, rel=1e-6)


def waves(spacing: float) -> hs.Ground:
    """A sine along x, sampled."""
    x = np.arange(-0.2, 2.21, spacing)
    heights = np.outer(0.005 * np.sin(2 * np.pi * x), np.ones(3))
    field = hs.HeightField(heights, (spacing, 0.5), (-0.2, -0.5, 0.0))
    return hs.Ground(friction=0.8, solids=(field,))


def test_energy_on_sampled_waves(ball: hs.Model) -> None:
    """A ball over waves never gains energy, and loses the less the finer they are.

    Each edge in a valley is an impact; a ball rolls over convex edges without loss.
    """
    lost = []
    for spacing in (0.1, 0.05):
        sim = hs.Simulation(
            ball,
            ground=waves(spacing),
            contacts=hs.Contacts(radii={"centre": RADIUS}),
            method=METHODS[0],
        )
        start = ball.neutral()
        start[:3] = (0.0, 0.0, 0.102)
        run = sim.run(start, np.array([0.6, 0, 0, 0, 6.0, 0]), t_end=1.8)
        assert run.q[-1, 0] > 0.9
        energy = run.energy.sum(axis=1)
        settled = energy[run.t > 0.05]
        assert np.diff(settled).max() < 1e-10
        lost.append(settled[0] - settled[-1])
    assert 0.0 < lost[1] < 0.7 * lost[0]


@pytest.mark.study
def test_boxes_on_terrain() -> None:
    """Free boxes and balls rest on a height field as on the floor that it is."""
    from humans_sim.dynamics.scene_bodies import SceneBody
    from humans_sim.dynamics.scenes.scene_system import SceneSystem

    level = hs.HeightField(np.zeros((5, 5)), 0.2, (-0.41, -0.43, 0.0))
    bodies = [
        SceneBody.box("box", 1.0, (0.1, 0.1, 0.1)),
        SceneBody.ball("ball", 1.0, 0.05),
    ]
    ends = []
    for solid in (hs.HalfSpace(), level):
        scene = SceneSystem(bodies, hs.Ground(friction=0.5, solids=(solid,)))
        q = scene.configuration({"box": (0.0, 0.0, 0.051), "ball": (0.2, 0.0, 0.06)})
        sim = hs.Simulation(scene, method="time_stepping", time_step=2e-3)
        ends.append(sim.run(q, t_end=0.2, sampling_period=0.1).q[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-10)


@pytest.mark.parametrize("form", ["box", "mesh"])
def test_an_edge_under_the_middle_of_a_sole(khr1: hs.Model, form: str) -> None:
    """A robot half on a step: a sole feels its edge, whatever touches of it."""
    high, edge = 0.05, float(khr1.com(khr1.neutral())[0]) + 0.02
    floor = hs.Ground(friction=0.7)
    ground = floor.with_solids(
        hs.Box((1.0, 1.0, high), (edge - 0.5, 0.0, high / 2), name="step")
    )
    if form == "mesh":
        ground = floor.with_stairs(1, high, 1.0, edge - 1.0, 1.0)
    over = {}
    for geometry in ("points", "sole_points"):
        q = khr1.neutral()
        q[2] += high
        sim = hs.Simulation(
            khr1,
            ground=ground,
            locked=["*"],
            method="time_stepping",
            contacts=hs.Contacts(geometry=geometry),
        )
        run = sim.run(q, t_end=0.1, sampling_period=0.05)
        pose = khr1.frame_pose(run.q[-1], "l_sole")
        place = np.array([edge, pose.translation[1], high]) - pose.translation
        over[geometry] = float(pose.rotation[:, 2] @ place)
    assert over["points"] < 1e-9
    assert abs(over["sole_points"]) < 1e-9
