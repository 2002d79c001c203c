# SPDX-License-Identifier: Apache-2.0
"""URDFs damaged as robots' files are: by hand, by exporters, or to do harm."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from xml.etree import ElementTree

from mutations import damaged
from urdf_numbers import damaged_numbers

Element = ElementTree.Element
NUMBERS = ("nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "0", "-1", "")
NUMBERS += ("1e9", "0x10", "1,5", "one", "1 2", "٣")
ATTRIBUTES = ("value", "xyz", "rpy", "lower", "upper", "effort", "velocity", "ixx")
ATTRIBUTES += ("iyy", "izz", "size", "radius", "length", "scale")


def _some(root: Element, chance: random.Random, path: str) -> Element:
    found = root.findall(path)
    return chance.choice(found) if found else root


def _parent(joint: Element) -> str:
    parent = joint.find("parent")
    return "" if parent is None else parent.get("link", "")


def _missing_link(root: Element, chance: random.Random) -> None:
    root.remove(_some(root, chance, "link"))


def _missing_joint(root: Element, chance: random.Random) -> None:
    root.remove(_some(root, chance, "joint"))


def _number(root: Element, chance: random.Random) -> None:
    """One to three numbers that are none, or beyond all robots."""
    for _ in range(chance.choice((1, 1, 3))):
        elements = [e for e in root.iter() if set(e.attrib) & set(ATTRIBUTES)]
        element = chance.choice(elements)
        name = chance.choice([a for a in element.attrib if a in ATTRIBUTES])
        words = element.attrib[name].split() or [""]
        words[chance.randrange(len(words))] = chance.choice(NUMBERS)
        element.set(name, " ".join(words))


def _cycle(root: Element, chance: random.Random) -> None:
    """A joint whose child is one of the links above it."""
    joint, other = _some(root, chance, "joint"), _some(root, chance, "joint")
    _some(joint, chance, "child").set("link", _parent(other))


def _self_joint(root: Element, chance: random.Random) -> None:
    joint = _some(root, chance, "joint")
    _some(joint, chance, "child").set("link", _parent(joint))


def _no_inertia(root: Element, chance: random.Random) -> None:
    links = root.findall("link")
    for link in links if chance.random() < 0.3 else [chance.choice(links)]:
        for part in link.findall("inertial"):
            link.remove(part)


def _inertia(root: Element, chance: random.Random) -> None:
    """No body has such moments of inertia."""
    element = _some(root, chance, "link/inertial/inertia")
    for name in chance.sample(("ixx", "iyy", "izz", "ixy", "ixz"), 2):
        element.set(name, chance.choice(("-1", "0", "1e6", "100")))


def _mass(root: Element, chance: random.Random) -> None:
    masses = root.findall("link/inertial/mass")
    value = chance.choice(("0", "0", "-1", "1e-300", "1e30", "nan"))
    for mass in masses if chance.random() < 0.4 else [chance.choice(masses)]:
        mass.set("value", value)


def _mesh(root: Element, chance: random.Random) -> None:
    """Meshes that are not there, or are something else."""
    name = chance.choice(
        (
            "none.stl",
            "package://none/none.dae",
            "/dev/zero",
            "../../../x",
            "",
            "\\",
            ".",
        )
    )
    meshes = list(root.iter("mesh"))
    for mesh in meshes if chance.random() < 0.5 else meshes[:1]:
        mesh.set("filename", name)
    for geometry in root.iter("geometry"):
        if chance.random() < 0.2:
            for shape in list(geometry):
                geometry.remove(shape)
            ElementTree.SubElement(geometry, "mesh", filename=name)


def _no_shapes(root: Element, chance: random.Random) -> None:
    for link in root.findall("link"):
        for word in ("collision", "visual"):
            for part in link.findall(word):
                link.remove(part)


def _axis(root: Element, chance: random.Random) -> None:
    words = ("0 0 0", "1 1", "nan 0 1", "2 0 0", "1e-200 0 0", "1 1 1", "", "x y z")
    for _ in range(chance.choice((1, 4))):
        _some(root, chance, "joint/axis").set("xyz", chance.choice(words))


def _same_names(root: Element, chance: random.Random) -> None:
    kind = chance.choice(("link", "joint"))
    name = _some(root, chance, kind).get("name", "")
    _some(root, chance, kind).set("name", chance.choice((name, name, "", "universe")))


def _limits(root: Element, chance: random.Random) -> None:
    limits = root.findall("joint/limit")
    values = chance.choice(
        (
            {"lower": "1", "upper": "-1"},
            {"lower": "-1e308", "upper": "1e308"},
            {"lower": "3", "upper": "3.1"},
            {"lower": "0", "upper": "0"},
            {"effort": "-5", "velocity": "0"},
            {"effort": "1e300", "velocity": "1e300"},
            {"effort": "nan"},
        )
    )
    for limit in limits if chance.random() < 0.5 else [chance.choice(limits)]:
        limit.attrib.update(values)


def _no_limits(root: Element, chance: random.Random) -> None:
    for joint in root.findall("joint"):
        for limit in joint.findall("limit"):
            joint.remove(limit)


def _joint_type(root: Element, chance: random.Random) -> None:
    words = ("fixed", "floating", "planar", "prismatic", "continuous", "hinge", "")
    for _ in range(chance.choice((1, 5))):
        _some(root, chance, "joint").set("type", chance.choice(words))


def _mimic(root: Element, chance: random.Random) -> None:
    joint, other = _some(root, chance, "joint"), _some(root, chance, "joint")
    ElementTree.SubElement(
        joint, "mimic", joint=other.get("name", ""), multiplier="1e9", offset="nan"
    )


def _two_roots(root: Element, chance: random.Random) -> None:
    ElementTree.SubElement(root, "link", name="another_root")


def _long_chain(root: Element, chance: random.Random) -> None:
    """A tail of hundreds of links."""
    parent = _some(root, chance, "link").get("name", "")
    for k in range(chance.choice((50, 400))):
        ElementTree.SubElement(root, "link", name=f"tail{k}")
        joint = ElementTree.SubElement(root, "joint", name=f"bend{k}", type="fixed")
        ElementTree.SubElement(joint, "parent", link=parent)
        parent = f"tail{k}"
        ElementTree.SubElement(joint, "child", link=parent)


def _far(root: Element, chance: random.Random) -> None:
    """Parts a kilometre, or a nanometre, apart."""
    scale = chance.choice((1e3, 1e6, 1e-6, -1.0, 0.0))
    for origin in root.findall("joint/origin"):
        numbers = [float(x) * scale for x in origin.get("xyz", "0 0 0").split()]
        origin.set("xyz", " ".join(map(repr, numbers)))


def _one_leg(root: Element, chance: random.Random) -> None:
    for joint in root.findall("joint"):
        if joint.get("name", "").startswith("l_"):
            joint.set("type", "fixed")


STRUCTURED: tuple[Callable[[Element, random.Random], None], ...] = (
    *(_missing_link, _missing_joint, _number, _number, _number, _cycle, _self_joint),
    *(_no_inertia, _inertia, _mass, _mesh, _no_shapes, _axis, _same_names, _limits),
    *(_no_limits, _joint_type, _mimic, _two_roots, _long_chain, _far, _one_leg),
)


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def _tag(text: str, chance: random.Random) -> str:
    """One bracket, quote or slash less."""
    places = [match.start() for match in re.finditer(r'[<>"/]', text)]
    at = chance.choice(places)
    return text[:at] + text[at + 1 :]


def _deep(text: str, chance: random.Random) -> str:
    depth = chance.choice((100, 20_000, 200_000))
    return text.replace("</robot>", "<a>" * depth + "</a>" * depth + "</robot>")


def _entity(text: str, chance: random.Random) -> str:
    """A file of the machine inside the robot's name."""
    head = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    body = text[text.index("<robot") :]
    return head + re.sub(r'name="[^"]*"', 'name="&x;"', body, count=1)


