# SPDX-License-Identifier: Apache-2.0
"""Postures at the start stand on their floor."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Walker
from humans_sim.nodes.common.start_posture import start_posture


@pytest.mark.parametrize("posture", ["neutral", "walk"])
@pytest.mark.parametrize("slope", [0.0, math.radians(3.0)])
def test_soles_lie_on_the_floor(khr1: hs.Model, posture: str, slope: float) -> None:
    """All contact points touch, on level ground and on a slope."""
    q = start_posture(khr1, posture, slope=slope, height=0.01)
    normal = np.array([-math.sin(slope), 0.0, math.cos(slope)])
    q[2] -= 0.01
    np.testing.assert_allclose(khr1.contact(q) @ normal, 0.0, atol=1e-9)


def test_walk_is_that_of_the_walker(khr1: hs.Model) -> None:
    """The node walk finds the robot as it wants it."""
    np.testing.assert_allclose(
        start_posture(khr1, "walk"), Walker(khr1).start(), atol=1e-12
    )


def test_walk_is_a_posture_of_any_biped(bip: hs.Model) -> None:
    """The scenario of that name, which is of another robot, does not hide it."""
    np.testing.assert_allclose(
        start_posture(bip, "walk"), Walker(bip).start(), atol=1e-12
    )


def test_unknown_posture(khr1: hs.Model) -> None:
    """The error names the postures there are."""
    with pytest.raises(hs.errors.ParameterError, match="neutral, walk"):
        start_posture(khr1, "handstand")


def test_start_of_a_scenario(human: hs.Model) -> None:
    """The shank hangs as in the scenario of this name."""
    q = start_posture(human, "fes-swing-up")
    assert q[7 + human.joint_names.index("r_knee")] == pytest.approx(-math.pi / 2)
