# SPDX-License-Identifier: Apache-2.0
"""Support polygons of the models' soles."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import WalkSettings
from humans_sim.control.walking.footsteps import Side, SolePair
from humans_sim.core.convex_polygon import convex_hull
from humans_sim.core.settings import SettingError


def test_soles_mirror(model: hs.Model) -> None:
    """Left and right soles of the models are each other's mirror image."""
    pair = SolePair.of_model(model, WalkSettings.of_model(model))
    mirrored = convex_hull(pair.corners[Side.LEFT] * [1.0, -1.0])
    np.testing.assert_allclose(mirrored, pair.corners[Side.RIGHT], atol=1e-12)
    assert pair.edges == 8


def test_margin_must_leave_room(khr1: hs.Model) -> None:
    """A margin as wide as the sole is refused, and so is a place off the sole."""
    settings = WalkSettings.of_model(khr1)
    for change in ({"zmp_margin": 0.033}, {"zmp_forward": 0.061}):
        with pytest.raises(SettingError, match="zmp_margin: .* too much .* l_sole"):
            SolePair.of_model(khr1, dataclasses.replace(settings, **change))