def _laughs(text: str, chance: random.Random) -> str:
    """Entities that double thirty times."""
    entities = ['<!ENTITY a0 "ha">']
    entities += [f'<!ENTITY a{k} "&a{k - 1};&a{k - 1};">' for k in range(1, 31)]
    body = text[text.index("<robot") :].replace("</robot>", "&a30;</robot>")
    return f"<!DOCTYPE robot [{''.join(entities)}]>{body}"


def _empty(text: str, chance: random.Random) -> str:
    words = ("", " ", "<robot/>", '<robot name="x"/>', "<a/>", "\0", "{}", "\ufeff")
    return chance.choice(words)


TEXTUAL = (_cut, _tag, _deep, _entity, _laughs, _empty)
KINDS = (*STRUCTURED, *TEXTUAL)
"""Ways to damage a URDF."""


def damage(data: bytes, kind: Callable[..., object], chance: random.Random) -> bytes:
    """A sound URDF, damaged in one way."""
    text = data.decode()
    if kind in TEXTUAL:
        return str(kind(text, chance)).encode()
    root = ElementTree.fromstring(text)
    kind(root, chance)
    return ElementTree.tostring(root)


def damaged_urdf(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """A sound URDF, damaged in one to three ways, or byte by byte."""
    if chance.random() < 0.1:
        return damaged(data, chance, others)
    if chance.random() < 0.2:
        return damaged_numbers(data, chance, others)
    root = ElementTree.fromstring(data.decode())
    if chance.random() < 0.3:
        return damage(data, chance.choice(TEXTUAL), chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.choice(STRUCTURED)
        if root.find("link") is None or root.find("joint") is None:
            break
        kind(root, chance)
    return ElementTree.tostring(root)
