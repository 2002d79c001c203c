# SPDX-License-Identifier: Apache-2.0
"""Contact joints: contact is kept, errors have their order, motions are allowed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.joint.contact_joint import (
    ContactJoint,
    JointState,
    contact_velocity,
)
from humans_sim.contact.joint.surface_shapes import Cone, Cylinder, Plane, Sphere, Torus
from humans_sim.contact.joint.surfaces import Ellipsoid, ForbiddenMotionError

STEPS = 10_000


def sphere_over_plane(relative: pin.SE3) -> float:
    """Height of a sphere of 0.3 m over the plane."""
    return relative.translation[2] - 0.3


def axes_apart(relative: pin.SE3) -> float:
    """Between the axes of two cylinders, without their radii."""
    across = np.cross([0.0, 0.0, 1.0], relative.rotation[:, 2])
    across /= np.linalg.norm(across)
    return abs(relative.translation @ across) - 0.5 - 0.3


def cylinder_on_plane(relative: pin.SE3) -> float:
    """Height and slope of the axis of a cylinder of 0.3 m."""
    return max(
        abs(relative.translation[2] - 0.3), abs(relative.rotation[2, 2]), key=abs
    )


def sphere_on_torus(relative: pin.SE3) -> float:
    """From the middle of a sphere to the tube's, without their radii."""
    x, y, z = relative.translation
    return np.hypot(np.hypot(x, y) - 0.5, z) - 0.2 - 0.1


def sphere_on_cone(relative: pin.SE3) -> float:
    """From the middle of a sphere of 0.1 m to the cone."""
    x, y, z = relative.translation
    return np.hypot(x, y) * np.cos(0.5) - z * np.sin(0.5) - 0.1


def torus_on_plane(relative: pin.SE3) -> float:
    """Lowest point of a torus over a plane."""
    up = relative.rotation[2, 2]
    return relative.translation[2] - 0.5 * np.sqrt(1 - up * up) - 0.2


Gap = Callable[[pin.SE3], float]
KEPT: dict[str, tuple[ContactJoint, tuple[float, ...], tuple[float, ...], Gap]] = {
    "sphere-plane": (
        ContactJoint(Plane(), Sphere(0.3)),
        (0.0, 0.0, 0.0),
        (0.1, 0.2, 0.3),
        sphere_over_plane,
    ),
    "sphere-torus": (
        ContactJoint(Torus(0.5, 0.2), Sphere(0.1)),
        (0.6, 0.1, 0.1),
        (0.1, 0.2, 0.3),
        sphere_on_torus,
    ),
    "sphere-cone": (
        ContactJoint(Cone(0.5), Sphere(0.1)),
        (1.0, 0.3, 2.0),
        (0.1, 0.2, 0.3),
        sphere_on_cone,
    ),
    "cylinder-cylinder": (
        ContactJoint(Cylinder(0.5), Cylinder(0.3), pivoting=False),
        (0.5, 0.0, 0.0),
        (0.3, 0.0, 0.0),
        axes_apart,
    ),
    "cylinder-plane": (
        ContactJoint(Plane(), Cylinder(0.3), axes="second_lines"),
        (0.0, 0.0, 0.0),
        (0.3, 0.0, 0.0),
        cylinder_on_plane,
    ),
    "torus-plane": (
        ContactJoint(Plane(), Torus(0.5, 0.2), axes="second"),
        (0.0, 0.0, 0.0),
        (0.7, 0.0, 0.0),
        torus_on_plane,
    ),
}


