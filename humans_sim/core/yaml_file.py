# SPDX-License-Identifier: Apache-2.0
"""Strict reading of YAML model files: every fault names its file, line and key."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from humans_sim.core.errors import HumansError, ModelFileError
from humans_sim.core.expressions import ExpressionError, evaluate, shortened
from humans_sim.core.files import read_text

# libyaml's where it is built in: ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LARGEST = 1 << 22
"""Longest file [bytes]."""
DEEPEST = 32
"""Lists and mappings inside each other."""
MOST = 100_000
"""Values of a file, aliases counted as what they stand for."""
SMALLEST_NUMBER = 1e-30
"""Numbers above zero that are smaller are refused."""
LARGEST_NUMBER = 1e12
"""No quantity of a file is larger, whatever its unit."""
_TAGS = tuple(
    f"tag:yaml.org,2002:{word}"
    for word in ("str", "int", "float", "bool", "null", "seq", "map")
)
"""Those that a file may have, though none needs them."""
_DIGITS = 18
"""Of a whole number: what 64 bits hold."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``: did you mean 'a', 'b'?``, of the known words that are near; else nothing."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    listed = ", ".join(f"'{other}'" for other in near)
    return f": did you mean {listed}?" if near else ""


class YamlValue:
    """A value of a YAML file that knows where it stands.

    Accessors check the type and raise :class:`ModelFileError` with the file, the
    line and the dotted key.
    """

    def __init__(self, node: yaml.Node, path: Path | str, key: str) -> None:
        """Wrap a composed YAML node; ``key`` is its dotted path in the file."""
        self._node = node
        self._path = path
        self._key = key

    @property
    def line(self) -> int:
        """Line of the value, counted from 1."""
        return int(self._node.start_mark.line) + 1

    @property
    def folder(self) -> Path:
        """Folder of the file."""
        return Path(self._path).parent

    def error(self, message: str) -> ModelFileError:
        """An error that points at this value."""
        return ModelFileError(message, self._path, self.line, self._key or None)

    def _child(self, node: yaml.Node, key: str) -> YamlValue:
        return YamlValue(node, self._path, f"{self._key}.{key}" if self._key else key)

    def with_value(self, key: str, text: str) -> YamlValue:
        """The same with a word or a number at a dotted key; what is missing is made."""
        return YamlValue(self._changed(key.split("."), text), self._path, self._key)

    def _changed(self, keys: list[str], text: str) -> yaml.Node:
        marks = self._node.start_mark, self._node.end_mark
        if not keys:
            resolve: Callable[..., str] = yaml.SafeLoader("").resolve
            tag = resolve(yaml.ScalarNode, text, (True, False))
            return yaml.ScalarNode(tag, text, *marks)
        first, rest = keys[0], keys[1:]
        if isinstance(self._node, yaml.SequenceNode):
            items = self.items()
            if not first.isdecimal() or int(first) >= len(items):
                raise self.error(f"there is no item '{shortened(first)}'")
            nodes = list(self._node.value)
            nodes[int(first)] = items[int(first)]._changed(rest, text)
            return yaml.SequenceNode(self._node.tag, nodes, *marks)
        values = self.mapping()
        missing = self._child(yaml.MappingNode(_TAGS[-1], [], *marks), first)
        changed = values.get(first, missing)._changed(rest, text)
        name = yaml.ScalarNode(_TAGS[0], first, *marks)
        pairs = [(k, v) for k, v in self._node.value if k.value != first]
        return yaml.MappingNode(self._node.tag, [*pairs, (name, changed)], *marks)

    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self._node, yaml.MappingNode)

    def mapping(self) -> dict[str, YamlValue]:
        """The value as a mapping with string keys, none of them twice."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error("must be a mapping (key: value)")
        values: dict[str, YamlValue] = {}
        for key_node, value_node in self._node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error("a key of a mapping must be a word")
            key = str(key_node.value)
            child = self._child(value_node, key)
            if key in values:
                raise child.error("this key stands twice")
            values[key] = child
        return values

    def fields(
        self, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, YamlValue]:
        """A mapping with exactly the named keys."""
        values = self.mapping()
        for key, value in values.items():
            if key not in required and key not in optional:
                known = (*required, *optional)
                listed = f"known here: {', '.join(known)}"
                raise value.error(f"unknown key{did_you_mean(key, known)} ({listed})")
        for key in required:
            if key not in values:
                raise self.error(f"the key '{key}' is missing")
        return values

    def items(self) -> list[YamlValue]:
        """The value as a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("must be a list")
        return [self._child(n, str(i)) for i, n in enumerate(self._node.value)]

    def __iter__(self) -> Iterator[YamlValue]:
        return iter(self.items())

    def plain(self) -> Any:
        """The value as plain Python data: numbers are finite, keys words."""
        if isinstance(self._node, yaml.MappingNode):
            return {key: value.plain() for key, value in self.mapping().items()}
        if isinstance(self._node, yaml.SequenceNode):
            return [item.plain() for item in self.items()]
        try:
            value = yaml.SafeLoader("").construct_document(self._node)
        except (ValueError, OverflowError, yaml.YAMLError):
            raise self.error(f"'{shortened(self._node.value)}' cannot be read") from (
                None
            )
        if isinstance(value, int) and abs(value) >= 10**_DIGITS:
            raise self.error(f"a whole number of more than {_DIGITS} digits")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error("must be a finite number")
        if not isinstance(value, bool | int | float | str | None):
            raise self.error("must be a number, a word or a truth value")
        return value

    def text(self) -> str:
        """The value as a non-empty string."""
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value:
            raise self.error("must be a word")
        return str(self._node.value)

    def number(self, names: Mapping[str, float] | None = None) -> float:
        """The value as a finite number, or an expression on ``names``."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.error("must be a number")
        raw = self._node.value
        try:
            if not isinstance(raw, str) or not raw.strip():
                raise ExpressionError("must be a number")
            value = evaluate(raw, names or {})
        except ExpressionError as error:
            raise self.error(str(error)) from None
        if abs(value) > LARGEST_NUMBER:
            raise self.error(f"{value:g} is too large a number")
        return value

    def positive(self, names: Mapping[str, float] | None = None) -> float:
        """The value as a number above zero, of which there is an inverse."""
        value = self.number(names)
        if value <= 0:
            raise self.error(f"must be a number above zero, not {value:g}")
        if value < SMALLEST_NUMBER:
            raise self.error(f"{value:g} is too small a number")
        return value

    def whole(self) -> int:
        """The value as a whole number of 0 or more."""
        value = self.number()
        if not (value.is_integer() and value >= 0):
            raise self.error(f"must be a whole number, not {value:g}")
        return int(value)

    def vector(self, size: int, names: Mapping[str, float] | None = None) -> np.ndarray:
        """The value as ``size`` finite numbers."""
        items = self.items()
        if len(items) != size:
            raise self.error(f"must be {size} numbers, not {len(items)}")
        return np.array([item.number(names) for item in items])

    def degrees(self) -> tuple[float, float]:
        """A pair ``[lower, upper]`` in degrees, returned in radians."""
        lower, upper = self.vector(2)
        if lower > upper:
            raise self.error(f"the lower limit {lower:g} is above the upper {upper:g}")
        return math.radians(lower), math.radians(upper)

    def choice(self, choices: tuple[str, ...]) -> str:
        """The value as one of a few words."""
        word = self.text()
        if word not in choices:
            raise self.error(f"'{shortened(word)}' is not one of {', '.join(choices)}")
        return word


@contextmanager
def located_errors(value: YamlValue) -> Iterator[None]:
    """Errors of what a value of a file asks for are reported with its place there."""
    try:
        yield
    except ModelFileError:
        raise
    except HumansError as error:
        raise value.error(str(error)) from error


def read_yaml(path: Path | str) -> YamlValue:
    """Read a YAML file, within the limits of :func:`parse_yaml`."""
    return parse_yaml(read_text(path, ModelFileError, LARGEST), path)


def parse_yaml(text: str, path: Path | str = "<text>") -> YamlValue:
    """Read YAML text; ``path`` is the name used in errors.

    Raises:
        ModelFileError: it is empty or not YAML, is nested deeper than :data:`DEEPEST`,
            or has more than :data:`MOST` values once its aliases are followed.
    """
    try:
        node = _Composer(text, path).document()
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else int(mark.line) + 1
        problem = getattr(error, "problem", None) or str(error)
        raise ModelFileError(f"not YAML: {problem}", path, line) from error
    if node is None:
        raise ModelFileError("the file is empty", path, 1)
    return YamlValue(node, path, "")


class _Composer:
    """Makes nodes of events, one after the other.

    yaml's own composers call themselves for each level: a hundred thousand brackets end
    the process.
    """

    def __init__(self, text: str, path: Path | str) -> None:
        self._path = path
        self._events = yaml.parse(text, Loader=_LOADER)
        self._resolve: Callable[..., str] = yaml.SafeLoader("").resolve
        self._anchors: dict[str, tuple[yaml.Node, int]] = {}
        self._open: list[tuple[yaml.CollectionNode, str | None, int]] = []
        self._count = 0

    def document(self) -> yaml.Node | None:
        """The only document of the text; None: there is none."""
        root: yaml.Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise self._error("must be one document, here begins another", event)
            if isinstance(event, yaml.NodeEvent):
                node = self._begun(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                node = self._ended(event)
            else:
                continue
            if node is None:
                continue
            if not self._open:
                root = node
                continue
            self._open[-1][0].value.append(node)
        return root

    def _begun(self, event: Any) -> yaml.Node | None:
        """The node of an event; None where its end is still to come."""
        self._count += 1
        anchor = event.anchor
        if isinstance(event, yaml.AliasEvent):
            if anchor not in self._anchors:
                shown = shortened(anchor)
                raise self._error(f"nothing above is called '&{shown}'", event)
            node, count = self._anchors[anchor]
            self._count += count
            self._check_count(event)
            return node
        self._check_count(event)
        if event.tag not in (None, "!", *_TAGS):
            raise self._error(f"the tag '{shortened(event.tag)}' is not known", event)
        marks = event.start_mark, event.end_mark
        if isinstance(event, yaml.ScalarEvent):
            tag = event.tag
            if tag is None or tag == "!":
                tag = self._resolve(yaml.ScalarNode, event.value, event.implicit)
            scalar = yaml.ScalarNode(tag, event.value, *marks, style=event.style)
            if anchor is not None:
                self._anchors[anchor] = scalar, 1
            return scalar
        if len(self._open) >= DEEPEST:
            raise self._error("nested too deeply", event)
        list_begins = isinstance(event, yaml.SequenceStartEvent)
        kind = yaml.SequenceNode if list_begins else yaml.MappingNode
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolve(kind, None, event.implicit)
        node = kind(tag, [], *marks, flow_style=event.flow_style)
        self._open.append((node, anchor, self._count))
        return None

    def _ended(self, event: Any) -> yaml.Node:
        node, anchor, before = self._open.pop()
        node.end_mark = event.end_mark
        if isinstance(node, yaml.MappingNode):
            keys, values = node.value[::2], node.value[1::2]
            node.value = list(zip(keys, values, strict=True))
        if anchor is not None:  # known only now: it cannot hold itself
            self._anchors[anchor] = node, self._count - before + 1
        return node

    def _check_count(self, event: Any) -> None:
        if self._count > MOST:
            raise self._error(f"there are more than {MOST} values", event)

    def _error(self, message: str, event: Any) -> ModelFileError:
        line = int(event.start_mark.line) + 1
        return ModelFileError(f"not YAML: {message}", self._path, line)
