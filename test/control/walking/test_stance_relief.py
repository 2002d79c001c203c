# SPDX-License-Identifier: Apache-2.0
"""Soles that stand give way to strain between the legs, and to nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.control.walking.balance import SoleLoad, StanceRelief

STILL = np.zeros(2)
STIFFNESS, LEVER = 1200.0, 3.4
"""Of two legs: force for a shift [N/m], way of the pressure for a turn [m/rad]."""


def relief(gain: float = 0.1) -> StanceRelief:
    """Of a robot like the KHR-1."""
    return StanceRelief(gain, height=0.19, weight=12.75, period=0.02, time=0.3)


def test_strain_goes() -> None:
    """Elastic legs that are held too narrow and on their outer edges relax."""
    soles = relief()
    strain = np.array([0.5, -1.8])  # floor on the left sole: forwards, inwards
    pressure = np.array([0.004, 0.02])
    for _ in range(500):
        force = strain - STIFFNESS * soles.shift
        # A turn that lifts the left edge, or the toes, moves pressure away from it.
        moved = LEVER * np.array([-soles.turn[1], soles.turn[0]])
        load = SoleLoad(force, pressure - moved)
        soles.stand(load, SoleLoad(-force, -(pressure - moved)))
    np.testing.assert_allclose(soles.shift, strain / STIFFNESS, rtol=1e-3)
    np.testing.assert_allclose(
        soles.turn, [pressure[1] / LEVER, -pressure[0] / LEVER], rtol=1e-3
    )
    for _ in range(500):
        soles.step()
    assert np.abs(np.append(soles.shift, soles.turn)).max() < 1e-9


def test_what_both_feel_is_left_alone() -> None:
    """A push on the whole robot is the business of the balance."""
    soles = relief()
    load = SoleLoad(np.array([1.0, -0.4]), np.array([0.01, 0.02]))
    soles.stand(load, load)
    assert not soles.shift.any() and not soles.turn.any()


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_it_is_bounded(size: float) -> None:
    """Wrong sensors do not pull the feet apart; without a gain nothing moves."""
    soles, off = relief(), relief(0.0)
    for _ in range(10_000):
        for each in (soles, off):
            load = SoleLoad(np.full(2, size), np.full(2, size))
            each.stand(load, SoleLoad(STILL, STILL))
    assert np.abs(soles.shift).max() <= 0.019 + 1e-12
    assert np.abs(soles.turn).max() <= np.radians(3.0) + 1e-12
    assert not off.shift.any() and not off.turn.any()
