# SPDX-License-Identifier: Apache-2.0
"""Contours that roll and slide in a plane."""

from __future__ import annotations

import math

import numpy as np
import pytest

from humans_sim.contact.joint.contact_joint import ContactJoint, contact_velocity
from humans_sim.contact.joint.nearest import planar_speeds
from humans_sim.contact.joint.planar_contact import (
    Circle,
    Contour,
    Ellipse,
    Line,
    PlanarContact,
    PlanarState,
)
from humans_sim.contact.joint.surface_shapes import Cylinder
from humans_sim.contact.joint.surfaces import (
    CurvatureSumError,
    ForbiddenMotionError,
    SurfaceError,
)
from humans_sim.core.errors import ParameterError


def test_speeds() -> None:
    """The contact point satisfies both conditions, in the plane's case too."""
    for c1, c2, v, w in (
        (2.0, 3.0, 0.5, -0.7),
        (0.0, 4.0, 0.5, 0.7),
        (-1, 3, 0.2, 1.0),
    ):
        s1, s2 = planar_speeds(c1, c2, v, w)
        assert s1 - s2 == pytest.approx(v)
        assert c1 * s1 + c2 * s2 == pytest.approx(-w)
    assert planar_speeds(0.0, 4.0, 0.5, 0.7)[0] == pytest.approx(0.5 - 0.7 / 4.0)
    assert planar_speeds(0.0, 0.0, 0.5, 0.0) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("first", "height"), [(Line(), 0.2), (Circle(0.5), 0.7), (Circle(0.5, True), 0.3)]
)
def test_circles_and_lines_are_exact(first: Contour, height: float) -> None:
    """Ten thousand uncorrected steps of any length keep the distance of the middles."""
    contact = PlanarContact(first, Circle(0.2), correct=False)
    state, rng = contact.start((0.0, 0.5), (0.0, -0.2)), np.random.default_rng(1)
    worst = 0.0
    for k in range(10_000):
        back, dt = 1 - 2 * (k % 2), 10 ** rng.uniform(-4, 1)
        state = contact.step(state, back * rng.uniform(), back * rng.normal(), dt)
        x, y = state.relative()[:2, 2]
        apart = y if isinstance(first, Line) else math.hypot(x, y)
        worst = max(worst, abs(apart - height))
    assert worst < 1e-11


def test_a_wheel_rolls_on_a_line() -> None:
    """A turn of a wheel is its circumference, to the right when it turns clockwise."""
    contact = PlanarContact(Line(), Circle(0.2))
    state = contact.start((0.0, 0.0), (0.0, -0.2))
    state = contact.step(state, 0.0, -2 * math.pi, 1.0)
    np.testing.assert_allclose(
        state.relative()[:2, 2], [0.4 * math.pi, 0.2], atol=1e-15
    )
    np.testing.assert_allclose(state.relative()[:2, :2], np.eye(2), atol=1e-15)


def test_two_contours_are_a_section_of_two_surfaces() -> None:
    """Two parallel cylinders move in their section as two circles do."""
    flat = PlanarContact(Circle(0.5), Circle(0.2))
    planar = flat.start((0.3, 0.4), (0.1, -0.2))
    solid = ContactJoint(Cylinder(0.5), Cylinder(0.2), axes="second")
    state = solid.start((0.3, 0.4, 0.0), (0.1, -0.2, 0.0), math.pi)
    # t is -e1 of cylinder 1, and t x n points along its axis.
    for sliding, rolling in ((0.3, 0.0), (0.0, 0.8), (-0.4, 0.5)):
        planar = flat.step(planar, sliding, rolling, 0.7)
        x = state.first.rotation.T @ [0.0, 0.0, 1.0]
        t = np.cross([0.0, 0.0, 1.0], x)
        velocity = contact_velocity(sliding * t[:2], rolling * x[:2])
        state = solid.step(state, velocity, 0.7)
        np.testing.assert_allclose(
            state.relative.translation[:2], planar.relative()[:2, 2], atol=1e-14
        )
        np.testing.assert_allclose(
            state.relative.rotation[:2, :2], planar.relative()[:2, :2], atol=1e-14
        )


def rolled_ellipse(correct: bool, count: int) -> PlanarState:
    """An ellipse rolls on a line by 1.5 rad."""
    contact = PlanarContact(Line(), Ellipse((0.3, 0.2)), correct)
    state = contact.start((0.0, 0.0), (0.05, -0.2))
    for _ in range(count):
        state = contact.step(state, 0.0, -1.5, 1 / count)
    return state


def test_ellipse_on_a_line() -> None:
    """Order 1 without correction; with it, exact contact and a path of order 1."""
    gaps, places = [], []
    for count in (100, 200, 400):
        free = rolled_ellipse(False, count).relative()
        down = np.hypot(*(free[1, :2] * (0.3, 0.2)))
        gaps.append(abs(free[1, 2] - down))
        held = rolled_ellipse(True, count).relative()
        assert held[1, 2] == pytest.approx(
            np.hypot(*(held[1, :2] * (0.3, 0.2))), abs=1e-15
        )
        places.append(held[0, 2])
    assert gaps[0] / gaps[1] == pytest.approx(2.0, abs=0.1)
    assert gaps[1] / gaps[2] == pytest.approx(2.0, abs=0.1)
    change = (places[0] - places[1]) / (places[1] - places[2])
    assert change == pytest.approx(2.0, abs=0.1)


def test_bad_input() -> None:
    """Flat contours only slide; conforming and crossing ones have no contact point."""
    flat = PlanarContact(Line(), Line())
    state = flat.start((0.0, 0.0), (0.0, 0.0))
    slid = flat.step(state, 0.2, 0.0, 3.0)
    assert slid.relative()[0, 2] == pytest.approx(0.6)
    with pytest.raises(ForbiddenMotionError, match="flat"):
        flat.step(state, 0.0, 0.1, 1.0)
    with pytest.raises(CurvatureSumError, match="conform"):
        PlanarContact(Circle(0.5, True), Circle(0.5)).start((0.5, 0.0), (0.5, 0.0))
    with pytest.raises(CurvatureSumError, match="cross"):
        PlanarContact(Circle(0.5, True), Circle(0.6)).start((0.5, 0.0), (0.6, 0.0))
    with pytest.raises(ParameterError):
        Circle(-1.0)
    with pytest.raises(ParameterError):
        Ellipse((1.0, 0.0))
    with pytest.raises(SurfaceError):
        Circle(1.0).at(np.zeros(2))
    with pytest.raises(ParameterError):
        flat.start((0.0, math.nan), (0.0, 0.0))
    with pytest.raises(ParameterError):
        flat.step(state, math.inf, 0.0, 1.0)
