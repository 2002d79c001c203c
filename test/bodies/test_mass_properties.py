# SPDX-License-Identifier: Apache-2.0
"""Mass, centre, inertia: closed forms, convergence, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from humans_sim.bodies import (
    BodyError,
    MassProperties,
    of_box,
    of_cylinder,
    of_mesh,
    of_particles,
    of_sphere,
)

SIZE = (0.2, 0.3, 0.5)
EXACT = {
    "sphere": (of_sphere(2.0, 0.25), trimesh.creation.icosphere(5, 0.25)),
    "box": (of_box(2.0, SIZE), trimesh.creation.box(SIZE)),
    "cylinder": (
        of_cylinder(2.0, 0.2, 0.6),
        trimesh.creation.cylinder(0.2, 0.6, sections=256),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_meshes_of_primitives(name: str) -> None:
    """Within a thousandth of the closed form, wherever the mesh is."""
    exact, mesh = EXACT[name]
    shift, turn = (
        np.array([3.0, -2.0, 5.0]),
        trimesh.transformations.euler_matrix(1, 2, 3),
    )
    placed = mesh.copy()
    placed.apply_transform(turn)
    placed.apply_translation(shift)
    properties = of_mesh(placed, mass=2.0)
    expected = exact.moved(turn[:3, :3], shift)
    np.testing.assert_allclose(properties.center, expected.center, atol=1e-9)
    error = (
        np.abs(properties.inertia - expected.inertia).max()
        / np.abs(expected.inertia).max()
    )
    assert error < 1e-3
    assert properties.mass == pytest.approx(2.0, rel=1e-12)


def test_a_mesh_is_exact_for_its_own_volume() -> None:
    """A box of triangles is a box; another library agrees on an odd shape."""
    box = of_mesh(trimesh.creation.box(SIZE), density=1000.0)
    assert box.mass == pytest.approx(30.0, rel=1e-12)
    np.testing.assert_allclose(box.inertia, of_box(30.0, SIZE).inertia, atol=1e-15)
    odd = trimesh.creation.annulus(0.1, 0.2, 0.3)
    odd.apply_translation([1.0, 2.0, 3.0])
    properties = of_mesh(odd, density=1.0)
    np.testing.assert_allclose(properties.center, odd.center_mass, rtol=1e-10)
    np.testing.assert_allclose(properties.inertia, odd.moment_inertia, atol=1e-12)


def box_of_particles(count: int) -> MassProperties:
    """Particles in the middles of the cells of a box."""
    ticks = (np.arange(count) + 0.5) / count - 0.5
    grid = np.stack(np.meshgrid(ticks, ticks, ticks), -1).reshape(-1, 3) * SIZE
    return of_particles(np.full(count**3, 2.0 / count**3), grid)


def test_particles_converge() -> None:
    """A box of more and more particles: the error falls with the square of the cell."""
    exact = of_box(2.0, SIZE).inertia
    errors = [np.abs(box_of_particles(n).inertia - exact).max() for n in (4, 8, 16)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.01)
    assert errors[-1] / exact.max() < 5e-3


def test_bodies_are_put_together() -> None:
    """Two halves of a box are the box."""
    half = of_box(1.0, (0.1, 0.3, 0.5))
    left = half.moved(np.eye(3), np.array([-0.05, 0.0, 0.0]))
    right = half.moved(np.eye(3), np.array([0.05, 0.0, 0.0]))
    both = left + right
    assert both.mass == 2.0
    np.testing.assert_allclose(both.center, 0.0, atol=1e-15)
    np.testing.assert_allclose(both.inertia, of_box(2.0, SIZE).inertia, atol=1e-15)


def holed() -> trimesh.Trimesh:
    """A box without one of its triangles."""
    mesh = trimesh.creation.box(SIZE)
    mesh.update_faces(np.arange(len(mesh.faces)) > 0)
    return mesh


def inverted() -> trimesh.Trimesh:
    """A box turned inside out."""
    mesh = trimesh.creation.box(SIZE)
    mesh.invert()
    return mesh


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: of_mesh(holed(), mass=1.0), "open: 3 edges"),
        (lambda: of_mesh(inverted(), mass=1.0), "inside out"),
        (lambda: of_mesh(trimesh.Trimesh(), mass=1.0), "open: 0 edges"),
        (lambda: of_mesh(trimesh.creation.box(SIZE)), "either the density"),
        (lambda: of_mesh(trimesh.creation.box(SIZE), mass=-1.0), "mass must be pos"),
        (lambda: of_sphere(-1.0, 0.1), "mass must be positive, not -1.0"),
        (lambda: of_sphere(1.0, 0.0), "radius must be positive"),
        (lambda: of_sphere(np.nan, 0.1), "mass must be positive"),
        (lambda: of_box(1.0, (1.0, 2.0)), "the size: must be 3 finite"),
        (lambda: of_cylinder(1.0, 0.1, -0.2), "length must be positive"),
        (lambda: of_particles([1.0, -1.0], np.eye(3)[:2]), "particle 1 has a negative"),
        (lambda: of_particles([0.0, 0.0], np.eye(3)[:2]), "have no mass"),
        (lambda: of_particles([1.0, 1.0], np.eye(3)[:2]), "lie on a line"),
        (lambda: MassProperties(1.0, np.zeros(3), -np.eye(3)), "must be positive"),
        (
            lambda: MassProperties(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])),
            "above the sum",
        ),
        (
            lambda: MassProperties(1.0, np.zeros(3), np.ones((2, 2))),
            "the inertia: must be 3 x 3",
        ),
        (
            lambda: MassProperties(1.0, np.zeros(3), np.triu(np.ones((3, 3)))),
            "symmetric",
        ),
    ],
)
def test_what_no_body_is(make: object, words: str) -> None:
    """Each fault is named."""
    with pytest.raises(BodyError, match=words):
        make()  # type: ignore[operator]
