# SPDX-License-Identifier: Apache-2.0
"""Distances, normals and curvatures of solids; scenes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.solids import distance


def measure(solid: hs.Box | hs.HalfSpace, point: np.ndarray):
    """Distance, normal, Hessian."""
    normal, hessian = np.empty(3), np.empty((3, 3))
    signed = distance(solid.row(), np.asarray(point, float), normal, hessian)
    return signed, normal, hessian


def test_half_space() -> None:
    """Height over a tilted plane."""
    plane = hs.HalfSpace((0.0, -3.0, 4.0), (0.0, 0.0, 1.0))
    signed, normal, hessian = measure(plane, np.array([5.0, 0.0, 2.0]))
    assert signed == pytest.approx(0.8)
    np.testing.assert_allclose(normal, [0.0, -0.6, 0.8])
    assert not hessian.any()


def test_box_faces_edges_corners() -> None:
    """Known distances around a box, inside it too."""
    box = hs.Box((2.0, 4.0, 6.0), (1.0, 0.0, 0.0))
    assert measure(box, [1.0, 0.0, 5.0])[0] == pytest.approx(2.0)
    assert measure(box, [5.0, 5.0, 0.0])[0] == pytest.approx(math.hypot(3, 3))
    assert measure(box, [3.0, 3.0, 4.0])[0] == pytest.approx(math.sqrt(3))
    inside, normal, _ = measure(box, [1.9, 0.0, 0.0])
    assert inside == pytest.approx(-0.1)
    np.testing.assert_allclose(normal, [1.0, 0.0, 0.0])


def test_gradient_and_hessian_by_differences() -> None:
    """Normal and curvature are the derivatives of the distance, everywhere outside."""
    rng = np.random.default_rng(2)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    box = hs.Box((0.5, 0.8, 0.3), (0.1, -0.2, 0.3), rotation=turn)
    step = 1e-5
    for _ in range(200):
        point = rng.uniform(-1, 1, 3)
        signed, normal, hessian = measure(box, point)
        if signed < 0.05:
            continue
        for axis in np.eye(3):
            ahead, n_ahead, _ = measure(box, point + step * axis)
            behind, n_behind, _ = measure(box, point - step * axis)
            assert (ahead - behind) / 2 / step == pytest.approx(normal @ axis, abs=1e-6)
            if np.abs(n_ahead - n_behind).max() < 1e-3:
                np.testing.assert_allclose(
                    (n_ahead - n_behind) / 2 / step, hessian @ axis, atol=1e-4
                )


def test_scenes() -> None:
    """Steps climb, a chair has a seat and a back, a slope a slanted normal."""
    stairs = hs.Ground().with_steps(3, 0.1, 0.3, 1.0)
    assert [s.name for s in stairs.solids] == ["ground", "step_0", "step_1", "step_2"]
    for x, height in ((1.1, 0.1), (1.4, 0.2), (1.7, 0.3)):
        point = np.array([x, 0.0, height + 0.02])
        nearest = min(measure(solid, point)[0] for solid in stairs.solids)
        assert nearest == pytest.approx(0.02)
    chair = hs.Ground().with_chair(0.0, 0.45)
    seat = chair.solids[1]
    assert measure(seat, np.array([-0.2, 0.0, 0.5]))[0] == pytest.approx(0.05)
    slope = hs.Ground.slope(0.2)
    uphill = np.array([math.cos(0.2), 0.0, math.sin(0.2)])
    assert measure(slope.solids[0], 3 * uphill)[0] == pytest.approx(0.0, abs=1e-12)
    assert hs.Ground.empty().table().shape == (0, 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hs.Ground(friction=-0.1),
        lambda: hs.Ground(friction=math.nan),
        lambda: hs.Ground(restitution=1.5),
        lambda: hs.Ground(law="glue"),
        lambda: hs.Ground(solids=(hs.HalfSpace((0.0, 0.0, 0.0)),)),
        lambda: hs.Ground(solids=(hs.Box((1.0, 0.0, 1.0)),)),
        lambda: hs.Ground(solids=(hs.Box((1.0, 1.0, 1.0), rotation=np.ones((3, 3))),)),
        lambda: hs.Ground().with_steps(0, 0.1, 0.1, 0.0),
    ],
)
def test_nonsense_is_refused(make) -> None:
    """Typed errors."""
    with pytest.raises(hs.errors.ParameterError):
        make()
