# SPDX-License-Identifier: Apache-2.0
"""JSON from files of others: bounded in depth and digits, compared with a shape."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 32
"""Lists and objects inside each other."""
_DIGITS = 18
"""Of a whole number: what 64 bits hold."""


def parse_json(text: str) -> dict[str, Any]:
    """The object that a text holds.

    Raises:
        ValueError: it is no JSON object, is nested too deeply or holds a whole number
            of too many digits.
    """
    try:
        document = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("an object is wanted")
    level: list[Any] = [document]
    for _ in range(DEEPEST):
        level = [child for value in level for child in _children(value)]
        if not level:
            return document
    raise ValueError("nested too deeply")


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape.

    Args:
        value: of JSON.
        shape: a type or types; a list with the shape of each entry; a dictionary with
            the shape of the value of each key, no other keys.
    """
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
