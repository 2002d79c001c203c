# SPDX-License-Identifier: Apache-2.0
"""Numbers, attributes and elements of a URDF, each damaged in one way.

Damage is done to the text, at a place by chance: a writer of XML would repair some.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

_TAGS = re.compile(r"<(mass|inertia|origin|axis|limit|box|cylinder|sphere)\s[^>]*>")
_ATTRIBUTE = re.compile(r'([\w:]+)="([^"]*)"')


class Damage(NamedTuple):
    """A damaged URDF.

    Attributes:
        text: of the file.
        words: elements and attributes; an error about it has to name one.
        line: on which it was done, where only one has changed.
    """

    text: str
    words: tuple[str, ...]
    line: int | None = None


Kind = Callable[[str, random.Random], Damage]
VALUES: dict[str, Callable[[str], str]] = {
    "blank behind": lambda value: f"{value} ",
    "blank in front": lambda value: f" {value}",
    "blanks around": lambda value: f"   {value}   ",
    "tab behind": lambda value: f"{value}\t",
    "tabs between": lambda value: value.replace(" ", "\t"),
    "blanks between": lambda value: value.replace(" ", "   "),
    "blank by its number": lambda value: f"{value}&#32;",
    "tab by its number": lambda value: f"{value}&#9;",
    "line break by its number": lambda value: f"{value}&#10;",
    "no-break space": lambda value: f"{value}\u00a0",
    "zero-width space": lambda value: f"{value}\u200b",
    "plus": lambda value: _first(value, lambda word: f"+{word.lstrip('-')}"),
    "400 digits": lambda value: _first(value, _long),
    "exponent": lambda value: _first(value, lambda word: f"{float(word):.17e}"),
    "capital exponent": lambda value: _first(value, lambda word: f"{float(word):.17E}"),
    "no zero in front": lambda value: _first(value, lambda _: ".5"),
    "nothing behind the point": lambda value: _first(value, lambda _: "1."),
    "empty": lambda value: "",
    "blank only": lambda value: " ",
    "two numbers": lambda value: "2 -5",
    "one number less": lambda value: " ".join(value.split()[:-1]),
    "one number more": lambda value: f"{value} 1",
    "hexadecimal": lambda value: _first(value, lambda _: "0x10"),
    "overflow": lambda value: _first(value, lambda _: "1e400"),
    "underflow": lambda value: _first(value, lambda _: "1e-400"),
    "denormal": lambda value: _first(value, lambda _: "1e-320"),
    "nan": lambda value: _first(value, lambda _: "nan"),
    "infinity": lambda value: _first(value, lambda _: "inf"),
    "infinity in words": lambda value: _first(value, lambda _: "-Infinity"),
    "decimal comma": lambda value: _first(value, lambda _: "1,5"),
    "unit": lambda value: f"{value}kg",
    "unit behind a blank": lambda value: f"{value} m",
    "degrees": lambda value: f"{value}°",
    "underscore": lambda value: _first(value, lambda _: "1_0"),
    "digits of another script": lambda value: _first(value, lambda _: "٣"),
    "minus sign of typography": lambda value: _first(value, lambda _: "−1"),
    "word": lambda value: "heavy",
    "two signs": lambda value: _first(value, lambda _: "--1"),
    "two points": lambda value: _first(value, lambda _: "1.2.3"),
    "exponent cut": lambda value: _first(value, lambda _: "1e"),
    "Fortran exponent": lambda value: _first(value, lambda _: "1d-3"),
    "expression": lambda value: _first(value, lambda _: "${0.5}"),
    "fraction": lambda value: _first(value, lambda _: "1/2"),
    "brackets": lambda value: f"[{value}]",
    "commas between": lambda value: ", ".join(f"{value} 1".split()),
    "semicolons": lambda value: ";".join(f"{value} 1".split()),
    "quotes": lambda value: f"'{value}'",
    "too large": lambda value: _first(value, lambda _: "1e35"),
}
"""What may happen to the numbers of an attribute."""


def _first(value: str, change: Callable[[str], str]) -> str:
    first, *rest = value.split()
    return " ".join((change(first), *rest))


def _long(word: str) -> str:
    return word + ("" if "." in word else ".") + "0" * 400 if "e" not in word else word


def _attribute(change: Callable[[str], str]) -> Kind:
    def kind(text: str, chance: random.Random) -> Damage:
        places = [
            (tag, name)
            for tag in _TAGS.finditer(text)
            for name in _ATTRIBUTE.finditer(tag[0])
            if change(name[2]) != name[2]
        ]
        word = chance.choice(sorted({tag[1] for tag, _ in places}))  # masses are rare
        tag, name = chance.choice([pair for pair in places if pair[0][1] == word])
        begin, end = (tag.start() + place for place in name.span(2))
        line = text.count("\n", 0, begin) + 1
        made = text[:begin] + change(name[2]) + text[end:]
        return Damage(made, (f"<{tag[1]}",), line)

    return kind


def _replace(pattern: str, made: str | Callable[..., str], *words: str) -> Kind:
    """Replace one of the places that a pattern matches."""

    def kind(text: str, chance: random.Random) -> Damage:
        place = chance.choice(list(re.finditer(pattern, text)))
        new = made(place) if callable(made) else place.expand(made)
        return Damage(text[: place.start()] + new + text[place.end() :], words)

    return kind


def _all(pattern: str, made: str, *words: str) -> Kind:
    return lambda text, _: Damage(re.sub(pattern, made, text), words)


def _tag(name: str) -> str:
    return rf"<{name}\s[^>]*/>"


def _doubled(name: str, inside: str) -> Kind:
    """An element twice, with other numbers the second time."""
    pattern = rf"(<{inside}[\s>](?:(?!</{inside}>)[\s\S])*?)(<{name}\s[^>]*/>)"

    def made(place: re.Match[str]) -> str:
        return place[1] + place[2] + re.sub(r'"[-\d.]+', '"1.5', place[2])

    return _replace(pattern, made, f"<{name}>")


def _circle(text: str, chance: random.Random) -> Damage:
    """Two joints that follow each other."""
    names = re.findall(r'<joint name="([^"]*)" type="revolute"', text)
    pair = chance.sample(names, 2)
    for name, other in (pair, pair[::-1]):
        opened = f'<joint name="{name}" type="revolute">'
        text = text.replace(opened, f'{opened}<mimic joint="{other}"/>')
    return Damage(text, ("<mimic joint>",))


_INERTIAL = r"<inertial>(?:(?!</inertial>)[\s\S])*</inertial>"
_JOINT = r'(<joint name="([^"]*)" type="revolute">)'
ELEMENTS: dict[str, Kind] = {
    "attribute over lines": _replace(r'(<origin xyz="[^" ]*) ([^"]*")', r"\1\n\2"),
    "attribute misspelt": _replace("<mass value=", "<mass vaule=", "<mass vaule>"),
    "attribute with a capital": _replace("<mass v", "<mass V", "<mass Value>"),
    "axis attribute misspelt": _replace("<axis xyz", "<axis xzy", "<axis xzy>"),
    "inertia attribute misspelt": _replace(' iyy="', ' iyv="', "<inertia iyv>"),
    "limit attribute misspelt": _replace(' effort="', ' efort="', "<limit efort>"),
    "origin attribute misspelt": _replace(
        '<origin xyz="', '<origin pos="', "<origin pos>"
    ),
    "attribute missing": _replace(r"<mass [^>]*/>", "<mass/>", "<mass value>"),
    "moment missing": _replace(r' ixy="[^"]*"', "", "<inertia ixy>"),
    "effort missing": _replace(r' effort="[^"]*"', "", "<limit effort>"),
    "attribute too many": _replace("<mass ", '<mass unit="g" ', "<mass unit>"),
    "attribute twice": _replace(r"<mass (\S+)", r"<mass \1 \1"),
    "attribute of a name space": _replace(
        r"<mass v", r'<mass xmlns:a="b" a:v', "<mass value>"
    ),
    "number as text": _replace(
        r'<mass value="([^"]*)"\s*/>', r"<mass>\1</mass>", "<mass value>"
    ),
    "no mass": _replace(_tag("mass"), "", "<inertial>"),
    "no inertia": _replace(_tag("inertia"), "", "<inertial>"),
    "mass in a comment": _replace(rf"({_tag('mass')})", r"<!--\1-->", "<inertial>"),
    "inertial empty": _replace(_INERTIAL, "<inertial/>", "<inertial>"),
    "mass twice": _doubled("mass", "inertial"),
    "inertia twice": _doubled("inertia", "inertial"),
    "origin of inertia twice": _doubled("origin", "inertial"),
    "inertial twice": _replace(f"({_INERTIAL})", r"\1\1", "<inertial>"),
    "origin of a joint twice": _doubled("origin", "joint"),
    "axis twice": _doubled("axis", "joint"),
    "limit twice": _doubled("limit", "joint"),
    "child twice": _doubled("child", "joint"),
    "mass misspelt": _replace("<mass ", "<mas ", "<inertial>", "<mas>"),
    "mass with a capital": _replace("<mass ", "<Mass ", "<inertial>", "<Mass>"),
    "inertial misspelt": _replace(
        _INERTIAL, lambda m: m[0].replace("inertial>", "inertail>"), "<inertail>"
    ),
    "origin misspelt": _replace("<origin ", "<orgin ", "<orgin>"),
    "axis misspelt": _replace("<axis ", "<axes ", "<axes>"),
    "limit misspelt": _replace("<limit ", "<limits ", "<limits>"),
    "link misspelt": _replace(
        r"<link (name=[^>]*)>((?:(?!</link>)[\s\S])*)</link>",
        r"<lnk \1>\2</lnk>",
        *("<lnk>", "joint"),
    ),
    "type misspelt": _replace('"revolute"', '"revolut"', "<joint type>"),
    "axis of no length": _replace(_tag("axis"), '<axis xyz="0 0 0"/>', "<axis xyz>"),
    "axis of hardly any length": _replace(
        _tag("axis"), '<axis xyz="0 1e-31 0"/>', "<axis xyz>"
    ),
    "axis of length 2": _replace(_tag("axis"), '<axis xyz="0 2 0"/>', "<axis xyz>"),
    "no mass at all": _all(r'<mass value="[^"]*"', '<mass value="0"', "robot", "link"),
    "no inertial at all": _all(_INERTIAL, "", "robot"),
    "joint that follows itself": _replace(
        _JOINT, r'\1<mimic joint="\2"/>', "<mimic joint>"
    ),
    "joints that follow each other": _circle,
    "joint that follows nobody": _replace(
        _JOINT, r'\1<mimic joint="nobody"/>', "<mimic joint>"
    ),
    "ball of no size": _replace(
        "<geometry>[^/]*/>", '<geometry><sphere radius="0"/>', "<sphere radius>"
    ),
    "ball of hardly any size": _replace(
        "<geometry>[^/]*/>", '<geometry><sphere radius="1e-31"/>', "<sphere radius>"
    ),
    "ball of less than nothing": _replace(
        "<geometry>[^/]*/>", '<geometry><sphere radius="-1"/>', "<sphere radius>"
    ),
    "two shapes": _replace(
        "<geometry>", '<geometry><sphere radius="1"/>', "<geometry>", "<sphere>"
    ),
}
"""What may happen to attributes and elements."""
NUMERIC: dict[str, Kind] = {
    **{name: _attribute(change) for name, change in VALUES.items()},
    **ELEMENTS,
}
"""Ways to damage a URDF without making it something else than XML, by name."""


def damaged_numbers(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    """A sound URDF, damaged in one of these ways."""
    kind = NUMERIC[chance.choice(list(NUMERIC))]
    return kind(data.decode(), chance).text.encode()
