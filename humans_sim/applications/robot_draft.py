# SPDX-License-Identifier: Apache-2.0
"""Propose the files that a URDF needs to walk: soles and contacts, and a walk.

``robot.urdf`` gets ``robot.yaml`` (frames, tags, contacts, soles) and
``robot.walk.yaml`` beside it, each line with its reason. What is not sure is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_pairs import SLOTS
from humans_sim.contact.geometry.link_pairs import pairs_at, usual_pairs
from humans_sim.control.walking.derived import (
    Derived,
    ankle_reaches,
    catching_settings,
    derived_settings,
)
from humans_sim.control.walking.settings import DEGREES, WalkSettings, walk_file
from humans_sim.core.budget import CONTACTS
from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.files import write_atomically
from humans_sim.core.yaml_file import parse_yaml
from humans_sim.models import Model
from humans_sim.models.collision_shapes import collision_shapes, hollow_links
from humans_sim.models.feet import Feet, Foot, find_feet, goes_backwards
from humans_sim.models.files.urdf_file import urdf_parts
from humans_sim.models.legs import Leg, NoBipedError, corner_places, sole_named
from humans_sim.models.points import frame_index

LEFT, RIGHT = "l_sole", "r_sole"
"""Frames of the soles: REP 120."""
_SAME = 2e-3
"""How far a frame of the URDF may be from a sole that it is [m, 1]."""
_CROWDED, _LIGHT = 0.75, 0.02
"""Of the most contacts, those between links above which light ends of limbs, by their
share of the robot's mass, go through each other."""
_CORNERS = ("toe_left", "heel_left", "heel_right", "toe_right")
_SHOWN = (
    *("turns", "com_height", "stance_width", "step_duration", "foot_lift"),
    *("max_forward", "max_backward", "max_sideways", "max_turn"),
)
"""Settings that people change first; the others are there as comments."""


@dataclass(frozen=True)
class RobotDraft:
    """A robot as understood from its URDF.

    Attributes:
        derived: the settings with their reasons.
        files: texts by the paths where they belong.
        doubts: what is not sure, one sentence each.
    """

    model: Model
    feet: Feet
    settings: WalkSettings
    derived: dict[str, Derived]
    files: dict[Path, str]
    doubts: tuple[str, ...]

    def save(self) -> list[Path]:
        """Write the files beside the URDF."""
        for path, text in self.files.items():
            write_atomically(path, text)
        return list(self.files)


def draft_files(urdf: Path) -> tuple[Path, Path]:
    """Where the draft of a robot is written: its soles, and its walk."""
    return urdf.with_suffix(".yaml"), walk_file(urdf)


def draft_robot(urdf: Path | str) -> RobotDraft:
    """Find legs, feet and soles of a URDF, and derive its walk.

    Args:
        urdf: file of the robot; a YAML file beside it is not read.

    Raises:
        ModelFileError: the URDF cannot be read, or has no mass.
        NoBipedError: it has no two legs with flat feet.
    """
    urdf = Path(urdf)
    if urdf.suffix.lower() in (".yaml", ".yml"):
        raise ModelFileError("must be a URDF: tables have their soles", urdf)
    forward, bare, feet = _facing(urdf)
    soles, walk = draft_files(urdf)
    names = tuple(
        _sole_name(bare, name, foot)
        for name, foot in ((LEFT, feet.left), (RIGHT, feet.right))
    )
    text = _soles_text(bare, feet, names, forward)
    model = Model(urdf_parts(urdf, beside=parse_yaml(text, soles)))
    try:
        derived = derived_settings(model, names[0], names[1])
        settings = WalkSettings.of_names(model, *names)
        size = settings.com_height, settings.stance_width
        derived |= catching_settings(model, names[0], names[1], *size)
    except ParameterError as error:
        raise ModelFileError(str(error), urdf) from error
    overlapping = _overlapping(model, settings)
    crowds = _crowds(model)
    if overlapping or crowds:
        text += _exclude_text(overlapping, crowds)
        model = Model(urdf_parts(urdf, beside=parse_yaml(text, soles)))
    turned = [f"{forward} of the root link is taken as forwards: feet and knees say so"]
    doubts = (
        *(turned if forward != "x" else ()),
        *feet.doubts,
        *_doubts(model, feet),
        *_weak_ankles(model, feet.left.leg, names[0]),
        *(f"{a} and {b} overlap where it stands: left out" for a, b in overlapping),
        *(
            f"{link}: its mesh fills {share:.0%} of the convex hull that touches; for "
            "its hollows to be felt give it several convex <collision> elements"
            for link, share in hollow_links(model).items()
        ),
        *(
            f"{len(crowd)} light links go through each other: {_some(crowd)}"
            for crowd in crowds
        ),
    )
    files = {soles: text, walk: _walk_text(model, names, derived)}
    return RobotDraft(model, feet, settings, derived, files, doubts)