@pytest.mark.study
@pytest.mark.parametrize("name", KEPT)
def test_contact_is_kept_whatever_the_step(name: str) -> None:
    """Ten thousand arcs about the axes of curvature, from a hair to a whole turn.

    Nothing is corrected: the frame stays on both surfaces by how it moves. Motions that
    would run into the apex of the cone or on to the flat top of the torus go back and
    forth.
    """
    joint, one, two, gap = KEPT[name]
    joint = ContactJoint(
        joint.first,
        joint.second,
        pivoting=joint.pivoting,
        axes=joint.axes,
        update="torus",
        correct=False,
    )
    state, rng = joint.start(one, two, 0.7), np.random.default_rng(1)
    gaps = []
    for k in range(STEPS):
        dt = 10.0 ** rng.uniform(-6, 0)
        sliding, rolling = rng.normal(size=2), rng.normal(size=2)
        pivoting = rng.normal() if joint.pivoting else 0.0
        if name == "cylinder-plane":
            rolling[0] = 0.0  # a line of contact rolls about itself alone
        elif name in ("sphere-cone", "torus-plane"):
            dt, back = 10.0 ** -(k // 2 % 4), 1.0 - 2.0 * (k % 2)
            surface = joint.first if name == "sphere-cone" else joint.second
            frame = state.first if name == "sphere-cone" else state.second
            e1, e2 = (frame.rotation[:, :2].T @ surface.at(frame.translation).axes).T
            sliding, rolling = rng.normal() * e1, back * e1 + rng.normal() * e2
        velocity = contact_velocity(sliding, rolling, pivoting)
        state = joint.step(state, velocity, dt)
        if k % 100 == 99:
            gaps.append(abs(gap(state.relative)))
    assert max(joint.misfit(state)) < 1e-12
    assert max(gaps) < 1e-12


@pytest.mark.parametrize("name", ["sphere-plane", "sphere-torus", "torus-plane"])
@pytest.mark.parametrize("dt", [1e-3, 0.1, 0.7])
def test_contact_is_kept_by_the_accurate_update(name: str, dt: float) -> None:
    """Runge-Kutta on the group, put back on the surfaces: exact to round-off."""
    joint, one, two, gap = KEPT[name]
    state = joint.start(one, two, 0.7)
    worst = 0.0
    for k in range(200):
        back = 1.0 - 2.0 * (k % 2)
        velocity = contact_velocity((0.1, 0.2 * back), (0.3 * back, 0.5), 0.1)
        state = joint.step(state, velocity, dt)
        worst = max(worst, abs(gap(state.relative)))
    reach = 1.0 + np.abs(state.first.translation).max()
    assert worst < 1e-14 * reach
    assert max(joint.misfit(state)) < 1e-15 * reach


def lowest(semi_axes: tuple[float, ...], relative: pin.SE3) -> float:
    """Lowest point of an ellipsoid over the plane z = 0."""
    down = relative.rotation[2]
    return relative.translation[2] - np.linalg.norm(np.array(semi_axes) * down)


def naive(
    joint: ContactJoint, state: JointState, velocity: np.ndarray, dt: float
) -> JointState:
    """Integrate the velocity of the body alone, then look for the contact again."""
    body = state.second.act(pin.Motion(velocity)).vector
    relative = state.relative * pin.exp6(body * dt)
    nearest = joint.nearest(relative, state.first.translation)
    return JointState(nearest.first, relative.actInv(nearest.first))


ROLL = contact_velocity(rolling=(0.4, 0.9))


def one_step(semi_axes: tuple[float, ...], dt: float) -> tuple[float, float]:
    """Gap [m] after one step: by the torus without correction, and naive."""
    joint = ContactJoint(Plane(), Ellipsoid(semi_axes), update="torus", correct=False)
    state = joint.start((0.0, 0.0, 0.0), (0.3, 0.2, -0.2), 0.3)
    torus = lowest(semi_axes, joint.step(state, ROLL, dt).relative)
    return abs(torus), abs(lowest(semi_axes, naive(joint, state, ROLL, dt).relative))


def test_one_step_on_a_general_surface() -> None:
    """Gap by halving the step: order 3 by curvature, order 2 naive."""
    shape = (0.5, 0.4, 0.3)
    steps = [0.1 / 2**k for k in range(5)]
    torus, wrong = np.array([one_step(shape, dt) for dt in steps]).T
    np.testing.assert_allclose(np.log2(torus[:-1] / torus[1:])[-2:], 3.0, atol=0.15)
    np.testing.assert_allclose(np.log2(wrong[:-1] / wrong[1:])[-2:], 2.0, atol=0.05)
    assert (torus < 0.05 * wrong).all()


def test_the_error_is_that_of_the_variation_of_curvature() -> None:
    """A sphere pulled longer: the error grows with its departure from the sphere.

    The naive error is there for the sphere already.
    """
    parts = np.array([0.0, 0.01, 0.02, 0.04])
    errors = [one_step((0.4 * (1 + e), 0.4, 0.4), 0.05) for e in parts]
    torus, wrong = np.array(errors).T
    assert torus[0] < 1e-15
    np.testing.assert_allclose(torus[1:] / parts[1:] / (torus[1] / 0.01), 1, atol=0.15)
    np.testing.assert_allclose(wrong / wrong[0], 1.0, atol=0.08)
    assert wrong[0] == pytest.approx(0.4 * (1 - np.cos(0.05 * np.hypot(0.4, 0.9))))


def test_one_second_on_a_general_surface() -> None:
    """Order 1 without correction, a third of the naive error; none with it."""
    shape = (0.5, 0.4, 0.3)
    gaps: dict[str, list[float]] = {"torus": [], "naive": [], "corrected": []}
    for count in (32, 64, 128):
        for kind, errors in gaps.items():
            joint = ContactJoint(
                Plane(), Ellipsoid(shape), update="torus", correct=kind == "corrected"
            )
            state = joint.start((0.0, 0.0, 0.0), (0.3, 0.2, -0.2), 0.3)
            for _ in range(count):
                if kind == "naive":
                    state = naive(joint, state, ROLL, 1 / count)
                else:
                    state = joint.step(state, ROLL, 1 / count)
            errors.append(abs(lowest(shape, state.relative)))
    for kind in ("torus", "naive"):
        rates = np.array(gaps[kind][:-1]) / gaps[kind][1:]
        np.testing.assert_allclose(rates, 2.0, atol=0.15)
    assert max(gaps["corrected"]) < 1e-15
    assert gaps["torus"][-1] < 0.4 * gaps["naive"][-1]


@pytest.mark.parametrize("side", [0.1, 0.3 * np.pi / 2, 1.0, 7.0])
@pytest.mark.parametrize("update", ["lie", "torus"])
@pytest.mark.parametrize("count", [1, 100])
def test_holonomy_of_a_sphere_around_a_square(
    side: float, update: str, count: int
) -> None:
    """The closed path brings the middle back, turned by a commutator of rotations.

    With f = side / radius: Rx(f) Ry(-f) Rx(-f) Ry(f), an angle of 4 asin(sin^2(f / 2))
    up to whole turns.
    """
    radius = 0.3
    joint = ContactJoint(
        Plane(), Sphere(radius), sliding=False, pivoting=False, update=update
    )
    state = joint.start((0.0, 0.0, 0.0), (0.0, 0.0, -radius))
    start = state.relative
    for direction in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        # To roll along x, turn about y.
        rolling = np.array([-direction[1], direction[0]]) * side / radius
        for _ in range(count):
            state = joint.step(state, contact_velocity(rolling=rolling), 1 / count)
    f = side / radius
    x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    turn = pin.exp3(f * x) @ pin.exp3(-f * y) @ pin.exp3(-f * x) @ pin.exp3(f * y)
    rotation = state.relative.rotation @ start.rotation.T
    np.testing.assert_allclose(rotation, turn, atol=1e-12)
    np.testing.assert_allclose(
        state.relative.translation, start.translation, atol=1e-12
    )
    angle = 4 * np.arcsin(np.sin(f / 2) ** 2)
    assert np.trace(rotation) == pytest.approx(1 + 2 * np.cos(angle), abs=1e-12)


@pytest.mark.parametrize("allowed", itertools.product([False, True], repeat=3))
def test_motions_are_allowed_one_by_one(allowed: tuple[bool, bool, bool]) -> None:
    """Basis and constraints fit the three permissions; what is forbidden is refused."""
    sliding, rolling, pivoting = allowed
    joint = ContactJoint(
        Plane(), Ellipsoid((0.5, 0.4, 0.3)), sliding, rolling, pivoting
    )
    state = joint.start((0.0, 0.0, 0.0), (0.1, 0.2, -0.3))
    basis, constraints = joint.basis(state), joint.constraints(state)
    assert basis.shape == (6, 2 * sliding + 2 * rolling + pivoting)
    assert constraints.shape == (6, 6 - basis.shape[1])
    np.testing.assert_allclose(constraints.T @ basis, 0.0, atol=1e-15)
    np.testing.assert_allclose(constraints.T @ constraints, np.eye(6 - basis.shape[1]))
    motions = {
        "sliding": contact_velocity(sliding=(0.1, 0.2)),
        "rolling": contact_velocity(rolling=(0.1, 0.2)),
        "pivoting": contact_velocity(pivoting=0.3),
    }
    for (name, velocity), may in zip(motions.items(), allowed, strict=True):
        if may:
            assert joint.misfit(joint.step(state, velocity, 0.1))[0] < 1e-15
            continue
        with pytest.raises(ForbiddenMotionError, match=name) as caught:
            joint.step(state, velocity, 0.1)
        assert all(name in motion for motion in caught.value.motions)
    with pytest.raises(ForbiddenMotionError, match="lifting"):
        joint.step(state, np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0]), 0.1)


