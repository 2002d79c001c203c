# SPDX-License-Identifier: Apache-2.0
"""Elements of an MJCF file: included ones, classes of defaults, numbers, poses, solids.

An element is read with the attributes of its class of defaults. Attributes that it
cannot have are refused with their line, as are numbers that are none. Angles are
degrees unless ``<compiler angle="radian"/>`` says otherwise; where an attribute that an
element has itself and one of its class both give its orientation, its own counts.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import MOST_ELEMENTS, element_error, parse_xml
from humans_sim.core.errors import ModelFileError
from humans_sim.core.expressions import shortened
from humans_sim.core.files import read_text
from humans_sim.models.files.urdf_elements import (
    element_key,
    listed,
    parsed,
    suggestion,
)

_MOST_FILES = 50
_LARGEST = 1e9
"""Numbers beyond it are mistakes."""
_LEAST_LENGTH = 1e-10
"""Shorter vectors have no direction."""
_ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper"),
    *("cylinder", "muscle", "adhesion", "dcmotor"),
)
_ORIENTATION = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    tag: frozenset(words.split())
    for tag, words in {
        "body": "name childclass pos mocap gravcomp user sleep",
        "frame": "name childclass pos",
        "inertial": "pos mass diaginertia fullinertia",
        "joint": "name class type pos axis range limited ref damping frictionloss "
        "armature actuatorfrcrange actuatorfrclimited stiffness springref springdamper "
        "group user margin actuatorgravcomp solreflimit solimplimit solreffriction "
        "solimpfriction",
        "geom": "name class type size pos fromto mesh mass density contype "
        "conaffinity group material rgba friction condim solmix solref solimp margin "
        "gap priority user fluidshape fluidcoef hfield fitscale shellinertia",
        "mesh": "name class file scale refpos refquat content_type smoothnormal "
        "maxhullvert inertia vertex normal texcoord face octree_maxdepth",
        "compiler": "angle eulerseq meshdir assetdir texturedir autolimits coordinate "
        "inertiafromgeom inertiagrouprange boundmass boundinertia balanceinertia "
        "settotalmass fusestatic discardvisual usethread strippath convexhull "
        "exactmeshinertia fitaabb alignfree saveinertial",
    }.items()
}
_ORIENTED = ("body", "frame", "inertial", "geom")
_SECTIONS = frozenset(
    "compiler option size statistic visual default asset worldbody contact deformable "
    "equality tendon actuator sensor keyframe custom extension".split()
)
"""Of a file."""
_DEFAULTS = frozenset(
    "default mesh material joint geom site camera light pair equality tendon".split()
).union(_ACTUATORS)
"""What a class of defaults has."""
LEFT_OUT = ("site", "camera", "light")
"""Parts of bodies that are no part of a robot."""
BODY_PARTS = frozenset(
    "inertial joint freejoint geom body frame site camera light attach plugin "
    "composite flexcomp replicate include".split()
)
"""Of a body; what is neither read nor left out makes another robot."""


def mjcf_error(
    element: ET.Element, message: str, attribute: str = ""
) -> ModelFileError:
    """An error at an element, or at an attribute of it: ``joint hip <axis>``."""
    return element_error(element, message, element_key(element, attribute), attribute)


def unread(element: ET.Element, child: ET.Element, tags: Iterable[str]) -> Exception:
    """An error at a part of an element that is not read; ``tags`` may be meant."""
    text = f"<{shortened(child.tag)}> is not read"
    text += suggestion(child.tag, {*tags} - {child.tag})
    return element_error(child, text, element_key(element))


class _Includes:
    """Puts what other files hold in the place of the elements that name them."""

    def __init__(self, path: Path, count: int) -> None:
        self._folder = Path(os.path.realpath(path)).parent
        self._files, self._count = 1, count

    def put(self, element: ET.Element, above: tuple[Path, ...]) -> None:
        """Put the files in, for an element in the files above."""
        for index in range(len(element) - 1, -1, -1):
            child = element[index]
            if child.tag != "include":
                self.put(child, above)
                continue
            name = child.get("file", "")
            path = Path(os.path.realpath(self._folder / name)) if name else self._folder
            if "\0" in name or not path.is_relative_to(self._folder) or not name:
                text = f"'{shortened(name)}': only files beside the first are included"
                raise mjcf_error(child, text, "file")
            self._files += 1
            if path in above or self._files > _MOST_FILES:
                text = f"it includes itself, or more than {_MOST_FILES} files"
                raise mjcf_error(child, text, "file")
            root = parse_xml(read_text(path, ModelFileError), path)
            self._count += sum(1 for _ in root.iter())
            if self._count > MOST_ELEMENTS:
                text = f"with it there are more than {MOST_ELEMENTS} elements"
                raise mjcf_error(child, text, "file")
            self.put(root, (*above, path))
            element[index : index + 1] = list(root)


@dataclass
class _Compiler:
    """What ``<compiler>`` says.

    Attributes:
        angle: unit of angles in the file [rad].
        sequence: axes of Euler angles; those in small letters turn with the body.
        meshes: folder of meshes.
        from_geoms: whether geoms give bodies their inertia: ``auto``, ``true``,
            ``false``.
        groups: lowest and highest group of geoms that do.
    """

    angle: float = math.pi / 180.0
    sequence: str = "xyz"
    meshes: str = ""
    from_geoms: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)


@dataclass(frozen=True)
class MjcfElement:
    """An element with the attributes of its class of defaults.

    Attributes:
        element: in the file.
        attributes: its own, then those of its class.
        compiler: what the file says of its numbers.
    """

    element: ET.Element
    attributes: Mapping[str, str]
    compiler: _Compiler

    def get(self, name: str, default: str = "") -> str:
        """The text of an attribute."""
        return self.attributes.get(name, default)

    def choice(self, name: str, *words: str) -> str:
        """The word of an attribute, one of several; the first where it is missing."""
        word = self.get(name, words[0])
        if word not in words:
            text = f"'{shortened(word)}' is none of {', '.join(words)}"
            raise self.error(text, name)
        return word

    def error(self, message: str, attribute: str = "") -> ModelFileError:
        """An error at the element, or at an attribute."""
        return mjcf_error(self.element, message, attribute)

    def check_attributes(self) -> None:
        """Check that the element may have its attributes."""
        tag = self.element.tag
        names = {*_ATTRIBUTES[tag], *(_ORIENTATION if tag in _ORIENTED else ())}
        for name in self.attributes:
            if name not in names:
                text = f"there is no such attribute{suggestion(name, names)}"
                key = element_key(self.element, shortened(name))
                raise element_error(self.element, text, key, name)

    def numbers(
        self, name: str, count: int | tuple[int, ...], *default: float
    ) -> list[float]:
        """The numbers of an attribute, ``count`` or one of several counts."""
        text = self.attributes.get(name)
        if text is None:
            return list(default)
        values = parsed(text.split())
        counts = (count,) if isinstance(count, int) else count
        if not all(abs(value) <= _LARGEST for value in values):
            fault = "is not made of finite numbers, or they are too large"
        elif len(values) not in counts:
            fault = f"has {len(values)} numbers, not {counts[0]}"
        else:
            return values
        raise self.error(f"'{shortened(text)}' {fault}", name)

    def number(self, name: str, default: float = 0.0) -> float:
        """The number of an attribute."""
        return self.numbers(name, 1, default)[0]

    def position(self) -> np.ndarray:
        """Where it is in the frame around it (3,) [m]."""
        return np.array(self.numbers("pos", 3, 0.0, 0.0, 0.0))

    def direction(self, name: str, *default: float) -> np.ndarray:
        """The unit vector of an attribute (3,)."""
        vector = np.array(self.numbers(name, 3, *default))
        length = np.linalg.norm(vector)
        if length < _LEAST_LENGTH:
            raise self.error("it has no direction", name)
        return np.asarray(vector / length)

    def pose(self) -> pin.SE3:
        """Position and orientation in the frame around it [m]."""
        return pin.SE3(self._rotation(), self.position())

    def bounds(self, name: str, switch: str) -> tuple[float, float]:
        """Two numbers that limit something; infinite where they do not."""
        low, high = self.numbers(name, 2, 0.0, 0.0)
        limited = self.choice(switch, "auto", "true", "false")
        if limited == "auto":
            limited = "true" if low < high else "false"
        if limited != "true":
            return -math.inf, math.inf
        if not low < high:
            raise self.error(f"{low:g} is not below {high:g}", name)
        return low, high

    def _rotation(self) -> np.ndarray:
        names = [name for name in _ORIENTATION if name in self.attributes]
        names = [name for name in names if name in self.element.attrib] or names
        if len(names) > 1:
            text = f"its orientation stands twice: as {' and as '.join(names)}"
            raise self.error(text, names[1])
        if not names:
            return np.eye(3)
        name, angle = names[0], self.compiler.angle
        count = {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(name, 3)
        values = np.array(self.numbers(name, count))
        if name == "euler":
            turned = np.eye(3)
            for letter, value in zip(self.compiler.sequence, values, strict=True):
                turn = pin.utils.rotate(letter.lower(), float(value) * angle)
                turned = turned @ turn if letter.islower() else turn @ turned
            return turned
        vectors = {"axisangle": [values[:3]], "xyaxes": [values[:3], values[3:]]}
        lengths = [float(np.linalg.norm(v)) for v in vectors.get(name, [values])]
        if min(lengths) < _LEAST_LENGTH:
            raise self.error("it has no direction", name)
        if name == "quat":
            w, x, y, z = values / lengths[0]
            return np.array(pin.Quaternion(w, x, y, z).matrix())
        if name == "axisangle":
            return np.array(pin.exp3(values[:3] / lengths[0] * values[3] * angle))
        if name == "zaxis":
            return rotation_to(values)
        x = values[:3] / lengths[0]
        y = values[3:] - (x @ values[3:]) * x
        if np.linalg.norm(y) < _LEAST_LENGTH * lengths[1]:
            raise self.error("its axes are parallel", name)
        y /= np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)])


class MjcfFile:
    """The root of an MJCF file with what it includes, its settings and defaults.

    Attributes:
        root: element ``<mujoco>``.
        compiler: its settings.
    """

    def __init__(self, root: ET.Element, path: Path) -> None:
        _Includes(path, sum(1 for _ in root.iter())).put(root, ())
        for section in root:
            if section.tag not in _SECTIONS:
                raise unread(root, section, _SECTIONS)
        self.root = root
        self.compiler = _Compiler()
        self._classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for element in root.findall("compiler"):
            self._read_compiler(element)
        for element in root.findall("default"):
            self._read_default(element, self._classes["main"])
        self._meshes = {
            mesh.get("name") or Path(mesh.get("file", "")).stem: mesh
            for mesh in root.findall("asset/mesh")
        }

    def read(
        self, element: ET.Element, childclass: str = "main", tag: str = ""
    ) -> MjcfElement:
        """An element with the attributes of its class.

        Args:
            element: of the file.
            childclass: its class where it names none.
            tag: of its defaults, for elements whose attributes are not all checked.
        """
        name = element.get("class", childclass)
        if name not in self._classes:
            text = f"there is no class '{shortened(name)}'"
            text += suggestion(name, self._classes)
            raise mjcf_error(element, text, "class")
        defaults = self._classes[name].get(tag or element.tag, {})
        item = MjcfElement(element, ChainMap(element.attrib, defaults), self.compiler)
        if not tag:
            item.check_attributes()
        return item

    def mesh(self, geom: MjcfElement) -> tuple[str, np.ndarray]:
        """File and scale (3,) of a geom's mesh."""
        name = geom.get("mesh")
        if name not in self._meshes:
            text = f"there is no mesh '{shortened(name)}'"
            raise geom.error(text + suggestion(name, self._meshes), "mesh")
        mesh = self.read(self._meshes[name])
        if "file" not in mesh.attributes:
            raise element_error(
                mesh.element, "it names no file", f"mesh {shortened(name)}"
            )
        for word, default in (("refpos", (0.0,) * 3), ("refquat", (1.0, *(0.0,) * 3))):
            if mesh.numbers(word, len(default), *default) != list(default):
                raise mesh.error("is not read: move the mesh in its file", word)
        scale = np.array(mesh.numbers("scale", 3, 1.0, 1.0, 1.0))
        path = mesh.get("file")
        if not os.path.isabs(path):
            path = os.path.normpath(os.path.join(self.compiler.meshes, path))
        return path, scale

    def _read_compiler(self, element: ET.Element) -> None:
        settings = self.compiler
        item = MjcfElement(element, element.attrib, settings)
        item.check_attributes()
        for name in ("boundmass", "boundinertia", "settotalmass"):
            if item.number(name) > 0:
                text = "masses that change as they are read: save the model from MuJoCo"
                raise item.error(text, name)
        for name, default in (("balanceinertia", "false"), ("coordinate", "local")):
            if item.get(name, default) != default:
                text = f"only '{default}' is read: save the model from MuJoCo"
                raise item.error(text, name)
        if "angle" in item.attributes:
            radian = item.choice("angle", "degree", "radian") == "radian"
            settings.angle = 1.0 if radian else math.pi / 180.0
        settings.sequence = item.get("eulerseq", settings.sequence)
        if len(settings.sequence) != 3 or set(settings.sequence.lower()) - set("xyz"):
            text = f"'{shortened(settings.sequence)}' is no order of three axes"
            raise item.error(text, "eulerseq")
        settings.meshes = item.get("meshdir", item.get("assetdir", settings.meshes))
        if "inertiafromgeom" in item.attributes:
            words = ("auto", "true", "false")
            settings.from_geoms = item.choice("inertiafromgeom", *words)
        low, high = item.numbers("inertiagrouprange", 2, *settings.groups)
        settings.groups = low, high

    def _read_default(
        self, element: ET.Element, own: dict[str, dict[str, str]]
    ) -> None:
        """Read a class of defaults, and those inside it, which start as it ends."""
        name = element.get("class")
        if name is not None:
            self._classes[name] = own
        for child in element:
            if child.tag not in _DEFAULTS:
                raise unread(element, child, _DEFAULTS)
            tag = "actuator" if child.tag in _ACTUATORS else child.tag
            if child.tag != "default":
                own.setdefault(tag, {}).update(child.attrib)
        for child in element.findall("default"):
            if not child.get("class"):
                raise mjcf_error(child, "it has no class")
            inner = {tag: dict(attributes) for tag, attributes in own.items()}
            self._read_default(child, inner)


