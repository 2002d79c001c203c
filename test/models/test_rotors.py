# SPDX-License-Identifier: Apache-2.0
"""Rotors of the screw drives: their angles and gear ratios."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models.rotors import Rotors


@pytest.fixture
def rotors(bip: hs.Model) -> Rotors:
    """The rotors of Bip."""
    assert bip.rotors is not None
    return bip.rotors


def posture(model: hs.Model, rng: np.random.Generator) -> np.ndarray:
    """A posture within the joint limits."""
    q = model.neutral()
    q[7:] = rng.uniform(model.lower_limits, model.upper_limits)
    return q


def test_gear_ratios_are_derivatives_of_the_angles(
    bip: hs.Model, rotors: Rotors, rng: np.random.Generator
) -> None:
    """Differences of theta(q), of fourth order, in twenty postures."""
    step = 1e-3
    for _ in range(20):
        q = posture(bip, rng)
        ratios = rotors.jacobian(q)
        for j in range(15):
            e = np.zeros(bip.nq)
            e[7 + j] = step
            near = rotors.angles(q + e) - rotors.angles(q - e)
            far = rotors.angles(q + 2 * e) - rotors.angles(q - 2 * e)
            slope = (8 * near - far) / (12 * step)
            np.testing.assert_allclose(ratios[:, j], slope, atol=1e-6)


def test_gear_ratios_give_the_inertia(
    bip: hs.Model, rotors: Rotors, rng: np.random.Generator
) -> None:
    """Jr^T Ir Jr is what the rotors add to the bodies' inertia matrix."""
    bodies = hs.load_model("bip", rotors=False)
    for _ in range(20):
        q = posture(bip, rng)
        ratios = rotors.jacobian(q)
        own = ratios.T @ np.diag(rotors.inertia) @ ratios
        added = bip.inertia(q) - bodies.inertia(q)
        np.testing.assert_allclose(added[6:, 6:], own, atol=1e-12)
        assert np.linalg.matrix_rank(ratios) == 15


def test_motors_turn_the_joints_that_the_manual_says(
    bip: hs.Model, rotors: Rotors
) -> None:
    """One motor a joint, two across each cardan, numbered as the HuMAnS joints."""
    order = bip.humans.coordinate_names[:15]
    ratios = rotors.jacobian(bip.neutral())
    column = {name: j for j, name in enumerate(bip.joint_names)}
    pairs = [("r_ankle", 0), ("l_ankle", 4), ("trunk", 13)]
    for m, joint in enumerate(order):
        driven = {bip.joint_names[j] for j in np.flatnonzero(ratios[m])}
        cardan = [name for name, first in pairs if m in (first, first + 1)]
        if cardan:
            assert driven == {f"{cardan[0]}_roll", f"{cardan[0]}_pitch"}
        else:
            assert driven == {joint} and rotors.names[m] == joint
    assert rotors.names[0] == "r_ankle_outer" and rotors.names[5] == "l_ankle_outer"
    assert rotors.names[13] == "trunk_right" and rotors.names[14] == "trunk_left"
    assert ratios[8, column["r_hip_roll"]] == 271.16
    assert ratios[11, column["l_hip_yaw"]] == -203.79
    # Both motors of an ankle push alike in pitch and against each other in roll.
    pitch, roll = column["r_ankle_pitch"], column["r_ankle_roll"]
    assert ratios[0, pitch] == pytest.approx(ratios[1, pitch])
    assert ratios[0, roll] == pytest.approx(-ratios[1, roll])


def test_left_and_right_are_mirror_images(bip: hs.Model, rotors: Rotors) -> None:
    """Equal joint values left and right turn equal motors by equal angles."""
    q = bip.neutral()
    for side in "rl":
        for joint, angle in (("knee", 0.7), ("ankle_pitch", -0.3), ("hip_pitch", -0.4)):
            q[7 + bip.joint_names.index(f"{side}_{joint}")] = angle
    angle = dict(zip(rotors.names, rotors.angles(q), strict=True))
    for name in ("knee", "hip_pitch", "ankle_outer", "ankle_inner"):
        assert angle[f"r_{name}"] == pytest.approx(angle[f"l_{name}"], abs=1e-9)


def test_beyond_the_reach_of_a_screw(bip: hs.Model, rotors: Rotors) -> None:
    """Named and refused, for the angles and the ratios alike."""
    q = bip.neutral()
    q[7 + bip.joint_names.index("trunk_pitch")] = 2.9
    for ask in (rotors.angles, rotors.jacobian):
        with pytest.raises(hs.errors.ConfigurationError, match="trunk_"):
            ask(q)
