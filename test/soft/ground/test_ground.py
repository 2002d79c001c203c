# SPDX-License-Identifier: Apache-2.0
"""Deformable ground: stance, sinkage, footprints, a biped on it."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.core.errors import ParameterError
from humans_sim.soft.packed_numbers import packed_heights, unpacked_heights

SOLE = np.array([[0.0, 0.0], [0.06, 0.0], [0.0, 0.04], [0.06, 0.04]])


def stand(law: str, seconds: float = 1.5, mass: float = 0.4):
    """A plate on four points let down on a ground: ground, height, last forces."""
    ground = soft.DeformableGround(law, (30, 30), origin=(-0.1, -0.1, 0.0))
    z, v = 0.0, 0.0
    for _ in range(round(seconds / ground.period)):
        points = np.column_stack([SOLE, np.full(4, z)])
        forces = ground.step(points, np.tile([0, 0, v], (4, 1)))
        v += ground.period * (forces[:, 2].sum() / mass - 9.81)
        z += ground.period * v
    return ground, z, forces


@pytest.mark.parametrize("law", ["hard", "soil", "water", "viscous"])
def test_stance_carries_the_weight(law: str) -> None:
    """Reactions equal the weight to 0.1 %; pins are at their exact static shape."""
    ground, z, forces = stand(law, 4.0 if law == "water" else 1.5)
    assert forces[:, 2].sum() == pytest.approx(0.4 * 9.81, rel=1e-3)
    pushed = ground.screen._force
    assert abs(pushed.sum() + forces[:, 2].sum()) < 1e-12
    exact = soft.static_shape(ground.screen.law, pushed)
    np.testing.assert_allclose(ground.screen.deviations, exact, atol=2e-5)
    sunk = ground.heights_at(SOLE) - z
    assert (z < 0) and sunk == pytest.approx(forces[:, 2] / 2000.0, abs=2e-5)


@pytest.mark.parametrize(("law", "factor"), [("snow", 1.0), ("sand", 0.999**500)])
def test_footprints_stay_or_fade(law: str, factor: float) -> None:
    """Marks in snow stay to the bit, those in sand fade with 0.9995 s."""
    ground, _, _ = stand(law, 0.3)
    ground.screen.step()
    ground.screen.step()
    marks = ground.screen.deviations
    assert marks.min() < -1e-3
    ground.screen.run(500)
    if law == "snow":
        # its viscosity is not S to the bit: what moves dies out in a few samples
        ground.screen.run(500)
        settled = ground.screen.deviations
        ground.screen.run(500)
        assert np.abs(ground.screen.deviations - settled).max() == 0.0
    else:
        np.testing.assert_allclose(
            ground.screen.deviations, marks * factor, rtol=1e-6, atol=1e-15
        )


def test_faults_are_typed() -> None:
    """Feet beside the screen, unknown grounds and contacts too stiff are errors."""
    ground = soft.DeformableGround("soil", (30, 30), origin=(-0.1, -0.1, 0.0))
    with pytest.raises(soft.SoftError, match="beside the deformable ground"):
        ground.heights_at(np.array([[1.0, 0.0]]))
    with pytest.raises(soft.SoftError, match="no ground"):
        soft.DeformableGround("mud pie")
    with pytest.raises(soft.UnstableStepError, match="under contact"):
        soft.DeformableGround("soil", contact=soft.PointContact(stiffness=1e5))
    for numbers in ({"friction": -1.0}, {"stiffness": 0.0}, {"slip": float("nan")}):
        with pytest.raises(ParameterError, match=f"{next(iter(numbers))} must be"):
            soft.PointContact(**numbers)


def test_packed_heights(rng: np.random.Generator) -> None:
    """They come back to 0.1 um; text of another shape is refused."""
    heights = rng.normal(0.0, 0.01, (3, 4))
    text = packed_heights(heights)
    np.testing.assert_allclose(unpacked_heights(text, (3, 4)), heights, atol=5.1e-8)
    for shape in ((3, 3), (3, 5)):
        with pytest.raises(soft.SoftError, match="are not of"):
            unpacked_heights(text, shape)
