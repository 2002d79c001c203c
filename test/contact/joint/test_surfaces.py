# SPDX-License-Identifier: Apache-2.0
"""Surfaces: nearest points, normals, curvatures, walks."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.joint.surface_shapes import (
    Cone,
    Cylinder,
    Inside,
    Plane,
    Sphere,
    Torus,
)
from humans_sim.contact.joint.surfaces import (
    Ellipsoid,
    ImplicitSurface,
    Surface,
    SurfaceError,
)
from humans_sim.core.errors import ParameterError


def wavy() -> ImplicitSurface:
    """Hills: z = 0.1 sin 2x cos 3y."""

    def gradient(p: np.ndarray) -> np.ndarray:
        return np.array(
            [
                -0.2 * np.cos(2 * p[0]) * np.cos(3 * p[1]),
                0.3 * np.sin(2 * p[0]) * np.sin(3 * p[1]),
                1.0,
            ]
        )

    def hessian(p: np.ndarray) -> np.ndarray:
        xx = 0.4 * np.sin(2 * p[0]) * np.cos(3 * p[1])
        yy = 0.9 * np.sin(2 * p[0]) * np.cos(3 * p[1])
        xy = 0.6 * np.cos(2 * p[0]) * np.sin(3 * p[1])
        return np.array([[xx, xy, 0.0], [xy, yy, 0.0], [0.0, 0.0, 0.0]])

    return ImplicitSurface(
        lambda p: p[2] - 0.1 * np.sin(2 * p[0]) * np.cos(3 * p[1]),
        gradient,
        hessian,
        place(),
    )


def place() -> pin.SE3:
    """A placement that is neither here nor there."""
    turn = pin.exp3(np.array([0.3, -1.1, 0.7]))
    return pin.SE3(turn, np.array([0.4, -0.2, 0.9]))


SURFACES: dict[str, Surface] = {
    "plane": Plane(place()),
    "sphere": Sphere(0.4, place()),
    "cylinder": Cylinder(0.3, place()),
    "cone": Cone(0.5, place()),
    "torus": Torus(0.8, 0.3, place()),
    "ellipsoid": Ellipsoid((0.5, 0.4, 0.3), place()),
    "bowl": Inside(Sphere(0.7, place())),
    "groove": Inside(Torus(0.8, 0.3, place())),
    "wavy": wavy(),
}
TYPED = ["plane", "sphere", "cylinder", "cone", "torus", "bowl", "groove"]


def near(surface: Surface, rng: np.random.Generator) -> np.ndarray:
    """A point near the surface."""
    if isinstance(surface, ImplicitSurface):
        point = np.array([*rng.uniform(-1, 1, 2), rng.uniform(-0.1, 0.1)])
    else:
        point = rng.normal(size=3)
        point[2] = abs(point[2]) + 0.3
        point = surface.placement.actInv(surface.at(surface.placement.act(point)).point)
        point *= 1.03
    return surface.placement.act(point)


@pytest.mark.parametrize("name", SURFACES)
def test_normal_and_curvatures(name: str) -> None:
    """The foot is the nearest point; the normal turns by the curvatures."""
    surface, rng, step = SURFACES[name], np.random.default_rng(4), 1e-5
    for _ in range(20):
        point = near(surface, rng)
        place = surface.at(point)
        e1, e2 = place.axes.T
        np.testing.assert_allclose(np.cross(e1, e2), place.normal, atol=1e-12)
        off = np.cross(point - place.point, place.normal)
        assert np.abs(off).max() < 1e-9
        np.testing.assert_allclose(
            surface.at(place.point).point, place.point, atol=1e-14
        )
        for axis, curvature in zip((e1, e2), place.curvatures, strict=True):
            ahead = surface.at(place.point + step * axis)
            behind = surface.at(place.point - step * axis)
            slope = (ahead.normal - behind.normal) / (2 * step)
            np.testing.assert_allclose(slope, curvature * axis, atol=3e-8)


@pytest.mark.parametrize("name", ["plane", "cylinder", "cone", "torus", "groove"])
def test_turning_of_the_lines_of_curvature(name: str) -> None:
    """How fast e1 and e2 turn about the normal, by differences."""
    surface, rng, step = SURFACES[name], np.random.default_rng(5), 1e-5
    for _ in range(10):
        place = surface.at(near(surface, rng))
        for axis, turning in zip(place.axes.T, place.turning, strict=True):
            ahead = surface.at(place.point + step * axis).axes[:, 0]
            behind = surface.at(place.point - step * axis).axes[:, 0]
            slope = place.axes[:, 1] @ (ahead - behind) / (2 * step)
            assert slope == pytest.approx(turning, abs=1e-8)


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("side", [1, -1])
def test_walks_never_leave_typed_surfaces(name: str, side: int) -> None:
    """Steps of any length, without any correction."""
    surface, rng = SURFACES[name], np.random.default_rng(6)
    for size in (1e-3, 0.1, 2.0):
        frame = surface.frame(near(surface, rng), side, 0.4)
        for _ in range(50):
            # On a cone, never towards the apex.
            e2 = frame.rotation[:, :2].T @ surface.at(frame.translation).axes[:, 1]
            step = size * rng.normal(size=2)
            step += 2 * max(0.0, -e2 @ step) * e2
            frame = surface.walk(frame, step, side)
        height, angle = surface.misfit(frame, side)
        scale = 1 + np.abs(frame.translation).max()
        assert abs(height) < 1e-13 * scale
        assert angle < 1e-13


@pytest.mark.parametrize("name", ["cone", "torus", "groove"])
def test_walks_do_not_turn_about_the_normal(name: str) -> None:
    """One exact walk along a circle is many small arcs of the torus approximation."""
    surface = SURFACES[name]
    start = surface.frame(near(surface, np.random.default_rng(7)), 1)
    whole = surface.walk(start, np.array([0.2, 0.0]))
    errors = []
    for count in (50, 100):
        frame = start
        for _ in range(count):
            # The direction of the circle, as the frame sees it without turning.
            e1 = frame.rotation[:, :2].T @ surface.at(frame.translation).axes[:, 0]
            frame = Surface.walk(surface, frame, 0.2 / count * e1)
            frame = surface.settle(frame)
        errors.append(np.abs(frame.homogeneous - whole.homogeneous).max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_settle_is_the_least_rotation() -> None:
    """A lifted and tilted frame comes back, its x axis as near as it can be."""
    surface = SURFACES["ellipsoid"]
    frame = surface.frame(surface.placement.act(np.array([0.3, 0.2, 0.2])), 1, 0.3)
    tilt = pin.exp3(np.array([0.2, -0.1, 0.0]))
    off = frame * pin.SE3(tilt, np.array([0.0, 0.0, 0.05]))
    back = surface.settle(off)
    assert surface.misfit(back)[0] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(back.rotation, frame.rotation, atol=1e-12)
    np.testing.assert_allclose(back.translation, frame.translation, atol=1e-12)


def test_ellipsoid_as_an_implicit_surface() -> None:
    """Two ways to the same nearest point and curvatures."""
    squares = np.array([0.25, 0.16, 0.09])
    general = ImplicitSurface(
        lambda p: p @ (p / squares) - 1,
        lambda p: 2 * p / squares,
        lambda p: np.diag(2 / squares),
    )
    own, rng = Ellipsoid((0.5, 0.4, 0.3)), np.random.default_rng(8)
    for _ in range(50):
        point = rng.normal(size=3)
        point *= 1.2 / np.sqrt(point @ (point / squares))
        a, b = own.at(point), general.at(point)
        np.testing.assert_allclose(a.point, b.point, atol=1e-13)
        np.testing.assert_allclose(a.curvatures, b.curvatures, atol=1e-11)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sphere(-1.0),
        lambda: Sphere(0.0),
        lambda: Sphere(float("nan")),
        lambda: Cylinder(-0.1),
        lambda: Cone(0.0),
        lambda: Cone(np.pi / 2),
        lambda: Torus(0.2, 0.5),
        lambda: Torus(-0.2, 0.1),
        lambda: Ellipsoid((1.0, 1.0, -1.0)),
        lambda: Sphere(1.0, np.eye(4)),
        lambda: Plane(pin.SE3(2 * np.eye(3), np.zeros(3))),
        lambda: Inside(3.0),
    ],
)
def test_bad_surfaces(make: object) -> None:
    """Shapes that are none."""
    with pytest.raises(ParameterError):
        make()


def test_places_without_a_normal() -> None:
    """Centres, axes and apexes have no nearest point."""
    for surface in (Sphere(1.0), Cylinder(1.0), Cone(0.3), Ellipsoid((1.0, 2.0, 3.0))):
        with pytest.raises(SurfaceError):
            surface.at(np.zeros(3))
    with pytest.raises(SurfaceError):
        Torus(1.0, 0.2).at(np.array([1.0, 0.0, 0.0]))
    with pytest.raises(SurfaceError, match="3 semi-axes"):
        Ellipsoid((1.0, 2.0))
    never = ImplicitSurface(
        lambda p: p @ p + 1, lambda p: 2 * p, lambda p: 2 * np.eye(3)
    )
    with pytest.raises(SurfaceError, match="no point of the surface"):
        never.at(np.array([1.0, 0.0, 0.0]))
