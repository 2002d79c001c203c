"""Parameters of a node: declared with a description, checked, read once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from humans_sim.errors import ParameterError


class Parameters:
    """Declares parameters that stay as they are while the node lives.

    Every method raises :class:`ParameterError` for a value that cannot be used. A whole
    number is taken where a number is wanted: launch files and people leave ``.0`` out.
    """

    def __init__(self, node: Node) -> None:
        """Declare parameters of ``node``."""
        self._node = node

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
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"{name} must be a number, not {value!r}")
        if not (math.isfinite(value) and low <= value <= high):
            raise ParameterError(f"{name} must be {_range(low, high)}, not {value}")
        return float(value)

    def choice(
        self, name: str, default: str, description: str, choices: Sequence[str]
    ) -> str:
        """One of some words."""
        known = ", ".join(choices)
        value = self.text(name, default, f"{description}: {known}")
        if value not in choices:
            raise ParameterError(f"{name} must be one of {known}, not '{value}'")
        return value

    def text(self, name: str, default: str, description: str) -> str:
        """A text."""
        value = self._declare(name, default, description)
        if not isinstance(value, str):
            raise ParameterError(f"{name} must be a text, not {value!r}")
        return value

    def texts(self, name: str, description: str) -> tuple[str, ...]:
        """A list of texts; empty ones are left out."""
        value = self._declare(name, [], description)
        if value is None:  # what an empty list in a parameter file becomes
            return ()
        if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
            raise ParameterError(f"{name} must be a list of texts, not {value!r}")
        return tuple(filter(None, value))

    def flag(self, name: str, default: bool, description: str) -> bool:
        """True or false."""
        value = self._declare(name, default, description)
        if not isinstance(value, bool):
            raise ParameterError(f"{name} must be true or false, not {value!r}")
        return value

    def _declare(self, name: str, default: Any, description: str) -> Any:
        # Types are checked here, so that a wrong one is one clear line.
        descriptor = ParameterDescriptor(
            description=description, read_only=True, dynamic_typing=True
        )
        return self._node.declare_parameter(name, default, descriptor).value


def _range(low: float, high: float) -> str:
    if math.isinf(high):
        return "finite" if math.isinf(low) else f"{low:g} or more"
    return f"{low:g} to {high:g}"
