# SPDX-License-Identifier: Apache-2.0
"""JSON and XML from files of others, bounded in depth and size."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from humans_sim.core.errors import ModelFileError

DEEPEST_LIST = 32
"""Lists and objects inside each other."""
_DIGITS = 18
"""Of a whole number: what 64 bits hold."""


def parse_json(text: str) -> dict[str, Any]:
    """The object that a JSON text holds; ValueError where it is none, or too deep."""
    try:
        document = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("must be an object")
    level: list[Any] = [document]
    for _ in range(DEEPEST_LIST):
        level = [child for value in level for child in _children(value)]
        if not level:
            return document
    raise ValueError("nested too deeply")


def fits(value: Any, shape: Any) -> bool:
    """Whether JSON has a shape: a type, a list of shapes, a dictionary of shapes."""
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(fits(value[key], part) for key, part in shape.items())
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    return isinstance(value, shape) and value == value


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a whole number has {len(digits)} digits")
    return int(digits)


DEEPEST_ELEMENT = 64
"""Elements inside each other."""
MOST_ELEMENTS = 100_000
"""Elements of a file."""
_ATTRIBUTE = re.compile(rb"""\s([^\s=<>/]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


class Place(NamedTuple):
    """Where an element stands: file, line from 1, all its data, start of its tag."""

    path: Path
    line: int
    data: bytes
    start: int


class XmlElement(ET.Element):
    """An element that knows where it stands in its file."""

    def __init__(self, tag: str, attributes: dict[str, str], place: Place) -> None:
        super().__init__(tag, attributes)
        self.place = place


def element_at(source: ET.Element, tag: str, attributes: dict[str, str]) -> ET.Element:
    """A new element with the place of another one in its file."""
    if isinstance(source, XmlElement):
        return XmlElement(tag, attributes, source.place)
    return ET.Element(tag, attributes)


def element_error(
    element: ET.Element, message: str, key: str | None = None, attribute: str = ""
) -> ModelFileError:
    """An error with the file and the line of an element, or of an attribute of it."""
    if not isinstance(element, XmlElement):
        return ModelFileError(message, key=key)
    path, line, data, start = element.place
    if attribute in element.attrib:
        for match in _ATTRIBUTE.finditer(data, start):
            if match[1] == attribute.encode():
                line += data.count(b"\n", start, match.start(1))
                break
    return ModelFileError(message, path, line, key)


def parse_xml(text: str, path: Path) -> ET.Element:
    """The root element of XML text; it and all below it know their lines.

    A document type is refused: it can define entities that grow, or name other files.
    """
    try:
        return _Reader(text.encode(), path).root()
    except expat.ExpatError as error:
        raise ModelFileError(f"not XML: {error}", path, error.lineno) from error
    except ValueError as error:  # text that UTF-8 has no bytes for
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"not XML: {error}", path) from error


class _Reader:
    """Builds elements and counts them."""

    def __init__(self, data: bytes, path: Path) -> None:
        self._data, self._path = data, path
        self._depth = self._count = 0
        self._builder = ET.TreeBuilder(self._element)
        parser = self._parser = expat.ParserCreate("utf-8", "}")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._builder.data
        parser.StartDoctypeDeclHandler = self._doctype

    def root(self) -> ET.Element:
        self._parser.Parse(self._data, True)
        return self._builder.close()

    def _element(self, tag: str, attributes: dict[str, str]) -> XmlElement:
        line, start = self._parser.CurrentLineNumber, self._parser.CurrentByteIndex
        return XmlElement(tag, attributes, Place(self._path, line, self._data, start))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._count += 1
        if self._depth > DEEPEST_ELEMENT:
            raise ModelFileError("not XML: nested too deeply", self._path)
        if self._count > MOST_ELEMENTS:
            raise ModelFileError(
                f"not XML: more than {MOST_ELEMENTS} elements", self._path
            )
        named = {_name(name): value for name, value in attributes.items()}
        self._builder.start(_name(tag), named)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self._builder.end(_name(tag))

    def _doctype(self, *_: object) -> None:
        raise ModelFileError("a document type is not allowed", self._path, 1)


def _name(name: str) -> str:
    """A name as ElementTree has it: ``{address}name`` where it has a name space."""
    return f"{{{name}" if "}" in name else name
