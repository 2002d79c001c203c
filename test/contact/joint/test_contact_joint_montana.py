# SPDX-License-Identifier: Apache-2.0
"""Contact joints against Montana's equations, integrated to 1e-12."""

from __future__ import annotations

from dataclasses import replace

import montana
import numpy as np
import pinocchio as pin
import pytest
from montana import Chart, distance

from humans_sim.contact.joint.contact_joint import (
    ContactJoint,
    JointState,
    contact_velocity,
)
from humans_sim.contact.joint.surface_shapes import Cone, Cylinder, Plane, Sphere, Torus
from humans_sim.contact.joint.surfaces import Ellipsoid


def place(*numbers: float) -> pin.SE3:
    """A placement from a translation and a rotation vector."""
    six = np.array(numbers)
    return pin.SE3(pin.exp3(six[3:]), six[:3])


ONE = place(0.3, -0.2, 0.5, 0.4, 1.0, -0.3)
TWO = place(-0.1, 0.4, 0.2, -0.8, 0.3, 1.2)
PAIRS = {
    "sphere-plane": (Plane(ONE), montana.Flat(), Sphere(0.3, TWO), montana.sphere(0.3)),
    "sphere-sphere": (
        Sphere(0.5, ONE),
        montana.sphere(0.5),
        Sphere(0.3, TWO),
        montana.sphere(0.3),
    ),
    "cylinder-cylinder": (
        Cylinder(0.5, ONE),
        montana.cylinder(0.5),
        Cylinder(0.3, TWO),
        montana.cylinder(0.3),
    ),
    "cylinder-sphere": (
        Cylinder(0.5, ONE),
        montana.cylinder(0.5),
        Sphere(0.3, TWO),
        montana.sphere(0.3),
    ),
    "cone-sphere": (
        Cone(0.5, ONE),
        montana.cone(0.5),
        Sphere(0.3, TWO),
        montana.sphere(0.3),
    ),
    "torus-plane": (
        Plane(ONE),
        montana.Flat(),
        Torus(0.5, 0.2, TWO),
        montana.torus(0.5, 0.2),
    ),
    "ellipsoid-plane": (
        Plane(ONE),
        montana.Flat(),
        Ellipsoid((0.5, 0.4, 0.3), TWO),
        montana.ellipsoid(0.5, 0.4, 0.3),
    ),
    "ellipsoid-ellipsoid": (
        Ellipsoid((0.6, 0.5, 0.7), ONE),
        montana.ellipsoid(0.6, 0.5, 0.7),
        Ellipsoid((0.5, 0.4, 0.3), TWO),
        montana.ellipsoid(0.5, 0.4, 0.3),
    ),
}
STRAIGHT = contact_velocity((0.1, -0.05), (0.3, 0.4))
PIVOTING = contact_velocity((0.1, -0.05), (0.3, 0.4), 0.2)


def made(name: str, axes: str = "first") -> tuple[ContactJoint, JointState, Chart]:
    """Joint, start and charts of a pair."""
    one, chart1, two, chart2 = PAIRS[name]
    joint = ContactJoint(one, two, axes=axes)
    v = 1.2 if name.startswith("cone") else 0.4
    start = joint.start(
        one.placement.act(chart1.derivatives(0.3, v)[0]),
        two.placement.act(chart2.derivatives(0.7, 0.2)[0]),
        0.6,
    )
    return joint, start, (chart1, chart2)


def error(
    joint: ContactJoint,
    state: JointState,
    velocity: np.ndarray,
    count: int,
    truth: pin.SE3,
) -> float:
    """Difference after one second in a number of steps."""
    for _ in range(count):
        state = joint.step(state, velocity, 1 / count)
    return distance(state.relative, truth)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("velocity", [STRAIGHT, PIVOTING], ids=["straight", "pivoting"])
def test_montana(name: str, velocity: np.ndarray) -> None:
    """Sliding, rolling and pivoting at once, within 1e-8 of the equations."""
    joint, start, charts = made(name)
    truth = montana.montana(joint, charts, start, velocity, 1.0)
    assert error(joint, start, velocity, 32, truth) < 1e-8


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("sphere-plane", "second"),
        ("cone-sphere", "first_lines"),
        ("cylinder-sphere", "second"),
        ("torus-plane", "second_lines"),
        ("torus-plane", "second"),
    ],
)
def test_montana_in_other_axes(name: str, axes: str) -> None:
    """The velocity stays the same in axes that go with one surface or its lines."""
    joint, start, charts = made(name, axes)
    truth = montana.montana(joint, charts, start, PIVOTING, 1.0)
    assert error(joint, start, PIVOTING, 32, truth) < 1e-8


@pytest.mark.parametrize(
    ("name", "velocity"),
    [
        ("sphere-plane", PIVOTING),
        ("sphere-sphere", PIVOTING),
        ("cylinder-sphere", PIVOTING),
        ("cylinder-cylinder", STRAIGHT),
    ],
)
def test_typed_contacts_are_exact_in_one_step(name: str, velocity: np.ndarray) -> None:
    """Where curvatures do not change in the contact frame, one step is the motion."""
    joint, start, charts = made(name)
    truth = montana.montana(joint, charts, start, 3.0 * velocity, 1.0)
    assert error(joint, start, 3.0 * velocity, 1, truth) < 1e-11


@pytest.mark.parametrize("name", ["cone-sphere", "torus-plane"])
def test_circles_of_cone_and_torus_are_exact_in_one_step(name: str) -> None:
    """Rolling around the axis, in the axes of the lines of curvature."""
    axes = "first_lines" if name == "cone-sphere" else "second_lines"
    joint, start, charts = made(name, axes)
    velocity = contact_velocity(rolling=(0.0, 2.0))
    truth = montana.montana(joint, charts, start, velocity, 1.0)
    assert error(joint, start, velocity, 1, truth) < 1e-11


@pytest.mark.parametrize(
    ("update", "order", "counts"),
    [("lie", 4, (8, 16, 32)), ("torus", 1, (32, 64, 128))],
)
def test_orders(update: str, order: int, counts: tuple[int, ...]) -> None:
    """Error by halving the step on two ellipsoids, corrected after each step."""
    joint, start, charts = made("ellipsoid-ellipsoid")
    truth = montana.montana(joint, charts, start, PIVOTING, 1.0)
    other = replace(joint, update=update)
    errors = [error(other, start, PIVOTING, count, truth) for count in counts]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, order, atol=0.2)


def test_planewise_speeds_do_not_converge_for_inclined_planes() -> None:
    """The article's speeds: right where planes agree, off by a fixed part elsewhere."""
    joint, start, charts = made("ellipsoid-plane")
    truth = montana.montana(joint, charts, start, PIVOTING, 1.0)
    article = replace(joint, update="article")
    torus = replace(joint, update="torus")
    same = error(torus, start, PIVOTING, 64, truth)
    assert error(article, start, PIVOTING, 64, truth) == pytest.approx(same)

    joint, start, charts = made("ellipsoid-ellipsoid")
    truth = montana.montana(joint, charts, start, PIVOTING, 1.0)
    article = replace(joint, update="article")
    coarse = error(article, start, PIVOTING, 64, truth)
    assert error(article, start, PIVOTING, 128, truth) == pytest.approx(coarse, rel=0.1)
    assert coarse > 0.01