def element_name(element: ET.Element) -> str:
    """The name of an element for people."""
    return element.get("name") or f"{element.tag}_without_name"


def base_body(root: ET.Element) -> tuple[ET.Element, str, list[str]]:
    """The body that is a robot's base, its class, notes on the rest of the world."""
    worlds, notes, left = root.findall("worldbody"), list[str](), list[str]()
    bodies = {
        body: childclass
        for world in worlds
        for body, childclass in _bodies(world, "main", left)
    }
    free = [body for body in bodies if is_free(body)]
    moving = free or [body for body in bodies if _moves(body)]
    chosen = moving or [*bodies]
    if len(chosen) != 1:
        kind = "free bodies" if free else "bodies in the world"
        text = f"it has {len(chosen)} {kind}: a robot is one"
        raise element_error((chosen or [root])[-1], text, "worldbody")
    base = chosen[0]
    if not free:
        notes.append(f"{element_name(base)} is fixed in the file, floats here")
    others = [body for body in bodies if body is not base]
    for body in others:
        if _moves(body):
            text = "it moves, but is no part of the robot: leave it out"
            raise mjcf_error(body, text)
    if others:
        names = [element_name(body) for body in others]
        notes.append(f"bodies of the world are left out: {listed(names)}")
    if left:
        notes.append(f"parts of the world are left out: {listed(left)}")
    return base, bodies[base], notes


