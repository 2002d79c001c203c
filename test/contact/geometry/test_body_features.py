# SPDX-License-Identifier: Apache-2.0
"""Tests of what of a body touches beside its feet."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.body_features import (
    MOST,
    Balls,
    BodyFeatures,
    body_features,
    hull_of,
    outermost,
    shapes_of_joints,
)
from humans_sim.contact.geometry.foot_spheres import feet_of
from humans_sim.core.resources import share_directory
from humans_sim.models.legs import load_tags

BALL = "urdf/ball.urdf"
NAMES = ("khr1", "bip", "human36")
MASS = """<inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
BOX = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'


def world(model: hs.Model, features: BodyFeatures, q: np.ndarray) -> np.ndarray:
    """Centres of features in the world."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, q)
    joints, places = features.in_joints(model)
    where = [data.oMi[j].act(p) for j, p in zip(joints, places, strict=True)]
    return np.array(where).reshape(-1, 3)


@pytest.fixture(params=[*NAMES, BALL])
def model(request: pytest.FixtureRequest) -> hs.Model:
    """Each of the models there are."""
    name = request.param
    return hs.load_model(str(share_directory() / name) if name == BALL else name)


def test_every_link_has_features_or_is_named(model: hs.Model) -> None:
    """No solid is lost: what a tag, or a sole, stands for is no more than that."""
    features = body_features(model)
    for shapes in shapes_of_joints(model).values():
        link, own = shapes[0].link, features.links.count(shapes[0].link)
        assert own <= MOST
        assert (own == 0) == (link in features.beyond)
    assert len(features.names) == len(set(features.names))
    assert (features.radii >= 0.0).all()


def test_the_lowest_point_is_exact(model: hs.Model) -> None:
    """In any posture: of links with all of their vertices, soles among them."""
    features = body_features(model)
    joints, _ = features.in_joints(model)
    points = model.tag_points(model.contact_names)
    rng, data = np.random.default_rng(3), model.data()
    for _ in range(20):
        q = model.random_configuration(rng)
        lows = world(model, features, q)[:, 2] - features.radii
        pin.forwardKinematics(model.pin, data, q)
        for joint, shapes in shapes_of_joints(model).items():
            hull, pose = hull_of(shapes), data.oMi[joint]
            drawn = hull.centres @ pose.rotation[2] + pose.translation[2] - hull.radii
            if joint in points.joints or shapes[0].link in features.beyond:
                continue
            own = lows[np.array(joints) == joint].min()
            assert own == pytest.approx(drawn.min(), abs=1e-12)


@pytest.mark.parametrize("height", [0.66, 0.745])
def test_the_trunk_of_bip_is_solid(height: float) -> None:
    """The tags that it hangs by are no sole, wherever they are: all of it touches."""
    names = [n for n in hs.load_model("bip").contact_names if "suspension" in n]
    tags = {n: (height, 0.15 - 0.1 * k, -0.11) for k, n in enumerate(names)}
    bip = hs.load_model("bip", tags=tags)
    features = body_features(bip)
    shapes = shapes_of_joints(bip)
    (joint,) = (int(j) for j, s in shapes.items() if s[0].link == "torso")
    hull = hull_of(shapes[joint])
    assert hull.centres[:, 2].max() == pytest.approx(0.745)
    assert bip.tag_points(names).local[:, 2] == pytest.approx(height)
    assert len(hull.radii) > MOST and "torso" in features.beyond


def test_what_is_far_below_a_sole_touches() -> None:
    """With tags 5 mm inside the foot its underside is no part of the sole."""
    khr1 = hs.load_model("khr1")
    raised = {
        tag.name: tag.position[[0, 2, 1]] * [1, 1, -1] + [0.0, 0.005, 0.0]  # y up
        for tag in khr1.parts.tags
        if tag.name in khr1.contact_names
    }
    for tags, depth in ((None, 0.019), (raised, 0.022)):
        robot = hs.load_model("khr1", tags=tags)
        joints, places = body_features(robot).in_joints(robot)
        feet = set(robot.contact_points.joints)
        for joint in feet:
            lowest = places[np.array(joints) == joint, 2].min()
            assert lowest == pytest.approx(-depth, abs=1e-9)


def test_of_a_foot_only_its_layer_is_left_to_the_sole() -> None:
    """Of the KHR-1's foot the four corners alone; all others touch."""
    khr1 = hs.load_model("khr1")
    features = body_features(khr1)
    joints, places = features.in_joints(khr1)
    points = khr1.tag_points(khr1.contact_names)
    for row, joint in enumerate(points.joints):
        hull = hull_of(shapes_of_joints(khr1)[int(joint)])
        both = np.vstack(
            [places[np.array(joints) == joint], points.local[points.row == row]]
        )
        assert len(both) == len(hull.centres)
        apart = np.linalg.norm(hull.centres[:, None] - both, axis=2)
        assert apart.min(axis=1).max() < 1e-12


def test_what_is_round_and_what_has_corners() -> None:
    """A ball is one, a capsule two; a box in any company keeps all of its corners."""
    ball = Balls(np.zeros((1, 3)), np.array([0.1]))
    capsule = Balls(np.array([[0.0, 0, -0.2], [0, 0, 0.2]]), np.array([0.05, 0.05]))
    assert len(outermost(ball).radii) == 1 and len(outermost(capsule).radii) == 2
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    rng = np.random.default_rng(0)
    inner = rng.uniform(-0.09, 0.09, (300, 3))
    many = Balls(np.vstack([inner, 0.1 * signs]), np.zeros(308))
    assert {tuple(c) for c in outermost(many).centres} == {
        tuple(c) for c in 0.1 * signs
    }


def test_a_link_and_a_joint_of_one_name(tmp_path: Path) -> None:
    """Frames of both have the name: the link's carries the features."""
    text = f"""<robot name="two">
      <link name="base_link">{MASS}{BOX}</link>
      <link name="waist">{MASS}{BOX}</link>
      <joint name="waist" type="revolute">
        <parent link="base_link"/><child link="waist"/><origin xyz="0 0 0.5"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
      </joint>
    </robot>"""
    (tmp_path / "two.urdf").write_text(text)
    features = body_features(hs.load_model(str(tmp_path / "two.urdf")))
    assert features.links == ("base_link",) * 8 + ("waist",) * 8
    assert not features.beyond and not features.radii.any()
    assert np.abs(features.places) == pytest.approx(np.tile([0.05, 0.1, 0.15], (16, 1)))


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
    assert lows.min(initial=np.inf) > ground + 1e-3


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
