# SPDX-License-Identifier: Apache-2.0
"""Arrays in every legal form go through pinocchio; others are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.bodies import MassProperties
from humans_sim.contact.joint.contact_joint import ContactJoint, contact_velocity
from humans_sim.contact.joint.joint_types import (
    body_wrenches,
    relative_velocity,
    revolute,
)
from humans_sim.contact.joint.surface_shapes import Sphere
from humans_sim.contact.joint.surfaces import Surface, SurfacePoint
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.dynamics.scenes import SceneBody, SceneSystem


def strided(values: np.ndarray) -> np.ndarray:
    """Every second element of a larger array, backwards."""
    wide = np.full([2 * n for n in values.shape], np.nan)
    view = wide[tuple(slice(None, None, -2) for _ in values.shape)]
    view[:] = values
    return view


def read_only(values: np.ndarray) -> np.ndarray:
    """A copy that nobody may write to."""
    copy = values.copy()
    copy.setflags(write=False)
    return copy


FORMS: dict[str, Callable[[np.ndarray], object]] = {
    "list": np.ndarray.tolist,
    "fortran": np.asfortranarray,
    "strided": strided,
    "read-only": read_only,
    "big-endian": lambda values: values.astype(">f8"),
    "float32": lambda values: values.astype(np.float32),
    "float16": lambda values: values.astype(np.float16),
    "longdouble": lambda values: values.astype(np.longdouble),
    "int": lambda values: values.astype(int),
    "object": lambda values: values.astype(object),
    "complex": lambda values: values.astype(complex),
}
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""A quarter turn: exact in every form."""


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[np.ndarray], object]:
    """A way to write the same numbers."""
    return FORMS[request.param]


def test_pinocchio_takes_them(form: Callable[[np.ndarray], object]) -> None:
    """The array of any form builds a placement."""
    placement = pin.SE3(real_array(form(TURN), "turn"), np.zeros(3))
    np.testing.assert_array_equal(placement.rotation, TURN)


def test_float64_is_not_copied() -> None:
    """An array that fits already is passed on, views and read-only ones too."""
    for values in (TURN, TURN.T, strided(TURN), read_only(TURN)):
        assert real_array(values, "turn") is values


@pytest.mark.parametrize("name", FORMS)
def test_a_model_takes_them(name: str, khr1: hs.Model) -> None:
    """Configurations, velocities and accelerations of a model may have any form."""
    form = FORMS[name]
    q = khr1.neutral()
    q[2] = 0.25  # exact in float16
    whole = np.round(q) if name == "int" else q
    v = np.arange(khr1.nv) % 3 - 1.0
    calls: dict[str, tuple[np.ndarray, ...]] = {
        "inertia": (whole,),
        "nl_effects": (whole, v),
        "inverse_dynamics": (whole, v, v),
        "contact_hessian": (whole, v, v),
        "integrate": (whole, v),
        "tags": (whole,),
    }
    for method, arguments in calls.items():
        result = getattr(khr1, method)(*(form(a) for a in arguments))
        np.testing.assert_array_equal(result, getattr(khr1, method)(*arguments))
    place = khr1.base_footprint(form(whole)).homogeneous
    np.testing.assert_array_equal(place, khr1.base_footprint(whole).homogeneous)


@dataclass(frozen=True, eq=False)
class Floor(Surface):
    """A plane of one's own, which writes its numbers in some form."""

    placement: pin.SE3
    form: Callable[[np.ndarray], object]

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The point below."""
        numbers = (np.array([*point[:2], 0.0]), np.eye(3)[2], np.eye(3)[:, :2])
        return SurfacePoint(*(self.form(one) for one in (*numbers, np.zeros(2))))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("update", ["lie", "torus"])
def test_a_surface_of_ones_own_takes_them(name: str, update: str) -> None:
    """A ball rolls on a plane by a whole metre, whatever type its numbers have."""
    form = FORMS[name]
    joint = ContactJoint(Floor(pin.SE3.Identity(), form), Sphere(0.5), update=update)
    state = joint.start(form(np.zeros(3)), (0.0, 0.0, -0.5))
    velocity = contact_velocity(rolling=(0.0, 2.0))
    state = joint.step(state, form(velocity), 1.0)
    np.testing.assert_allclose(state.first.translation, [1.0, 0.0, 0.0], atol=1e-12)


def test_joints_take_them(form: Callable[[np.ndarray], object]) -> None:
    """Wrenches, velocities and coordinates of joints may have any form."""
    joint, six = revolute(), np.arange(6.0)
    state = joint.place(form(np.ones(1)))
    np.testing.assert_allclose(joint.coordinates(state), [1.0])
    expected = relative_velocity(state, six, 2 * six)
    result = relative_velocity(state, form(six), form(2 * six))
    np.testing.assert_array_equal(result, expected)
    for one, other in zip(
        body_wrenches(state, form(six)), body_wrenches(state, six), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_scenes_take_them(form: Callable[[np.ndarray], object]) -> None:
    """Places and rotations of bodies may have any form."""
    place = np.array([0.0, 1.0, 2.0])
    mass = MassProperties(1.0, form(np.zeros(3)), form(np.eye(3)))
    system = SceneSystem([SceneBody("box", mass, np.zeros((1, 3)))])
    q = system.configuration({"box": form(place)}, rotations={"box": form(TURN)})
    pose = system.pose(q, "box")
    np.testing.assert_array_equal(pose.translation, place)
    np.testing.assert_allclose(pose.rotation, TURN, atol=1e-15)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0, 3.0j], "thing: must be real numbers, not complex ones"),
        ([1.0, 2.0], r"thing: must be 3 finite numbers, not \(2,\)"),
        ([1.0, 2.0, np.nan], "thing: must be finite numbers, not nan"),
        ([1.0, 2.0, "far"], "thing: must be numbers, not"),
        ([[1.0], [2.0, 3.0]], "thing: must be numbers, not"),
        (None, "thing: "),
        ([1.0, 2.0, 10**400], "thing: must be numbers, not"),
    ],
)
def test_what_is_refused(values: object, message: str) -> None:
    """What has no place in pinocchio is refused by its name, in one line."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        finite_array(values, (3,), "thing")
    with pytest.raises(hs.errors.ConfigurationError, match=message):
        finite_array(values, (3,), "thing", hs.errors.ConfigurationError)