def _facing(urdf: Path) -> tuple[str, Model, Feet]:
    """The axis of the base that points forwards, the model turned so, and its feet."""

    def turned(forward: str) -> Model:
        return Model(urdf_parts(urdf, beside=parse_yaml(f"forward: {forward}")))

    bare = Model(urdf_parts(urdf, beside=parse_yaml("{}")))
    if not 0.0 < bare.mass < math.inf:
        raise ModelFileError(f"a robot of {bare.mass:g} kg does not walk", urdf)
    try:
        feet = find_feet(bare)
    except NoBipedError:
        # Feet behind each other stand side by side on a base whose y goes forwards.
        for forward in ("y", "-y"):
            bare = turned(forward)
            with suppress(NoBipedError):
                if not goes_backwards(feet := find_feet(bare)):
                    return forward, bare, feet
        raise
    if not goes_backwards(feet):
        return "x", bare, feet
    bare = turned("-x")
    return "-x", bare, find_feet(bare)


def _overlapping(model: Model, settings: WalkSettings) -> list[tuple[str, str]]:
    """Pairs of links that touch by default, and overlap in the posture of the walk."""
    angles = [settings.posture.get(name, 0.0) for name in model.joint_names]
    standing = pairs_at(model, model.standing(np.array(angles)))[1]
    return sorted((min(pair), max(pair)) for pair in usual_pairs(model)[0] & standing)


def _crowds(model: Model) -> list[list[str]]:
    """Light links at the end of one limb, such as fingers, where pairs are too many."""
    links = {shape.link: shape.joint for shape in collision_shapes(model)}
    if SLOTS * len(usual_pairs(model)[0]) < _CROWDED * CONTACTS.most:
        return []
    weights = np.array([inertia.mass for inertia in model.pin.inertias])
    for joint in range(model.pin.njoints - 1, 1, -1):
        weights[model.pin.parents[joint]] += weights[joint]
    ends: dict[int, list[str]] = {}
    for link, joint in links.items():
        above = joint
        while weights[above] < _LIGHT * model.mass:
            above = int(model.pin.parents[above])
        if above != joint:
            ends.setdefault(above, []).append(link)
    return [crowd for crowd in ends.values() if len(crowd) > 1]


def _exclude_text(pairs: list[tuple[str, str]], crowds: list[list[str]]) -> str:
    """The section that lets links go through each other."""
    lines = ["self_collision:", "  exclude:      # overlapping, or too many light ones"]
    groups = [*map(list, pairs), *crowds]
    return "\n".join([*lines, *(f"    - [{', '.join(g)}]" for g in groups)]) + "\n"


def _sole_name(model: Model, name: str, foot: Foot) -> str:
    """The frame of a sole: the URDF's own where it is one, else a name that is free."""
    if not model.pin.existFrame(name):
        return name
    frame = model.pin.frames[frame_index(model.pin, name)]
    link = model.pin.frames[frame_index(model.pin, foot.link)]
    away = (link.placement * foot.sole).inverse() * frame.placement
    if frame.parentJoint == foot.joint and abs(away.translation[2]) < _SAME:
        if away.rotation[2, 2] > 1 - _SAME and away.rotation[0, 0] > 1 - _SAME:
            return name
    return f"{name}_found"


