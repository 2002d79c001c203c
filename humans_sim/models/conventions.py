# SPDX-License-Identifier: Apache-2.0
"""Conventions of joint angles: names and turns, read from YAML.

``config/conventions`` holds the conventions that come with the package;
``docs/conventions.md`` explains the format and defines every angle.

*Segments*: joints that turn about one centre belong together. A hip of three revolute
joints is three bodies in a URDF, two of them without mass. Here it is one segment that
turns about one point by three axes, as joints are in textbooks and in OpenSim.
Everything is on HuMAnS axes: x forward, y up, z right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models.model import Model
from humans_sim.models.points import ROS_FROM_HUMANS, link_on, to_humans

_SAME_PLACE = 1e-12
"""Joint centres closer than this are one [m]."""
_PARALLEL = 1e-6
"""Sine of the least angle between two axes of one segment."""
_MOST = 3
"""Turns of one segment."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A body that turns about one point of its parent.

    Attributes:
        name: link of the model.
        parent: name of the segment before; empty for the base.
        pin_joint: joint of the pinocchio model that carries the link.
        joints: places in ``joint_names`` of the joints that turn it, first one first.
        centre: of these joints, in the parent's frame (3,) [m].
        rotation: of its frame in the parent's where all angles are zero (3, 3).
        axes: of the joints in that frame, each turned by those before it (k, 3).
        mass: [kg].
        com: centre of mass in its frame (3,) [m].
        inertia: about the centre of mass, in its frame (3, 3) [kg m2].
    """

    name: str
    parent: str
    pin_joint: int
    joints: tuple[int, ...]
    centre: np.ndarray
    rotation: np.ndarray
    axes: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def turn(self, angles: np.ndarray) -> Rotation:
        """Orientation in the parent's frame, at angles of its joints (n, k) [rad]."""
        turned = Rotation.from_matrix(np.tile(self.rotation, (len(angles), 1, 1)))
        for axis, column in zip(self.axes, angles.T, strict=True):
            turned = turned * Rotation.from_rotvec(np.outer(column, axis))
        return turned


def segments_of(model: Model) -> Mapping[str, Segment]:
    """Segments of a model by name, parents before children; the base is the first."""
    tree = model.pin
    chains = _chains(model)
    names = {joint: link_on(tree, joint) for joint in (1, *chains)}
    base = _segment(model, names[1], "", [1], np.zeros((0, 3)))
    segments = {base.name: base}
    for joint, (chain, axes) in chains.items():
        parent = names[tree.parents[chain[0]]]
        segments[names[joint]] = _segment(model, names[joint], parent, chain, axes)
    return MappingProxyType(segments)


def _chains(model: Model) -> dict[int, tuple[list[int], np.ndarray]]:
    """Joints that turn one segment, and their axes in its frame, by the last joint."""
    tree, axes = model.pin, _axes(model)
    below = Counter(tree.parents[2:])
    chains: dict[int, tuple[list[int], np.ndarray]] = {}
    for joint in range(2, tree.njoints):
        parent, placement = tree.parents[joint], tree.jointPlacements[joint]
        joints, turned = [joint], axes[joint][None]
        if (
            parent in chains
            and below[parent] == 1
            and tree.inertias[parent].mass == 0
            and np.linalg.norm(placement.translation) < _SAME_PLACE
            and len(chains[parent][0]) < _MOST
        ):
            before = chains[parent][1] @ placement.rotation
            apart = np.linalg.norm(np.cross(before, axes[joint]), axis=1)
            if apart.min() > _PARALLEL:
                joints = [*chains.pop(parent)[0], joint]
                turned = np.vstack([before, turned])
        chains[joint] = joints, turned
    return chains


def _segment(
    model: Model, name: str, parent: str, chain: list[int], axes: np.ndarray
) -> Segment:
    tree = model.pin
    placement = pin.SE3.Identity()
    if parent:
        for joint in chain:
            placement = placement * tree.jointPlacements[joint]
    body = tree.inertias[chain[-1]]
    return Segment(
        name,
        parent,
        chain[-1],
        tuple(joint - 2 for joint in chain) if parent else (),
        to_humans(placement.translation),
        ROS_FROM_HUMANS.T @ placement.rotation @ ROS_FROM_HUMANS,
        to_humans(axes),
        float(body.mass),
        to_humans(body.lever),
        ROS_FROM_HUMANS.T @ body.inertia @ ROS_FROM_HUMANS,
    )


