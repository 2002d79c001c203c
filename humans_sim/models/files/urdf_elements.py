# SPDX-License-Identifier: Apache-2.0
"""Elements of a URDF: their contents, and the numbers in them.

urdfdom reads what it can and drops the rest: a mass with a blank behind its number
loses the link its inertia. So every element that it knows is checked here first, and
every number is written as it reads numbers: one blank between two, none at the ends.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from humans_sim.core.bounded_text import element_at, element_error
from humans_sim.core.expressions import shortened
from humans_sim.core.yaml_file import did_you_mean

SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
JOINT_TYPES = (
    *("revolute", "continuous", "prismatic"),
    *("fixed", "floating", "planar"),
)
SMALLEST_SIZE = 1e-9
"""Shapes with a smaller radius, length or edge are left out [m]."""
_LARGEST = 1e9
"""Lengths, masses and moments beyond it are mistakes [m, kg, kg m^2]."""
NO_LIMIT = 1e30
"""Stands for no limit; those beyond it overflow [rad, N m, rad/s]."""
_LIMITS = ("lower", "upper", "effort", "velocity")
_SIZES = ("radius", "length", "size")
_SIMILAR = 0.75
"""Elements whose names are so near to a known one are taken for misspelt."""
_LONGEST_NAME = 80
"""Longer names are not compared with others [characters]."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A number as files may have it."""
_WORD = re.compile(r"[^ \t\r\n]+")
"""What stands between the blanks of XML."""
_FOREIGN = ("ros2_control", "gazebo", "transmission")
"""Parts of a robot that are for others, with all that is in them."""


@dataclass(frozen=True)
class _Kind:
    """An element.

    Attributes:
        numbers: attributes that hold numbers, and how many.
        words: other attributes.
        needs: attributes and children that must be there.
        once: children of which there is at most one.
        many: other children.
        closed: whether it has no attributes but these.
    """

    numbers: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    words: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    closed: bool = True