def _bodies(
    element: ET.Element, childclass: str, left: list[str]
) -> Iterator[tuple[ET.Element, str]]:
    """Bodies in the world, also in frames, with their classes.

    Args:
        element: the world, or a frame in it.
        childclass: class of what names none.
        left: takes the tags of what may hold bodies, but is not read.
    """
    childclass = element.get("childclass", childclass)
    for child in element:
        if child.tag == "body":
            yield child, childclass
        elif child.tag == "frame":
            yield from _bodies(child, childclass, left)
        elif child.tag not in BODY_PARTS:
            raise unread(element, child, BODY_PARTS)
        elif child.tag not in (*LEFT_OUT, "geom"):
            left.append(f"<{child.tag}>")


def _moves(body: ET.Element) -> bool:
    return next(body.iter("joint"), None) is not None


def is_free(body: ET.Element) -> bool:
    """Whether a body floats."""
    return body.find("freejoint") is not None or any(
        joint.get("type") == "free" for joint in body.findall("joint")
    )


def geom_size(geom: MjcfElement, kind: str) -> tuple[np.ndarray, pin.SE3]:
    """Radii and half lengths of a geom, and its pose in the frame around it [m].

    Args:
        geom: in the file.
        kind: its type; a mesh has no sizes.
    """
    if kind == "mesh":
        return np.zeros(0), geom.pose()
    count = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)
    if "fromto" in geom.attributes:
        if count != 2:
            text = f"a {kind} from a point to another is not read: give it a pose"
            raise geom.error(text, "fromto")
        ends = np.array(geom.numbers("fromto", 6)).reshape(2, 3)
        along = ends[0] - ends[1]
        length = float(np.linalg.norm(along))
        if length < _LEAST_LENGTH:
            raise geom.error("its ends are the same point", "fromto")
        size = np.array([*geom.numbers("size", (1, 2, 3))[:1], 0.5 * length])
        pose = pin.SE3(rotation_to(along), ends.mean(axis=0))
    else:
        sizes = geom.numbers("size", (count, *range(count, 4)))
        size, pose = np.array(sizes[:count]), geom.pose()
    if len(size) < count or not (size > 0.0).all():
        raise geom.error(f"a {kind} needs {count} sizes above zero", "size")
    return size, pose


