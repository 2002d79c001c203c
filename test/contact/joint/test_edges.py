# SPDX-License-Identifier: Apache-2.0
"""Edges as thin cylinders: nearest points against coal, rocking against a pendulum."""

from __future__ import annotations

import math

import coal
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import humans_sim as hs
from humans_sim.bodies.mass_properties import MassProperties, of_box
from humans_sim.contact.joint.contact_joint import ContactJoint, contact_velocity
from humans_sim.contact.joint.surface_shapes import (
    Edge,
    Sphere,
    box_edges,
    polyhedron_edges,
)
from humans_sim.contact.joint.surfaces import SurfaceError
from humans_sim.dynamics.surfaces import RollingBody, rolling_bodies


def pose(generator: np.random.Generator, far: float) -> pin.SE3:
    """Anywhere, in any attitude."""
    turn = pin.exp3(generator.normal(size=3))
    return pin.SE3(turn, far * generator.normal(size=3))


def coal_distance(
    shapes: tuple[coal.CollisionGeometry, coal.CollisionGeometry], relative: pin.SE3
) -> tuple[float, np.ndarray]:
    """Gap and normal of two shapes by coal."""
    result, still = coal.DistanceResult(), coal.Transform3s.Identity()
    moved = coal.Transform3s(relative.rotation, relative.translation)
    gap = coal.distance(
        shapes[0], still, shapes[1], moved, coal.DistanceRequest(), result
    )
    return gap, np.array(result.normal)


def test_gap_and_normal_of_two_edges_are_those_of_capsules() -> None:
    """Whatever the edges' places: crossing, end to end, end beside."""
    generator = np.random.default_rng(2)
    one = Edge((0, 0, -0.1), (0, 0, 0.1), 0.004)
    two = Edge((0, 0, -0.06), (0, 0, 0.06), 0.002)
    shapes = coal.Capsule(0.004, 0.2), coal.Capsule(0.002, 0.12)
    joint = ContactJoint(one, two)
    for _ in range(60):
        relative = pose(generator, 0.1)
        gap, normal = coal_distance(shapes, relative)
        if gap < 1e-4:
            continue
        near = joint.nearest(relative)
        assert near.gap == pytest.approx(gap, abs=1e-7)
        assert near.first.rotation[:, 2] == pytest.approx(normal, abs=1e-4)
        over = relative.act(near.second)
        assert over.translation - near.first.translation == pytest.approx(
            near.gap * near.first.rotation[:, 2], abs=1e-12
        )
        for surface, frame, side in ((one, near.first, 1), (two, near.second, -1)):
            assert surface.misfit(frame, side) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_two_boxes_edge_on_edge() -> None:
    """The nearest of all pairs of edges is coal's as the radius goes to zero."""
    sizes = (0.3, 0.1, 0.1), (0.2, 0.08, 0.12)
    relative = pin.SE3(
        pin.utils.rotate("z", 1.2) @ pin.utils.rotate("x", math.pi / 4),
        np.array([0.01, 0.02, 0.2]),
    )
    standing = pin.SE3(pin.utils.rotate("x", math.pi / 4), np.zeros(3))
    moved = standing.inverse() * relative
    gap, normal = coal_distance((coal.Box(*sizes[0]), coal.Box(*sizes[1])), moved)
    errors = []
    for radius in (4e-3, 2e-3, 1e-3):
        pairs = [
            ContactJoint(one, two).nearest(moved)
            for one in box_edges(sizes[0], radius)
            for two in box_edges(sizes[1], radius)
        ]
        near = min(pairs, key=lambda pair: pair.gap)
        assert near.first.rotation[:, 2] == pytest.approx(normal, abs=1e-6)
        errors.append(near.gap - gap)
    # Each rounding takes (sqrt 2 - 1) r off a right angle that points at the other.
    assert errors == pytest.approx(
        [2 * (math.sqrt(2) - 1) * r for r in (4e-3, 2e-3, 1e-3)], rel=0.02
    )


def test_edges_of_a_polyhedron_touch_its_faces() -> None:
    """A box has twelve, a tetrahedron six; none comes out of a face."""
    assert len(box_edges((0.1, 0.2, 0.3), 0.001)) == 12
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 10
    edges = polyhedron_edges(corners, 0.002)
    assert len(edges) == 6
    for corner in corners:
        normal = -corner / np.linalg.norm(corner)
        far = max(float(normal @ edge.outermost(normal)) for edge in edges)
        assert far == pytest.approx(1 / (10 * math.sqrt(3)), abs=1e-12)
    with pytest.raises(hs.errors.ParameterError, match="too short"):
        box_edges((0.1, 0.1, 0.1), 0.06)
    with pytest.raises(hs.errors.ParameterError, match="no polyhedron"):
        polyhedron_edges(np.zeros((4, 3)), 0.001)


