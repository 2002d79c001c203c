# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node: declared with a description, checked, read once.

What clients see of them (``ros2 param describe``) has types, ranges and the words there
are, and a value that is set to something else is refused with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import range_text, settings_of
from humans_sim.nodes.common.request_files import RequestFolder

Kind = Parameter.Type
T = TypeVar("T")
_NO_FACTS: Mapping[str, Any] = {}
_LARGEST = 2**63 - 1
"""Of the whole numbers of messages."""


class Parameters:
    """Declares parameters; but for changeable ones they stay while the node lives.

    Every method raises :class:`ParameterError` for a value that cannot be used. A whole
    number is taken where a number is wanted: launch files and people leave ``.0`` out.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def settings(self, kind: type) -> dict[str, Any]:
        """Values of the settings of a dataclass, by its fields; each is a parameter.

        Settings are fields by :func:`~humans_sim.core.settings.setting`.
        """
        readers: dict[Any, Callable[..., Any]] = {bool: self.flag, str: self.text}
        hints, values = get_type_hints(kind), dict[str, Any]()
        for field, item in settings_of(kind).items():
            facts, hint = item.metadata, hints[field]
            name, text = facts["name"] or field, facts["help"]
            default: Any = item.default
            if facts["choices"]:
                word = self.choice(name, default, text, facts["choices"])
                value = hint(word)
            elif hint is float:
                limits = facts["low"], facts["high"]
                value = self.number(name, default, text, *limits)
            elif hint is int:
                value = self.count(name, default, text, facts["low"])
            elif hint in readers:
                value = readers[hint](name, default, text)
            else:
                value = (self.path if default is None else self.texts)(name, text)
            values[field] = value
        return values

    def number(
        self,
        name: str,
        default: float,
        description: str,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> float:
        """A finite number from ``low`` to ``high``."""
        value = self._declare(name, default, description)
        number = _number(name, value, low, high)
        return self._typed(name, Kind.DOUBLE, number, _floats(low, high))

    def changeable_number(
        self,
        name: str,
        default: float,
        description: str,
        changed: Callable[[float], None],
        low: float = -math.inf,
        high: float = math.inf,
    ) -> float:
        """A finite number that may be set later: ``changed`` is called with it."""

        def judge(parameters: list[Any]) -> SetParametersResult:
            try:
                for parameter in parameters:
                    if parameter.name == name:
                        _number(name, parameter.value, low, high)
            except ParameterError as error:
                return SetParametersResult(successful=False, reason=str(error))
            return SetParametersResult(successful=True)

        def apply(parameters: list[Any]) -> None:
            for parameter in parameters:
                if parameter.name == name:
                    changed(float(parameter.value))

        value = self._declare(name, default, description)
        number = _number(name, value, low, high)
        # Any type: a whole number is taken, too.
        changing = {"read_only": False, "dynamic_typing": True}
        ranges = {**_floats(low, high), **_integers(low, high), **changing}
        self._typed(name, Kind.DOUBLE, number, ranges)
        self._node.add_on_set_parameters_callback(judge)
        self._node.add_post_set_parameters_callback(apply)
        return number

    def count(
        self,
        name: str,
        default: int,
        description: str,
        low: int = 0,
        high: float = math.inf,
    ) -> int:
        """A whole number from ``low`` to ``high``."""
        given = self._declare(name, default, description)
        value = _number(name, given, low, high)
        if value != int(value):
            raise ParameterError(f"{name} must be a whole number, not {value}")
        return self._typed(name, Kind.INTEGER, int(value), _integers(low, high))

    def numbers(self, name: str, description: str, size: int = 0) -> tuple[float, ...]:
        """A list of finite numbers; of so many where ``size`` is given, or none."""
        value = self._declare(name, [], description)
        if value is None:  # what an empty list in a parameter file becomes
            value = []
        # What comes from a message is an array.
        numbers = list(value) if hasattr(value, "__iter__") else [value]
        if isinstance(value, str) or (size and len(numbers) not in (0, size)):
            expected = f"{size} numbers" if size else "a list of numbers"
            raise ParameterError(f"{name} must be {expected}, not {value!r}")
        checked = [_number(name, x, -math.inf, math.inf) for x in numbers]
        facts = {"additional_constraints": f"{size} numbers, or none"} if size else {}
        return tuple(self._typed(name, Kind.DOUBLE_ARRAY, checked, facts))

    def path(self, name: str, description: str) -> Path | None:
        """A file; None where it is empty."""
        text = self.text(name, "", description)
        return Path(text).expanduser() if text else None

    def request_folder(self) -> RequestFolder:
        """Where files that requests name are."""
        return RequestFolder(
            self.path(
                "request_folder",
                "files of requests are in it; empty: where the node was started",
            )
        )

    def choice(
        self, name: str, default: str, description: str, choices: Sequence[str]
    ) -> str:
        """One of some words."""
        known = ", ".join(choices)
        value = _text(name, self._declare(name, default, f"{description}: {known}"))
        if value not in choices:
            raise ParameterError(f"{name} must be one of {known}, not '{value}'")
        facts = {"additional_constraints": f"one of {known}"}
        return self._typed(name, Kind.STRING, value, facts)

    def choices(
        self, name: str, default: str, description: str, choices: Sequence[str]
    ) -> tuple[str, ...]:
        """One of some words, or a list of several, each once."""
        known = ", ".join(choices)
        value = self._declare(name, default, f"{description}: {known}, or several")
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list) or not words:
            raise ParameterError(f"{name} must be one of {known}, or a list of them")
        for word in words:
            if word not in choices:
                raise ParameterError(f"{name} must be one of {known}, not '{word}'")
        if len(set(words)) != len(words):
            raise ParameterError(f"{name} has a word twice: {', '.join(words)}")
        facts = {"additional_constraints": f"one of {known}, or a list of them"}
        kind = Kind.STRING if isinstance(value, str) else Kind.STRING_ARRAY
        self._typed(name, kind, value, facts)
        return tuple(words)

    def text(self, name: str, default: str, description: str) -> str:
        """A text."""
        value = _text(name, self._declare(name, default, description))
        return self._typed(name, Kind.STRING, value)

    def texts(self, name: str, description: str) -> tuple[str, ...]:
        """A list of texts; empty ones are left out."""
        value = self._declare(name, [], description)
        if value is None:  # what an empty list in a parameter file becomes
            value = []
        if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
            raise ParameterError(f"{name} must be a list of texts, not {value!r}")
        self._typed(name, Kind.STRING_ARRAY, value)
        return tuple(filter(None, value))

    def flag(self, name: str, default: bool, description: str) -> bool:
        """True or false."""
        value = self._declare(name, default, description)
        if not isinstance(value, bool):
            raise ParameterError(f"{name} must be true or false, not {value!r}")
        return self._typed(name, Kind.BOOL, value)

    def _declare(self, name: str, default: Any, description: str) -> Any:
        """What is given, of whatever type: a wrong one becomes one clear line."""
        descriptor = ParameterDescriptor(description=description, dynamic_typing=True)
        return self._node.declare_parameter(name, default, descriptor).value

    def _typed(
        self, name: str, kind: Any, value: T, facts: Mapping[str, Any] = _NO_FACTS
    ) -> T:
        """Give a parameter its type, and a value of that.

        Facts are fields of its descriptor; it is read-only unless they say otherwise.
        """
        text = self._node.describe_parameter(name).description
        descriptor = ParameterDescriptor(
            **{"description": text, "read_only": True, "type": kind.value, **facts}
        )
        checked = Parameter(name, kind, value).to_parameter_msg().value
        self._node.set_descriptor(name, descriptor, checked)
        return value


def _floats(low: float, high: float) -> dict[str, Any]:
    """The range of a number, as a field of a descriptor."""
    if math.isinf(low) and math.isinf(high):
        return {}
    ends = FloatingPointRange(from_value=float(low), to_value=float(high))
    return {"floating_point_range": [ends]}


def _integers(low: float, high: float) -> dict[str, Any]:
    """The range of a whole number."""
    first = -_LARGEST if math.isinf(low) else math.ceil(low)
    last = _LARGEST if math.isinf(high) else math.floor(high)
    return {"integer_range": [IntegerRange(from_value=first, to_value=last)]}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a text, not {value!r}")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name} must be a number, not {value!r}")
    if not (math.isfinite(value) and low <= value <= high):
        raise ParameterError(f"{name} must be {range_text(low, high)}, not {value}")
    return float(value)