def _axes(model: Model) -> dict[int, np.ndarray]:
    """Axis of each joint in its own frame, ROS axes."""
    tree = model.pin
    data = tree.createData()
    pin.computeJointJacobians(tree, data, pin.neutral(tree))
    axes = {}
    for joint in range(2, tree.njoints):
        at = tree.joints[joint]
        column = data.oMi[joint].actInv(pin.Motion(data.J[:, at.idx_v]))
        if (at.nq, at.nv) != (1, 1) or abs(np.linalg.norm(column.angular) - 1) > 1e-9:
            raise ParameterError(
                f"the joint '{tree.names[joint]}' of {model.name} is not a revolute "
                "one: segments turn only"
            )
        axes[joint] = np.array(column.angular)
    return axes


HUMANS = "humans"
"""The convention of the model itself: its joints, their names and signs."""
BASE_COLUMNS = (
    "base_tilt",
    "base_list",
    "base_rotation",
    "base_tx",
    "base_ty",
    "base_tz",
)
"""Columns of the base, as those of a pelvis in OpenSim's models of the body."""
GROUND, PROGRESSION = "ground", "progression"
"""Frames of the laboratory: as it is, and turned to the axis along which one walks."""
_AXES = ("x", "y", "z", "-x", "-y", "-z")
_UNNAMED = "-"
_NAME = re.compile(r"[\w.-]+", re.ASCII)
"""What tables, motions and OpenSim take as a name."""
_SIDES = ("r", "l")


@dataclass(frozen=True)
class TurnGroup:
    """Angles by which one segment is turned against another.

    Attributes:
        body: the segment.
        of: the segment it is seen from, or a frame of the laboratory.
        turns: axes in turn, ``x`` forward, ``y`` up, ``z`` right, a minus where the
            angle counts against the axis; on the left side, of the mirror image.
        names: of the angles; None for one that is not reported.
        titles: names without their side.
        side: ``r``, ``l`` or empty.
    """

    body: str
    of: str
    turns: tuple[str, ...]
    names: tuple[str | None, ...]
    titles: tuple[str, ...]
    side: str = ""

    @property
    def letters(self) -> str:
        """The three axes in turn; those that are not listed follow at the end."""
        listed = "".join(turn[-1] for turn in self.turns)
        return (listed + "".join(a for a in "zxy" if a not in listed))[:3]

    @property
    def axes(self) -> np.ndarray:
        """Axes about which the angles are positive, in the segment's frame (k, 3)."""
        mirror = [-1.0, -1.0, 1.0] if self.side == "l" else [1.0, 1.0, 1.0]
        rows = np.array([np.eye(3)["xyz".index(turn[-1])] for turn in self.turns])
        return rows * mirror * np.array(self.signs)[:, None]

    def renames(self, segment: Segment) -> bool:
        """Whether the turns are those of the segment's joints, but for signs."""
        count = len(self.turns)
        return (
            segment.axes.shape == (count, 3)
            and segment.parent == self.of
            and bool(np.allclose(np.abs(segment.axes @ self.axes.T), np.eye(count)))
        )

    def spans(self, segment: Segment) -> bool:
        """Whether the turns can be the coordinates of the segment's joint."""
        free = len(set(self.letters)) == len(self.turns) == len(segment.joints) == 3
        unturned = np.allclose(segment.rotation, np.eye(3))
        return self.renames(segment) or (
            free and segment.parent == self.of and bool(unturned)
        )

    @property
    def signs(self) -> tuple[int, ...]:
        """1, or -1 where an angle counts against its axis."""
        return tuple(-1 if turn.startswith("-") else 1 for turn in self.turns)


@dataclass(frozen=True)
class Convention:
    """Names and definitions of angles.

    Attributes:
        base: angles of the base in the laboratory; None where it has none.
        position: names of the base's position: forward, up, right; may be empty.
        groups: the other angles, segment by segment.
    """

    name: str
    title: str
    base: TurnGroup | None
    position: tuple[str, ...]
    groups: tuple[TurnGroup, ...]


def convention_names() -> list[str]:
    """Conventions that come with the package."""
    return [HUMANS, *resource_names("conventions")]