def test_edges_that_cross_have_no_normal() -> None:
    """Axes that meet raise; an edge without length is none."""
    edge = Edge((-1, 0, 0), (1, 0, 0), 0.001)
    crossing = pin.SE3(pin.utils.rotate("z", 1.0), np.zeros(3))
    with pytest.raises(SurfaceError, match="cross"):
        ContactJoint(edge, edge).nearest(crossing)
    with pytest.raises(hs.errors.ParameterError, match="one point"):
        Edge((0, 0, 0), (0, 0, 0), 0.001)


def test_a_ball_rolls_along_an_edge() -> None:
    """As on the cylinder that the edge is: the contact stays on both surfaces."""
    joint = ContactJoint(Edge((-0.2, 0, 0), (0.2, 0, 0), 0.001), Sphere(0.05))
    state = joint.start((0.0, 0.0, 0.001), (0.0, 0.0, -0.05))
    for _ in range(50):
        state = joint.step(state, contact_velocity(rolling=(0.5, 0.0)), 0.01)
    assert joint.misfit(state)[0] < 1e-12
    way = np.linalg.norm(state.first.translation - [0.0, 0.0, 0.001])
    assert way == pytest.approx(0.5 * 0.5 * 0.05, abs=1e-9)


BAR, MASS = (0.2, 0.06, 0.1), 0.8


def rocked(radius: float, time: float) -> float:
    """Tilt of a bar that rocks on the edge along its x, let go at 0.3 rad [rad]."""
    edges = box_edges(BAR, radius)
    low = next(
        edge
        for edge in edges
        if edge.first[1] > 0 > edge.first[2] and edge.second[1] > 0 > edge.second[2]
    )
    body = RollingBody("bar", of_box(MASS, BAR), low.ends, 0.2)
    system = rolling_bodies([body])
    q = pin.neutral(system.tree)
    q[3:7] = pin.Quaternion(pin.exp3(np.array([-0.3, 0.0, 0.0]))).coeffs()
    q[2] -= float(system.gaps(q).min())
    run = hs.Simulation(system).run(q, t_end=time, sampling_period=time)
    turn = pin.Quaternion(run.q[-1, 3:7]).matrix()
    assert np.abs(run.q[-1, 0]) < 1e-9
    return -math.atan2(turn[2, 1], turn[2, 2])


def test_a_bar_rocks_on_its_edge_as_a_pendulum() -> None:
    """The tilt comes to that of a bar on a sharp edge, by the edge's radius."""
    arm = math.hypot(BAR[1], BAR[2]) / 2
    lean = math.atan2(BAR[1], BAR[2])
    about = MASS * (BAR[1] ** 2 + BAR[2] ** 2) / 12 + MASS * arm**2

    def rates(_: float, y: np.ndarray) -> list[float]:
        moment = -MASS * 9.81 * arm * math.sin(lean - y[0])
        return [y[1], moment / about]

    time = 0.06
    sharp = solve_ivp(rates, (0.0, time), [0.3, 0.0], rtol=1e-10, atol=1e-12).y[0, -1]
    assert abs(sharp - 0.3) > 0.02
    errors = [abs(rocked(radius, time) - sharp) for radius in (2e-3, 1e-3, 5e-4)]
    assert errors[-1] < 0.02 * abs(sharp - 0.3)
    ratios = np.array(errors[:-1]) / errors[1:]
    assert ratios == pytest.approx([2.0, 2.0], rel=0.15)


def test_an_edge_swings_across_another() -> None:
    """Edge on edge, with its mass below, it has the period of a compound pendulum."""
    radius, below, mass = 1e-4, 0.05, 0.5
    floor = Edge((0, -0.1, 0), (0, 0.1, 0), radius)
    own = Edge((-0.1, 0, 0), (0.1, 0, 0), radius)
    inertia = np.diag([4e-4, 9e-4, 8e-4])
    spread = MassProperties(mass, np.array([0.0, 0.0, -below]), inertia)
    system = rolling_bodies([RollingBody("saddle", spread, (own,), 0.1)], floor)
    about = inertia[1, 1] + mass * (below + radius) ** 2
    rate = math.sqrt(mass * 9.81 * below / about)
    q = pin.neutral(system.tree)
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, 0.02, 0.0]))).coeffs()
    q[2] = 4 * radius
    for _ in range(5):
        q[2] -= float(system.gaps(q)[0])
    times = math.pi / rate
    run = hs.Simulation(system).run(q, t_end=times, sampling_period=times / 20)
    tilt = np.array([pin.log3(pin.Quaternion(x[3:7]).matrix())[1] for x in run.q])
    assert tilt == pytest.approx(0.02 * np.cos(rate * run.t), abs=2e-4)
    assert run.check().ok
