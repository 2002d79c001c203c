# SPDX-License-Identifier: Apache-2.0
"""XML from files of others: no document types, bounded in depth and in size."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from humans_sim.core.errors import ModelFileError

DEEPEST = 64
"""Elements inside each other."""
MOST = 100_000
"""Elements of a file."""


def parse_xml(text: str, path: Path) -> ET.Element:
    """The root element of XML text.

    A document type is refused: it can define entities that grow, or name other files.

    Raises:
        ModelFileError: it is no XML, has a document type, or is beyond the limits.
    """
    parser = ET.XMLParser(target=_Builder(path))
    try:
        parser.feed(text)
        root: ET.Element = parser.close()
    except ET.ParseError as error:
        raise ModelFileError(
            f"not XML: {error.msg}", path, error.position[0]
        ) from error
    except ValueError as error:  # text that expat cannot encode, unknown encodings
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"not XML: {error}", path) from error
    return root


class _Builder(ET.TreeBuilder):
    """Counts while it builds."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._depth = self._count = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ET.Element:  # type: ignore[override]
        self._depth += 1
        self._count += 1
        if self._depth > DEEPEST:
            raise ModelFileError("not XML: nested too deeply", self._path)
        if self._count > MOST:
            raise ModelFileError(f"not XML: more than {MOST} elements", self._path)
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ModelFileError("a document type is not allowed", self._path, 1)
