# SPDX-License-Identifier: Apache-2.0
"""The SRDF of the models: links and joints of their URDF, pairs of a simulation."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import coal
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.link_pairs import coal_solid, convex_solid
from humans_sim.contact.geometry.srdf import NEUTRAL, WHOLE_BODY, srdf
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes

LEGS = {"l_leg": "l_foot", "r_leg": "r_foot"}


@pytest.fixture(scope="module", params=["khr1", "bip", "human36"])
def described(request: pytest.FixtureRequest) -> tuple[hs.Model, ET.Element]:
    """A robot and its SRDF, parsed."""
    model = hs.load_model(request.param)
    return model, ET.fromstring(srdf(model))


def joints_above(urdf: ET.Element) -> dict[str, tuple[str, str, str]]:
    """Parent link, name and type of the joint above each link."""
    above = {}
    for joint in urdf.findall("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        assert parent is not None and child is not None
        name = joint.attrib["name"], joint.attrib["type"]
        above[child.attrib["link"]] = (parent.attrib["link"], *name)
    return above


def test_groups_are_chains_of_the_urdf(described: tuple[hs.Model, ET.Element]) -> None:
    """Every joint that moves is in one chain, and all chains are in the whole body."""
    model, robot = described
    urdf = ET.fromstring(model.urdf())
    assert robot.tag == "robot" and robot.get("name") == urdf.get("name")
    above, planned, chains = joints_above(urdf), list[str](), dict[str, str]()
    for group in robot.findall("group"):
        for chain in group.findall("chain"):
            link = chains[group.attrib["name"]] = chain.attrib["tip_link"]
            while link != chain.attrib["base_link"]:
                link, joint, kind = above[link]
                if kind != "fixed":
                    planned.append(joint)
    assert sorted(planned) == sorted(model.joint_names)
    assert chains.items() >= LEGS.items()
    (whole,) = (g for g in robot.findall("group") if g.get("name") == WHOLE_BODY)
    assert [entry.get("name") for entry in whole] == list(chains)


def test_state_and_base(described: tuple[hs.Model, ET.Element]) -> None:
    """The neutral state has all joints; the root of the URDF floats in the world."""
    model, robot = described
    (state,) = robot.findall("group_state")
    assert (state.get("name"), state.get("group")) == (NEUTRAL, WHOLE_BODY)
    values = {joint.attrib["name"]: float(joint.attrib["value"]) for joint in state}
    neutral = model.neutral()[7:].tolist()
    assert values == dict(zip(model.joint_names, neutral, strict=True))
    (floating,) = robot.findall("virtual_joint")
    links = {link.attrib["name"] for link in ET.fromstring(model.urdf()).iter("link")}
    (root,) = links - set(joints_above(ET.fromstring(model.urdf())))
    assert floating.get("child_link") == root
    assert (floating.get("type"), floating.get("parent_frame")) == ("floating", "world")


def test_unchecked_pairs_are_those_of_the_simulation(
    described: tuple[hs.Model, ET.Element],
) -> None:
    """Links with solids are checked as a simulation does; none of these overlaps."""
    model, robot = described
    urdf = ET.fromstring(model.urdf())
    solid = {  # a link without <collision> touches with what is drawn of it
        link.attrib["name"]
        for link in urdf.iter("link")
        if link.find("collision") is not None or link.find("visual") is not None
    }
    left_out = {
        frozenset((pair.attrib["link1"], pair.attrib["link2"])): pair.attrib["reason"]
        for pair in robot.findall("disable_collisions")
    }
    assert all(len(pair) == 2 and pair <= solid for pair in left_out)
    assert set(left_out.values()) <= {"Adjacent", "Default", "User"}
    every = {frozenset(pair) for pair in itertools.combinations(solid, 2)}
    system = hs.Simulation(model, method="time_stepping").system
    names = {frozenset(pair.name.split("/")) for pair in system.pairs.pairs}
    assert every - set(left_out) == {pair for pair in names if pair <= solid}
    above = joints_above(urdf)
    for link in solid:
        pair = frozenset((link, above[link][0])) if link in above else frozenset()
        assert len(pair & solid) < 2 or left_out[pair] == "Adjacent"
    # MoveIt begins there: a state in which checked links touch is no start of a plan.
    data = model.pin.createData()
    pin.forwardKinematics(model.pin, data, model.neutral())
    for one, other in itertools.combinations(collision_shapes(model), 2):
        if frozenset((one.link, other.link)) in every - set(left_out):
            assert not coal.collide(
                *placed(one, data), *placed(other, data), CHECK, coal.CollisionResult()
            )


CHECK = coal.CollisionRequest()


def placed(shape: CollisionShape, data: pin.Data) -> tuple[Any, coal.Transform3s]:
    """A shape as coal takes it, in the world."""
    solid, pose = coal_solid(convex_solid(shape))
    there = data.oMi[shape.joint] * pose
    return solid, coal.Transform3s(there.rotation, there.translation)


def test_own_links_of_a_description_are_left_out(tmp_path: Path) -> None:
    """Pairs that a model excludes are not checked, and that is the reason given."""
    urdf = hs.load_model("khr1").save(tmp_path / "khr1.urdf")
    side = urdf.with_suffix(".yaml")
    side.write_text(side.read_text() + "self_collision: {exclude: [[l_foot, r_foot]]}")
    robot = ET.fromstring(srdf(hs.load_model(urdf)))
    (found,) = (
        entry
        for entry in robot.findall("disable_collisions")
        if (entry.get("link1"), entry.get("link2")) == ("l_foot", "r_foot")
    )
    assert found.get("reason") == "User"
