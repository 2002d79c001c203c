# SPDX-License-Identifier: Apache-2.0
"""Contact joints of bodies in place: found, or refused where there is no contact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.joint.contact_joint import (
    ContactJoint,
    JointState,
    contact_velocity,
)
from humans_sim.contact.joint.surface_shapes import Cylinder, Inside, Plane, Sphere
from humans_sim.contact.joint.surfaces import (
    CurvatureSumError,
    Ellipsoid,
    NoContactError,
    SurfaceError,
)
from humans_sim.core.errors import HumansError, ParameterError


def test_bodies_in_place_are_joined() -> None:
    """The contact of placed bodies is found; apart and overlapping ones are refused."""
    joint = ContactJoint(Ellipsoid((1.0, 2.0, 0.6)), Ellipsoid((0.2, 0.3, 0.4)))
    state = joint.start((0.5, 1.0, 0.4), (0.1, 0.2, 0.3), 0.5)
    joined = joint.join(state.relative)
    np.testing.assert_allclose(
        joined.first.translation, state.first.translation, atol=1e-12
    )
    np.testing.assert_allclose(
        joined.relative.homogeneous, state.relative.homogeneous, atol=1e-12
    )
    for gap in (0.02, -0.01):
        lifted = state.first * pin.SE3(np.eye(3), np.array([0.0, 0.0, gap]))
        with pytest.raises(NoContactError) as caught:
            joint.join(lifted * state.second.inverse())
        assert caught.value.gap == pytest.approx(gap, abs=1e-12)
        assert caught.value.angle < 1e-12
    assert "overlap" in str(caught.value)


def test_a_joined_frame_follows_the_chosen_lines() -> None:
    """The x axis lies along e1 of the second surface."""
    joint = ContactJoint(Plane(), Cylinder(0.3), axes="second_lines")
    state = joint.start((0.2, 0.1, 0.0), (0.0, 0.3, 0.7), 0.9)
    for joined in (state, joint.join(state.relative, near=state.first.translation)):
        e1 = joint.second.at(joined.second.translation).axes[:, 0]
        np.testing.assert_allclose(joined.second.rotation[:, 0], e1, atol=1e-12)
        np.testing.assert_allclose(
            joined.relative.homogeneous, state.relative.homogeneous, atol=1e-12
        )


def test_tilted_planes_do_not_touch() -> None:
    """The angle between the normals is said."""
    joint = ContactJoint(Plane(), Plane())
    upside_down = pin.SE3(pin.utils.rotate("x", np.pi - 0.1), np.zeros(3))
    with pytest.raises(NoContactError) as caught:
        joint.join(upside_down)
    assert caught.value.angle == pytest.approx(0.1)
    with pytest.raises(SurfaceError, match="near="):
        ContactJoint(Sphere(1.0), Sphere(0.5)).join(pin.SE3.Identity())


def test_surfaces_that_conform_or_cross() -> None:
    """Curvatures that sum to zero or less have no single contact point."""
    same = ContactJoint(Inside(Sphere(0.5)), Sphere(0.5))
    with pytest.raises(CurvatureSumError, match="conform"):
        same.start((0.5, 0.0, 0.0), (0.5, 0.0, 0.0))
    bearing = ContactJoint(Inside(Cylinder(0.5)), Cylinder(0.5))
    with pytest.raises(CurvatureSumError, match="conform"):
        bearing.start((0.5, 0.0, 0.0), (0.5, 0.0, 0.0))
    large = ContactJoint(Inside(Sphere(0.5)), Sphere(0.6))
    with pytest.raises(CurvatureSumError, match="cross") as caught:
        large.start((0.5, 0.0, 0.0), (0.6, 0.0, 0.0))
    assert caught.value.total == pytest.approx(1 / 0.6 - 1 / 0.5)
    fits = ContactJoint(Inside(Sphere(0.5)), Sphere(0.2))
    state = fits.start((0.5, 0.0, 0.0), (0.2, 0.0, 0.0))
    state = fits.step(state, contact_velocity((0.1, 0.3), (1.0, 2.0), 3.0), 0.4)
    assert np.linalg.norm(state.relative.translation) == pytest.approx(0.3, abs=1e-15)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ContactJoint(Plane(), 3.0),
        lambda: ContactJoint(Plane(), Sphere(1.0), axes="third"),
        lambda: ContactJoint(Plane(), Sphere(1.0), update="euler"),
        lambda: ContactJoint(Plane(), Sphere(1.0)).start((0.0, 0.0), (0.0, 0.0, 1.0)),
        lambda: ContactJoint(Plane(), Sphere(1.0)).start(
            (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), np.nan
        ),
        lambda: ContactJoint(Plane(), Sphere(1.0)).join(np.eye(4)),
        lambda: rolled(np.zeros(5), 0.1),
        lambda: rolled(np.full(6, np.nan), 0.1),
        lambda: rolled(np.zeros(6), np.inf),
        lambda: rolled(contact_velocity(rolling=(0.4, 0.9)), 0.1, axes="second_lines"),
    ],
)
def test_bad_input(bad: Callable[[], object]) -> None:
    """Typed errors, not numbers."""
    with pytest.raises(ParameterError) as caught:
        bad()
    assert isinstance(caught.value, HumansError)


def rolled(velocity: np.ndarray, dt: float, axes: str = "first") -> JointState:
    """One step of a sphere on a plane."""
    joint = ContactJoint(Plane(), Sphere(1.0), axes=axes)
    return joint.step(joint.start((0, 0, 0), (0, 0, 1.0)), velocity, dt)
