# SPDX-License-Identifier: Apache-2.0
"""Frames, tags and the centre of mass seen from links: laws of their derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.models.links import LinkCoordinates

STEP = 1e-5
REFERENCES = ("", "base_link", "l_foot")


def along(
    model: hs.Model, q: np.ndarray, v: np.ndarray, value: Callable[..., np.ndarray]
) -> np.ndarray:
    """Rate of a function of the configuration at the velocity v."""
    ahead, behind = model.integrate(q, STEP * v), model.integrate(q, -STEP * v)
    return (value(ahead) - value(behind)) / (2 * STEP)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobians_and_drifts_of_points(
    bip: hs.Model, rng: np.random.Generator, reference: str
) -> None:
    """J v is the rate of the tags and the centre of mass, and the drift that of J v."""
    view = bip.seen_from(reference)
    q, v = bip.random_configuration(rng), rng.normal(size=bip.nv)
    jacobian = view.tags_jacobian(q)
    np.testing.assert_allclose(jacobian @ v, along(bip, q, v, view.tags), atol=1e-8)
    rates = along(bip, q, v, lambda x: view.tags_jacobian(x) @ v)
    np.testing.assert_allclose(view.tags_drift(q, v), rates, atol=1e-7)
    np.testing.assert_array_equal(view.com_jacobian(q), jacobian[-1])
    np.testing.assert_array_equal(view.com_drift(q, v), view.tags_drift(q, v)[-1])


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobians_and_drifts_of_frames(
    bip: hs.Model, rng: np.random.Generator, reference: str
) -> None:
    """The same of a frame's origin, and of its angular velocity seen from a link."""
    view = bip.seen_from(reference)
    q, v = bip.random_configuration(rng), rng.normal(size=bip.nv)
    motion = view.frame_jacobian(q, "torso") @ v
    rate = along(bip, q, v, lambda x: view.pose(x, "torso").translation)
    np.testing.assert_allclose(motion[:3], rate, atol=1e-8)
    turn = along(bip, q, v, lambda x: view.pose(x, "torso").rotation)
    omega = pin.unSkew(turn @ view.pose(q, "torso").rotation.T)
    np.testing.assert_allclose(motion[3:], omega, atol=1e-8)
    rates = along(bip, q, v, lambda x: view.frame_jacobian(x, "torso") @ v)
    np.testing.assert_allclose(view.frame_drift(q, v, "torso"), rates, atol=1e-7)


def test_the_world_is_a_view_too(bip: hs.Model, rng: np.random.Generator) -> None:
    """From the world tags are the model's, from a link its own frame is the origin."""
    q = bip.random_configuration(rng)
    np.testing.assert_allclose(bip.seen_from().tags(q), bip.tags(q), atol=1e-14)
    own = bip.seen_from("r_foot").pose(q, "r_foot")
    assert own.isApprox(pin.SE3.Identity(), 1e-14)
    with pytest.raises(hs.errors.ParameterError, match="no frame called 'tail'"):
        bip.seen_from("tail")
    with pytest.raises(hs.errors.ParameterError, match="no frame called 'tail'"):
        bip.seen_from().pose(q, "tail")


def test_the_observers_of_the_manual(bip: hs.Model, rng: np.random.Generator) -> None:
    """Their six coordinates are those of the tags that the manual prints."""
    q = rng.uniform(-0.5, 0.5, 21)
    tags = bip.humans.tags(q)
    for place, (a, b, c) in (
        (LinkCoordinates.right_foot(bip), (1, 2, 4)),
        (LinkCoordinates.left_foot(bip), (11, 12, 14)),
        (LinkCoordinates.suspension(bip), (22, 23, 25)),
    ):
        (xa, ya, za), (xb, yb, _), (_, yc, _) = (tags[k - 1] for k in (a, b, c))
        np.testing.assert_array_equal(place.value(q), [xa, xb, ya, yb, yc, za])
        numeric = np.array(
            [
                (place.value(q + STEP * e) - place.value(q - STEP * e)) / (2 * STEP)
                for e in np.eye(21)
            ]
        ).T
        np.testing.assert_allclose(place.jacobian(q), numeric, atol=1e-9)
        assert np.linalg.matrix_rank(place.jacobian(q)[:, 15:]) == 6


def test_places_that_are_none(human: hs.Model, bip: hs.Model) -> None:
    """Tags of several links, and models without suspension, are refused."""
    with pytest.raises(hs.errors.ParameterError, match="no suspension"):
        LinkCoordinates.suspension(human)
    with pytest.raises(hs.errors.ParameterError, match="three tags of one link"):
        LinkCoordinates(bip, ("r_hip", "l_hip", "r_ankle"))
    with pytest.raises(hs.errors.ParameterError, match="no tag called 'toe'"):
        LinkCoordinates(bip, ("toe", "l_hip", "r_ankle"))