def load_convention(name: str | Path, model: Model) -> Convention:
    """A convention by its name, or one's own by its path, for a model.

    ``humans`` has no groups: its angles are the model's joints.
    """
    if str(name) == HUMANS:  # the base as OpenSim gives a pelvis
        names, base_link = BASE_COLUMNS[:3], link_on(model.pin, 1)
        own = TurnGroup(base_link, GROUND, ("z", "x", "y"), names, names)
        return Convention(HUMANS, "joints of the model", own, BASE_COLUMNS[3:], ())
    check_convention(name)
    root = read_yaml(named_file("conventions", str(name), "convention"))
    fields = root.fields(("title", "model", "angles"), ("sides", "base", "position"))
    if fields["model"].text() != model.name:
        raise ParameterError(
            f"the convention '{name}' names the angles of {fields['model'].text()}, "
            f"not of {model.name}: take '{HUMANS}'"
        )
    sides = ("", "")
    if "sides" in fields:
        words = [word.text() for word in fields["sides"]]
        if len(words) != 2:
            raise fields["sides"].error("two words are needed: right, left")
        sides = (words[0], words[1])
    links = {frame.name for frame in model.pin.frames}
    base = None
    if "base" in fields:
        entry = fields["base"].fields(("turns", "names"))
        body = link_on(model.pin, 1)
        base = next(_groups(fields["base"], entry, body, GROUND, ("",), links))
    position: tuple[str, ...] = ()
    if "position" in fields:
        position = tuple(word.text() for word in fields["position"])
        if len(position) != 3:
            raise fields["position"].error("three names are needed: forward, up, right")
        _check_names(fields["position"], list(position))
    groups: list[TurnGroup] = []
    for item in fields["angles"]:
        entry = item.fields(("body", "of", "turns", "names"), ("sided",))
        sided = "sided" in entry and entry["sided"].choice(("true", "false")) == "true"
        words = list(sides) if sided else [""]
        body, of = entry["body"].text(), entry["of"].text()
        groups += _groups(item, entry, body, of, tuple(words), links)
    named = [*groups] if base is None else [base, *groups]
    given = [n for group in named for n in group.names if n is not None]
    given += position
    twice = sorted({n for n in given if given.count(n) > 1})
    if twice:
        raise fields["angles"].error(f"the angle '{twice[0]}' stands twice")
    return Convention(str(name), fields["title"].text(), base, position, tuple(groups))


def check_convention(name: str | Path) -> None:
    """Refuse a name that no convention has."""
    if str(name) not in convention_names() and Path(name).suffix != ".yaml":
        known = ", ".join(convention_names())
        raise ParameterError(
            f"no convention is called '{name}' (there are: {known}; or give the path "
            "of a .yaml file)"
        )


def _groups(
    item: YamlValue,
    entry: dict[str, YamlValue],
    body: str,
    of: str,
    words: tuple[str, ...],
    links: set[str],
) -> Iterator[TurnGroup]:
    """The group of an entry, or those of both sides."""
    turns = tuple(axis.choice(_AXES) for axis in entry["turns"])
    names = [name.text() for name in entry["names"]]
    letters = [turn[-1] for turn in turns]
    same = any(a == b for a, b in zip(letters[:-1], letters[1:], strict=True))
    if not 1 <= len(turns) <= 3 or same:
        raise entry["turns"].error("one to three axes, no two neighbours the same")
    if len(names) != len(turns):
        raise entry["names"].error("each turn needs a name, or '-'")
    _check_names(entry["names"], [n.replace("{side}", w) for n in names for w in words])
    for side, word in zip(_SIDES, words, strict=False):
        sided = len(words) > 1
        # A link's own side, where it has sides.
        own = [
            f"{side}_{link}" if sided and f"{side}_{link}" in links else link
            for link in (body, of)
        ]
        for link in own:
            if link not in links and link not in (GROUND, PROGRESSION):
                raise item.error(f"the model has no link called '{link}'")
        yield TurnGroup(
            own[0],
            own[1],
            turns,
            tuple(None if n == _UNNAMED else n.replace("{side}", word) for n in names),
            tuple(n.replace("{side}", "").replace("_", " ").strip() for n in names),
            side if sided else "",
        )


def _check_names(value: YamlValue, names: list[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise value.error(f"'{name}' has more than letters, digits, '_', '.', '-'")
