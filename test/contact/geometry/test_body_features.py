# SPDX-License-Identifier: Apache-2.0
"""Tests of what of a body touches beside its feet."""

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.body_features import (
    SHARE,
    BodyFeatures,
    body_features,
    hull_of,
    model_height,
    shapes_of_joints,
)
from humans_sim.contact.geometry.foot_spheres import feet_of
from humans_sim.models.legs import load_tags

NAMES = ("khr1", "bip", "human36")


def world(model: hs.Model, features: BodyFeatures, q: np.ndarray) -> np.ndarray:
    """Centres of features in the world."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, q)
    joints, places = features.in_joints(model)
    return np.array([data.oMi[j].act(p) for j, p in zip(joints, places, strict=True)])


@pytest.mark.parametrize("name", NAMES)
def test_few_features_stand_for_all_links(name: str) -> None:
    """Every link with shapes has some; together they are not many."""
    model = hs.load_model(name)
    features = body_features(model)
    assert set(features.links) == {s[0].link for s in shapes_of_joints(model).values()}
    assert len(features.names) == len(set(features.names)) < 170
    assert (features.radii >= 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_lowest_point_is_where_it_is_drawn(name: str) -> None:
    """In any posture the features end where the shapes do, within the stated share."""
    model = hs.load_model(name)
    features = body_features(model)
    joints, _ = features.in_joints(model)
    bound = 1.02 * SHARE * model_height(model)
    on_feet = {int(j) for j in model.contact_points.joints}
    rng = np.random.default_rng(3)
    data = model.data()
    for _ in range(20):
        q = model.random_configuration(rng)
        lows = world(model, features, q)[:, 2] - features.radii
        pin.forwardKinematics(model.pin, data, q)
        for joint, shapes in shapes_of_joints(model).items():
            if joint in on_feet:
                continue
            hull, pose = hull_of(shapes), data.oMi[joint]
            drawn = hull.centres @ pose.rotation[2] + pose.translation[2] - hull.radii
            own = np.array(joints) == joint
            assert lows[own].min() == pytest.approx(drawn.min(), abs=bound)


@pytest.mark.parametrize("geometry", ["points", "spheres"])
@pytest.mark.parametrize("name", NAMES)
def test_soles_are_not_doubled(name: str, geometry: str) -> None:
    """Of a foot only what is above its sole is added: it stands as it did."""
    feet = feet_of(hs.load_model(name), geometry)
    model = feet.model
    features = body_features(model, feet.contacts, feet.radii)
    q = model.neutral()
    soles = {tag for sole in model.soles for tag in load_tags(sole)}
    ground = min(
        height
        for tag, height in zip(model.tag_names, model.tags(q)[:-1, 2], strict=True)
        if tag in soles
    )
    lows = world(model, features, q)[:, 2] - features.radii
    assert lows.min() > ground + 1e-3


def test_a_record_gives_them_back() -> None:
    """What a run file holds of them is all there is."""
    model = hs.load_model("khr1")
    features = body_features(model)
    again = BodyFeatures.of_record(features.record())
    assert again.names == features.names and again.links == features.links
    assert np.array_equal(again.places, features.places)
    assert np.array_equal(again.radii, features.radii)
    with pytest.raises(ValueError, match="finite"):
        BodyFeatures.of_record({"a": ["base_link", 0.0, np.nan, 0.0, 0.0]})
