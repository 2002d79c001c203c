# SPDX-License-Identifier: Apache-2.0
"""Semantic description (SRDF) of a model for MoveIt: planning groups, collisions.

A planning group is a chain of links without branches: from the base, or from the link
where chains part, to the next such link or to the last one. A leg ends at the link of a
sole. Links whose contact our simulation leaves out (:mod:`.link_pairs`) are not checked
against each other.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

from humans_sim.contact.geometry.link_pairs import touching_links, usual_pairs
from humans_sim.models import Model
from humans_sim.models.collision_shapes import collision_shapes

WHOLE_BODY, NEUTRAL, WORLD = "whole_body", "neutral", "world"
"""Group of all chains, its state at zero angles, the frame that the base floats in."""
ADJACENT, OVERLAPPING, EXCLUDED = "Adjacent", "Default", "User"
"""Why two links are not checked, in MoveIt's words."""


class PlanningGroup(NamedTuple):
    """A chain of links.

    Attributes:
        base: link that it begins at.
        tip: its last link.
    """

    name: str
    base: str
    tip: str


class _Joint(NamedTuple):
    name: str
    parent: str
    child: str
    moves: bool


def _joints(model: Model) -> list[_Joint]:
    """Joints of the model's URDF."""
    found = []
    for joint in ET.fromstring(model.urdf()).findall("joint"):
        links = [joint.find(end) for end in ("parent", "child")]
        parent, child = (str(x.get("link")) for x in links if x is not None)
        moves = joint.get("type") != "fixed"
        found.append(_Joint(str(joint.get("name")), parent, child, moves))
    return found


def planning_groups(model: Model) -> list[PlanningGroup]:
    """The chains of a model; each joint that moves is in one of them."""
    joints = _joints(model)
    below: dict[str, list[str]] = {}
    for joint in joints:
        if joint.moves:
            below.setdefault(joint.parent, []).append(joint.child)
    carriers = {joint.child: joint.parent for joint in joints if not joint.moves}
    legs = {carriers.get(sole.name, sole.name): sole.name for sole in model.soles}
    children = {joint.child for joint in joints}
    (root,) = {joint.parent for joint in joints} - children
    groups, starts = [], [root]
    while starts:
        base = starts.pop(0)
        for tip in below.get(base, []):
            while len(below.get(tip, [])) == 1:
                tip = below[tip][0]
            groups.append(PlanningGroup(_name(tip, legs), base, tip))
            if tip in below:
                starts.append(tip)
    return groups


def _name(tip: str, legs: dict[str, str]) -> str:
    """Of a chain: legs and arms are called so, others as their last link."""
    if tip in legs:
        return legs[tip].replace("sole", "leg")
    return tip.replace("hand", "arm")


def unchecked_pairs(model: Model) -> dict[tuple[str, str], str]:
    """Pairs of links that are not checked against each other, and why.

    Links are those with solids, each pair in alphabetical order.
    """
    links = sorted({shape.link for shape in collision_shapes(model)})
    checked = {frozenset(p) for p in touching_links(model, model.parts.self_collision)}
    apart, overlapping = usual_pairs(model)
    reasons = {}
    for k, one in enumerate(links):
        for other in links[k + 1 :]:
            pair = frozenset((one, other))
            if pair in checked:
                continue
            reason = EXCLUDED if pair in apart else ADJACENT
            reasons[one, other] = OVERLAPPING if pair in overlapping else reason
    return reasons


def srdf(model: Model) -> str:
    """The text of a model's SRDF."""
    groups = planning_groups(model)
    robot = ET.Element("robot", name=model.name)
    for name, base, tip in groups:
        group = ET.SubElement(robot, "group", name=name)
        ET.SubElement(group, "chain", base_link=base, tip_link=tip)
    whole = ET.SubElement(robot, "group", name=WHOLE_BODY)
    for entry in groups:
        ET.SubElement(whole, "group", name=entry.name)
    state = ET.SubElement(robot, "group_state", name=NEUTRAL, group=WHOLE_BODY)
    for joint, angle in zip(model.joint_names, model.neutral()[7:], strict=True):
        ET.SubElement(state, "joint", name=joint, value=f"{angle:g}")
    ET.SubElement(
        robot,
        "virtual_joint",
        name=f"{WORLD}_joint",
        type="floating",
        parent_frame=WORLD,
        child_link=groups[0].base,
    )
    for (one, other), reason in unchecked_pairs(model).items():
        ET.SubElement(
            robot, "disable_collisions", link1=one, link2=other, reason=reason
        )
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"
