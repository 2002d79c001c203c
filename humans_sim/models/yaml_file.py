"""Strict reading of YAML model files: every fault names its file, line and key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from humans_sim.errors import ModelFileError
from humans_sim.models.expressions import ExpressionError, evaluate

# libyaml's where it is built in: ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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

    def error(self, message: str) -> ModelFileError:
        """An error that points at this value."""
        return ModelFileError(message, self._path, self.line, self._key or None)

    def _child(self, node: yaml.Node, key: str) -> YamlValue:
        return YamlValue(node, self._path, f"{self._key}.{key}" if self._key else key)

    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self._node, yaml.MappingNode)

    def mapping(self) -> dict[str, YamlValue]:
        """The value as a mapping with string keys, none of them twice."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error("a mapping (key: value) is wanted")
        found: dict[str, YamlValue] = {}
        for key_node, value_node in self._node.value:
            key = str(key_node.value)
            child = self._child(value_node, key)
            if key in found:
                raise child.error("this key stands twice")
            found[key] = child
        return found

    def fields(
        self, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, YamlValue]:
        """A mapping with exactly the named keys."""
        found = self.mapping()
        for key, value in found.items():
            if key not in required and key not in optional:
                known = ", ".join((*required, *optional))
                raise value.error(f"unknown key (known here: {known})")
        for key in required:
            if key not in found:
                raise self.error(f"the key '{key}' is missing")
        return found

    def items(self) -> list[YamlValue]:
        """The value as a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("a list is wanted")
        return [self._child(n, str(i)) for i, n in enumerate(self._node.value)]

    def __iter__(self) -> Iterator[YamlValue]:
        """Iterate over the items of a list."""
        return iter(self.items())

    def plain(self) -> Any:
        """The value as plain Python data, unchecked."""
        return yaml.SafeLoader("").construct_document(self._node)

    def text(self) -> str:
        """The value as a non-empty string."""
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value:
            raise self.error("a word is wanted")
        return str(self._node.value)

    def number(self, names: Mapping[str, float] | None = None) -> float:
        """The value as a finite number, or an expression on ``names``."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.error("a number is wanted")
        raw = self._node.value
        try:
            if not isinstance(raw, str) or not raw.strip():
                raise ExpressionError("a number is wanted")
            return evaluate(raw, names or {})
        except ExpressionError as error:
            raise self.error(str(error)) from None

    def positive(self, names: Mapping[str, float] | None = None) -> float:
        """The value as a number above zero."""
        value = self.number(names)
        if value <= 0:
            raise self.error(f"a number above zero is wanted, not {value:g}")
        return value

    def vector(self, size: int, names: Mapping[str, float] | None = None) -> np.ndarray:
        """The value as ``size`` finite numbers."""
        items = self.items()
        if len(items) != size:
            raise self.error(f"{size} numbers are wanted, not {len(items)}")
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
            raise self.error(f"'{word}' is not one of {', '.join(choices)}")
        return word


def read_yaml(path: Path | str) -> YamlValue:
    """Read a YAML file.

    Raises:
        ModelFileError: the file is missing, unreadable, empty or not YAML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"cannot read the file: {error}", path) from error
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path | str = "<text>") -> YamlValue:
    """Read YAML text; ``path`` is the name used in errors."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except RecursionError:
        raise ModelFileError("not YAML: nested too deeply", path) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else int(mark.line) + 1
        problem = getattr(error, "problem", None) or str(error)
        raise ModelFileError(f"not YAML: {problem}", path, line) from error
    if node is None:
        raise ModelFileError("the file is empty", path, 1)
    return YamlValue(node, path, "")