def _one(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


_KINDS = {
    "robot": _Kind(many=("link", "joint", "material", *_FOREIGN), closed=False),
    "link": _Kind(
        words=("name",),
        needs=("name",),
        once=("inertial",),
        many=("visual", "collision"),
        closed=False,
    ),
    "inertial": _Kind(
        once=("origin", "mass", "inertia"), needs=("mass", "inertia"), closed=False
    ),
    "origin": _Kind({"xyz": 3, "rpy": 3}),
    "mass": _Kind(_one("value"), needs=("value",)),
    "inertia": _Kind(_one(*MOMENTS), needs=MOMENTS),
    "visual": _Kind(once=("origin", "geometry", "material"), closed=False),
    "collision": _Kind(once=("origin", "geometry"), closed=False),
    "geometry": _Kind(once=SHAPES, closed=False),
    "box": _Kind({"size": 3}, needs=("size",)),
    "sphere": _Kind(_one("radius"), needs=("radius",)),
    "cylinder": _Kind(_one("radius", "length"), needs=("radius", "length")),
    "capsule": _Kind(_one("radius", "length"), needs=("radius", "length")),
    "mesh": _Kind({"scale": 3}, words=("filename",), needs=("filename",)),
    "material": _Kind(words=("name",), once=("color", "texture"), closed=False),
    "color": _Kind({"rgba": 4}, needs=("rgba",)),
    "joint": _Kind(
        words=("name", "type"),
        needs=("name", "type", "parent", "child"),
        once=(
            *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
            *("safety_controller", "calibration"),
        ),
        closed=False,
    ),
    "parent": _Kind(words=("link",), needs=("link",)),
    "child": _Kind(words=("link",), needs=("link",)),
    "axis": _Kind({"xyz": 3}, needs=("xyz",)),
    "limit": _Kind(
        _one(*_LIMITS, "acceleration", "deceleration", "jerk"),
    ),
    "dynamics": _Kind(_one("damping", "friction", "armature")),
    "mimic": _Kind(_one("multiplier", "offset"), words=("joint",), needs=("joint",)),
    "safety_controller": _Kind(
        _one("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
        needs=("k_velocity",),
    ),
    "calibration": _Kind(_one("rising", "falling", "reference_position")),
}


def check_numbers(element: ET.Element, name: str, count: int, part: str = "") -> bool:
    """Check an attribute that may be missing; whether it had needless blanks."""
    text = element.get(name)
    if text is None:
        return False
    words = _WORD.findall(text)
    fault = _fault(words, name, count)
    if fault:
        message, key = f"'{shortened(text)}' {fault}", _key(part, element.tag, name)
        raise element_error(element, message, key, name)
    if text == " ".join(words):
        return False
    element.set(name, " ".join(words))
    return True


def suggestion(word: str, names: Iterable[str]) -> str:
    """:func:`did_you_mean`, for words of files: comparing long ones takes for ever."""
    if len(word) > _LONGEST_NAME:
        return ""
    return did_you_mean(word, [name for name in names if len(name) <= _LONGEST_NAME])


def parsed(words: Iterable[str]) -> list[float]:
    """Numbers that words of a file are; not-a-number for each that is none."""
    return [float(word) if _NUMBER.fullmatch(word) else math.nan for word in words]


def written(values: np.ndarray | float) -> str:
    """Numbers as a URDF has them, to their last bit; what is next to zero is zero."""
    return " ".join(
        repr(value if abs(value) > sys.float_info.min else 0.0)
        for value in np.ravel(values).tolist()
    )


def listed(names: Sequence[str]) -> str:
    """Some of the names, and how many more there are."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(shortened(name) for name in names[:4]) + more


def add_part(
    above: ET.Element, tag: str, source: ET.Element | None = None, **attributes: str
) -> ET.Element:
    """Add an element at the place of its source in the file, else of ``above``."""
    made = element_at(above if source is None else source, tag, attributes)
    above.append(made)
    return made


def numbers(element: ET.Element | None, name: str, *default: float) -> list[float]:
    """The numbers of an attribute that was checked; ``default`` where it is missing."""
    text = None if element is None else element.get(name)
    return list(default) if text is None else [float(word) for word in text.split()]


def number(element: ET.Element | None, name: str, default: float = 0.0) -> float:
    """The number of an attribute that was checked; ``default`` where it is missing."""
    return numbers(element, name, default)[0]


def inertia_matrix(inertia: ET.Element) -> np.ndarray:
    """The matrix of an ``<inertia>`` that was checked (3, 3) [kg m^2]."""
    xx, xy, xz, yy, yz, zz = (number(inertia, name) for name in MOMENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def element_key(element: ET.Element, part: str = "") -> str:
    """A link or joint, or a part of it: ``link leg <mass value>``."""
    name = f"{element.tag} {shortened(element.get('name', ''))}".strip()
    return f"{name} <{part}>" if part else name


def linked(joint: ET.Element, end: str) -> str:
    """The link at an end of a joint, ``parent`` or ``child``."""
    element = joint.find(end)
    return "" if element is None else str(element.get("link"))


def shape_of(geometry: ET.Element | None) -> ET.Element | None:
    """The shape of a ``<geometry>``; elements of other programs may stand beside it."""
    for element in () if geometry is None else geometry:
        if not element.tag.startswith("{"):
            return element
    return None


def is_tiny(shape: ET.Element) -> bool:
    """Whether a shape that was checked is a point, a line or a sheet."""
    return any(size < SMALLEST_SIZE for name in _SIZES for size in numbers(shape, name))


def check_elements(element: ET.Element, tag: str = "robot", part: str = "") -> bool:
    """Check what urdfdom will read; whether numbers had blanks that it takes amiss.

    Of an element and all below it; ``part`` is the link or joint it is of.
    """
    kind = _KINDS[tag]
    _check_attributes(element, kind, part)
    counts = Counter(child.tag for child in element)
    for name in kind.once:
        if counts[name] > 1:
            second = [child for child in element if child.tag == name][1]
            text = f"<{tag}> has {counts[name]} of them: leave one"
            raise element_error(second, text, _key(part, name))
    changed = False
    for name, count in kind.numbers.items():
        changed |= check_numbers(element, name, count, part)
    known = (*kind.once, *kind.many)
    for child in element:
        if child.tag in _FOREIGN:
            continue
        if child.tag in known and child.tag in _KINDS:
            name = child.get("name", "")
            named = tag == "robot"
            below = f"{child.tag} {shortened(name)}" if named else part
            changed |= check_elements(child, child.tag, below)
        elif child.tag not in known:
            word = child.tag.lower()[:_LONGEST_NAME]
            similar = difflib.get_close_matches(word, known, 1, _SIMILAR)
            if similar:
                text = f"<{tag}> has no such part{suggestion(child.tag, similar)}"
                raise element_error(child, text, _key(part, child.tag))
    if tag == "geometry" and sum(counts[shape] for shape in SHAPES) > 1:
        raise element_error(
            element, "it has several shapes: leave one", _key(part, tag)
        )
    return changed


def _check_attributes(element: ET.Element, kind: _Kind, part: str) -> None:
    tag, children = element.tag, {child.tag for child in element}
    known = (*kind.numbers, *kind.words)
    if kind.closed:
        for name in element.attrib:
            if name not in known and not name.startswith("{"):
                near = suggestion(name, known)
                listed = near or f" (it has: {', '.join(known)})"
                text = f"there is no such attribute{listed}"
                raise element_error(element, text, _key(part, tag, name), name)
    for name in kind.needs:
        if name in (*kind.once, *kind.many):
            if name not in children:
                raise element_error(element, f"it has no <{name}>", _key(part, tag))
        elif name not in element.attrib:
            text = f"the attribute '{name}' is missing"
            raise element_error(element, text, _key(part, tag, name))


def _fault(words: list[str], name: str, count: int) -> str:
    """The fault of the numbers of an attribute; nothing where all is well."""
    values = parsed(words)
    if not all(map(math.isfinite, values)):
        return "is not made of finite numbers"
    if len(values) != count:
        return f"has {len(values)} numbers, not {count}"
    largest = NO_LIMIT if name in _LIMITS else _LARGEST
    for word, value in zip(words, values, strict=True):
        if abs(value) > largest:
            return "is too large a number"
        # urdfdom takes what is below the smallest normal number for no number at all.
        if abs(value) < sys.float_info.min:
            if word.lower().partition("e")[0].strip("+-.0"):
                return "is too small a number"
    if name in _SIZES and min(values) < 0:
        return "is negative"
    if name == "scale" and not all(values):
        return "has a zero: the scale of a mesh has three numbers, none of them zero"
    return ""


def _key(part: str, tag: str, attribute: str = "") -> str:
    """Where something stands, in words: ``link leg <mass value>``."""
    name = f"<{shortened(tag)} {shortened(attribute)}>" if attribute else f"<{tag}>"
    return f"{part} {name}".strip()