def _soles_text(model: Model, feet: Feet, given: tuple[str, ...], forward: str) -> str:
    frames = [name for name in given if not model.pin.existFrame(name)]
    lines = [
        f"# What {model.parts.source.name} does not say, found by humans-sim",
        "# init-robot. Lengths [m], in the frames of their links.",
    ]
    if forward != "x":
        lines.append(f"forward: {forward:<18} # of the root link's axes")
    if frames:
        lines.append(
            "frames:                    # soles: below the last joint, x forwards, z up"
        )
    rounded = (_rounded(feet.left), _rounded(feet.right))
    sides = tuple(zip(given, rounded, strict=True))
    for name, foot in sides:
        if name not in frames:
            continue
        rpy = np.asarray(pin.rpy.matrixToRpy(foot.sole.rotation))
        turned = "" if np.abs(rpy).max() < 1e-6 else f", rpy: {_listed(rpy)}"
        lines.append(
            f"  - {{name: {name}, link: {foot.link}, "
            f"xyz: {_listed(foot.sole.translation)}{turned}}}"
        )
    lines.append("tags:                      # corners of the lowest face of each foot")
    names: dict[str, list[str]] = {}
    for name, foot in sides:
        names[name] = [f"{name}_{corner}" for corner in _CORNERS]
        lines += [
            f"  - {{name: {tag}, link: {foot.link}, xyz: {_listed(corner)}}}"
            for tag, corner in zip(names[name], foot.corners, strict=True)
        ]
    lines.append("contacts:                  # tags that touch the ground")
    lines += [f"  - {tag}" for tags in names.values() for tag in tags]
    lines.append("soles:")
    lines += [f"  {name}: [{', '.join(tags)}]" for name, tags in names.items()]
    return "\n".join(lines) + "\n"


def _rounded(foot: Foot) -> Foot:
    """A foot with corners to a tenth of a micrometre, which stay in one plane."""
    sole = pin.SE3(foot.sole.rotation, np.round(foot.sole.translation, 7))
    flat = np.array([sole.actInv(corner) for corner in foot.corners])
    flat = np.round(flat, 7)
    return replace(foot, corners=np.array([sole.act(c) for c in flat]), sole=sole)


def _walk_text(
    model: Model, soles: tuple[str, ...], derived: dict[str, Derived]
) -> str:
    lines = [
        f"# How {model.name} walks, derived by humans-sim init-robot.",
        "# Lengths [m], times [s], angles [degrees]. What is left out is derived again",
        "# from the model: take the mark from a line to change it.",
        f"left: {soles[0]}",
        f"right: {soles[1]}",
    ]
    for name in _SHOWN:
        lines.append(_line(name, derived[name], ""))
    lines.append("")
    for name, item in derived.items():
        if name == "posture":
            lines.append(f"# posture:                 # {item.reason}")
            assert isinstance(item.value, dict)
            lines += [
                f"#   {joint}: {math.degrees(angle):.4g}"
                for joint, angle in item.value.items()
            ]
        elif name not in _SHOWN:
            lines.append(_line(name, item, "# "))
    return "\n".join(lines) + "\n"


def _line(name: str, item: Derived, mark: str) -> str:
    value = item.value
    if isinstance(value, float):
        value = f"{math.degrees(value) if name in DEGREES else value:.6g}"
    start = f"{mark}{name}: {value}"
    return f"{start:<26} # {item.reason}"


def _doubts(model: Model, feet: Feet) -> Iterable[str]:
    """Points that a person should look at."""
    for foot in (feet.left, feet.right):
        oblique = [
            name
            for name, kind in zip(foot.leg.names, foot.leg.kinds, strict=True)
            if not kind
        ]
        if oblique:
            yield f"{', '.join(oblique)}: axes along none of the base's"
    effort, speed = model.pin.effortLimit[6:], model.pin.velocityLimit[6:]
    for what, values in (("effort", effort), ("velocity", speed)):
        without = [
            name
            for name, value in zip(model.joint_names, values, strict=True)
            if not 0 < value < math.inf
        ]
        if without:
            yield f"no {what} limit: {_some(without)}"


def _weak_ankles(model: Model, leg: Leg, sole: str) -> Iterable[str]:
    """Ankles whose torque holds the weight on less than half of the sole."""
    corners = corner_places(model, sole_named(model, sole))[:, :2]
    for ankle in ankle_reaches(model, leg, sole):
        edge = float(np.abs(corners[:, ankle.along] - ankle.place).max())
        if ankle.reach < 0.5 * edge:
            yield (
                f"{ankle.joint}: on one foot its torque holds the weight up to "
                f"{1e3 * ankle.reach:.0f} mm from its axis; the sole ends at "
                f"{1e3 * edge:.0f} mm"
            )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def _listed(values: np.ndarray) -> str:
    """To a picometre: a corner off the plane of the others never comes to the floor."""
    return "[" + ", ".join(f"{round(float(v), 12) + 0.0:.12g}" for v in values) + "]"