def rotation_to(direction: np.ndarray) -> np.ndarray:
    """The smallest rotation that puts z along a direction (3, 3)."""
    z = np.array([0.0, 0.0, 1.0])
    unit = direction / np.linalg.norm(direction)
    if unit[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    return np.array(pin.Quaternion.FromTwoVectors(z, unit).matrix())


def solid_inertia(kind: str, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume [m^3] and moments of inertia over the mass (3,) [m^2] of a solid.

    Args:
        kind: of a geom.
        size: its radii and half lengths [m].
    """
    if kind == "box":
        squares = size**2 / 3.0
        return 8.0 * float(size.prod()), squares.sum() - squares
    if kind in ("sphere", "ellipsoid"):
        radii = np.broadcast_to(size, 3)
        squares = radii**2 / 5.0
        return 4.0 / 3.0 * math.pi * float(radii.prod()), squares.sum() - squares
    radius, half = size
    height, area = 2.0 * half, math.pi * radius**2
    tube = area * height
    along, across = radius**2 / 2.0, radius**2 / 4.0 + height**2 / 12.0
    if kind == "cylinder":
        return float(tube), np.array([across, across, along])
    ball = 4.0 / 3.0 * math.pi * radius**3
    # Each half of the ball is 3/8 of the radius beyond an end.
    cap = 0.4 * radius**2 + half**2 + 0.75 * half * radius
    total = tube + ball
    across = (tube * across + ball * cap) / total
    along = (tube * along + ball * 0.4 * radius**2) / total
    return float(total), np.array([across, across, along])
