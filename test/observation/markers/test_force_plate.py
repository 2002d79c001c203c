# SPDX-License-Identifier: Apache-2.0
"""A force plate as a value: pressure, free moment, other frames and other times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from plate_files import turned_corners

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import ForcePlate, GroundReaction


@pytest.fixture
def plate(rng: np.random.Generator) -> ForcePlate:
    """A plate with a load of about 700 N, and one sample without."""
    force = rng.normal(0, 50, (9, 3)) + (0, 0, 700)
    force[4] = (1.0, 2.0, 5.0)
    return ForcePlate(
        "plate 1",
        turned_corners(0.7),
        np.array([0.5, 0.2, -0.05]),
        np.arange(9) / 1000,
        force,
        rng.normal(0, 60, (9, 3)),
    )


def test_pressure_and_free_moment_are_the_wrench(plate: ForcePlate) -> None:
    """A force at the centre of pressure with the free moment is the same wrench."""
    loaded = plate.loaded
    assert loaded.tolist() == [True] * 4 + [False] + [True] * 4
    lever = plate.centre_of_pressure - plate.centre
    np.testing.assert_allclose(lever[loaded] @ plate.normal, 0, atol=1e-12)
    moment = np.cross(lever, plate.force) + plate.free_moment[:, None] * plate.normal
    np.testing.assert_allclose(moment[loaded], plate.moment[loaded], atol=1e-9)
    assert np.isnan(plate.centre_of_pressure[4]).all()


def test_reaction_keeps_the_wrench(plate: ForcePlate) -> None:
    """The reaction has the plate's wrench about its centre, and none without load."""
    reaction = plate.reaction
    np.testing.assert_allclose(
        reaction.wrench(plate.centre)[plate.loaded],
        plate.wrench[plate.loaded],
        atol=1e-9,
    )
    assert not reaction.force[4].any() and not reaction.wrench(np.zeros(3))[4].any()


def test_another_frame(plate: ForcePlate) -> None:
    """What a plate measures moves with its frame."""
    transform = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.9), np.array([1.0, -2.0, 0.3]))
    moved = plate.moved(transform)
    np.testing.assert_allclose(
        moved.centre_of_pressure,
        plate.centre_of_pressure @ transform.rotation.T + transform.translation,
    )
    np.testing.assert_allclose(moved.free_moment, plate.free_moment)
    np.testing.assert_allclose(moved.force[:, 2], plate.force[:, 2])
    assert moved.origin[2] == pytest.approx(0.25)


def test_other_times(plate: ForcePlate) -> None:
    """Between samples the wrench is interpolated; beyond the ends it is held."""
    other = plate.at(np.array([-1.0, 0.0005, 1.0]))
    np.testing.assert_allclose(other.force[0], plate.force[0])
    np.testing.assert_allclose(other.force[1], plate.force[:2].mean(axis=0))
    np.testing.assert_allclose(other.moment[2], plate.moment[-1])


def test_within_the_corners(plate: ForcePlate) -> None:
    """Corners are within, what is beside them only with a margin."""
    inside = plate.centre + 0.999 * (plate.corners - plate.centre)
    outside = plate.centre + 1.02 * (plate.corners - plate.centre)
    assert plate.contains(inside).all() and not plate.contains(outside).any()
    assert plate.contains(outside, margin=0.01).all()
    assert not plate.contains(np.full((1, 3), np.nan)).any()


def test_what_is_no_plate(plate: ForcePlate) -> None:
    """Corners that span nothing and sizes that do not fit are refused."""
    with pytest.raises(ParameterError, match="span no surface"):
        replace(plate, corners=np.zeros((4, 3)))
    with pytest.raises(ParameterError, match="span no surface"):
        replace(plate, corners=plate.corners[[0, 2, 1, 3]])
    with pytest.raises(ParameterError, match="four corners"):
        replace(plate, corners=plate.corners[:3])
    with pytest.raises(ParameterError, match="shape"):
        replace(plate, force=plate.force[:3])
    with pytest.raises(ParameterError, match="growing"):
        GroundReaction("a", np.zeros(2), *[np.zeros((2, 3))] * 3)