def test_the_joint_moves_as_asked() -> None:
    """The relative velocity of the bodies is the one given.

    The article's plane-by-plane speeds agree where the principal planes do, and miss
    the twist of inclined ones.
    """
    velocity, dt = contact_velocity((0.1, -0.2), (0.3, 0.4), 0.5), 1e-6
    for angle in (0.0, 0.6, np.pi / 2):
        for update in ("lie", "torus", "article"):
            joint = ContactJoint(
                Ellipsoid((0.6, 0.5, 0.7)), Ellipsoid((0.5, 0.4, 0.3)), update=update
            )
            state = joint.start((0.3, 0.2, 0.5), (0.2, 0.3, 0.2), angle)
            ahead = joint.step(state, velocity, dt).relative
            behind = joint.step(state, velocity, -dt).relative
            twist = pin.log6(behind.actInv(ahead)) * (1 / (2 * dt))
            relative_velocity = state.second.actInv(twist).vector
            error = np.abs(relative_velocity - velocity).max()
            if update == "article" and angle == 0.6:
                assert error > 0.01
            else:
                assert error < 1e-8


def test_lines_and_planes_of_contact() -> None:
    """A cylinder rolls about its own line only, a plane on a plane not at all."""
    joint = ContactJoint(Plane(), Cylinder(0.3))
    state = joint.start((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), 0.4)
    basis = joint.basis(state)
    assert basis.shape == (6, 4)
    axis = state.second.rotation.T @ [0.0, 0.0, 1.0]
    np.testing.assert_allclose(abs(basis[3:5, 2] @ axis[:2]), 1.0)
    for rate in (0.5, -2.0):
        moved = joint.step(state, basis[:, 2] * rate, 1.0)
        distance = moved.first.translation - state.first.translation
        assert np.linalg.norm(distance) == pytest.approx(0.3 * abs(rate))
        assert distance[:2] @ axis[:2] == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(ForbiddenMotionError, match="lift"):
        joint.step(state, contact_velocity(rolling=np.array([-axis[1], axis[0]])), 0.1)

    joint = ContactJoint(Plane(), Plane())
    state = joint.start((0.0, 0.0, 0.0), (0.1, 0.2, 0.0))
    assert joint.basis(state).shape == (6, 3)
    slid = joint.step(state, contact_velocity((0.2, -0.1)), 2.0)
    np.testing.assert_allclose(slid.first.translation, [0.4, -0.2, 0.0])
    np.testing.assert_allclose(slid.second.translation, [0.1, 0.2, 0.0])
    with pytest.raises(ForbiddenMotionError, match="lift"):
        joint.step(state, contact_velocity(rolling=(0.1, 0.0)), 0.1)


@pytest.mark.parametrize("dt", [0.01, 1.0, 40.0])
def test_a_cone_rolls_about_its_apex(dt: float) -> None:
    """Rolling about the line of contact turns a cone about the normal at its apex."""
    half, rate = 0.4, 0.7
    joint = ContactJoint(Plane(), Cone(half), sliding=False, axes="second_lines")
    state = joint.start((0.0, 0.0, 0.0), (0.5 * np.tan(half), 0.0, 0.5))
    apex = state.relative.translation
    line = joint.basis(state)[:, 0]
    moved = joint.step(state, rate * line, dt).relative
    np.testing.assert_allclose(moved.translation, apex, atol=1e-12)
    axis, up = state.relative.rotation[:, 2], np.array([0.0, 0.0, 1.0])
    turning = np.cross(rate * state.first.rotation @ line[3:], axis)
    around = turning @ np.cross(up, axis) / np.cos(half) ** 2
    assert abs(around) == pytest.approx(rate * np.tan(half))
    turned = pin.exp3(around * dt * up) @ axis
    np.testing.assert_allclose(moved.rotation[:, 2], turned, atol=1e-12)
