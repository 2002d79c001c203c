# SPDX-License-Identifier: Apache-2.0
"""Variations of a sweep: keys of a scenario with the values they take.

``friction=0.2:1.0:9`` is nine values evenly from 0.2 to 1.0, ends included;
``method=event_driven,time_stepping`` is a list of words or numbers. Keys are those of
``humans-sim run`` (:data:`SHORT`), :data:`PUSH`, and those of scenario files with dots:
``controller.walk.pace``, ``controller.walk.velocity.0``, ``ground.slope``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.applications.scenarios import (
    SECTIONS,
    Scenario,
    read_scenario,
)
from humans_sim.core.budget import RUNS
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import LARGEST_NUMBER, did_you_mean

Value = float | str
"""A value of a key."""
Values = tuple[tuple[str, Value], ...]
"""Values by their keys, in the order of the variations."""
PUSH = "push"
"""Key of one impulse on the base in a random direction at a random time [N s]."""
_NUMBERS = ("end", "friction")
_WORDS = ("model", "method", "feedback", "actuation", "walking", "integrator")
SHORT = (*_NUMBERS, *_WORDS)
"""Keys that are options of ``humans-sim run``."""
_DIGITS = 12
"""Digits of a value of a range: 0.3, not 0.30000000000000004."""


@dataclass(frozen=True)
class Variation:
    """A key of a scenario and the values it takes.

    Attributes:
        values: numbers, or words; none of them twice.
    """

    key: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        """Refuse keys that no scenario has, and values without meaning."""
        _check_key(self.key)
        if not self.values:
            raise ParameterError(f"{self.key}: there is no value")
        for value in self.values:
            if isinstance(value, str):
                if not value.strip():
                    raise ParameterError(f"{self.key}: there is an empty value")
                if self.key in (*_NUMBERS, PUSH):
                    raise ParameterError(f"{self.key}: '{value}' is not a number")
            elif not (math.isfinite(value) and abs(value) <= LARGEST_NUMBER):
                raise ParameterError(f"{self.key}: {value} is no number to simulate")
            elif self.key in (*_NUMBERS, PUSH) and value < 0:
                raise ParameterError(f"{self.key} is 0 or more, not {value:g}")
        if len(set(self.values)) < len(self.values):
            twice = next(v for v in self.values if self.values.count(v) > 1)
            raise ParameterError(f"{self.key}: the value {twice} stands twice")

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(value, float) for value in self.values)


def parse_variation(text: str) -> Variation:
    """Read ``key=a:b:n`` or ``key=a,b,c``."""
    key, equals, rest = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ParameterError(f"'{text}' is no key=from:to:count and no key=a,b,c")
    _check_key(key)
    pieces = rest.split(":")
    if len(pieces) == 3 and "," not in rest:
        return Variation(key, _range(key, *pieces))
    return Variation(key, tuple(_value(piece.strip()) for piece in rest.split(",")))


def parse_settings(texts: Sequence[str]) -> dict[str, str]:
    """Read ``key=value`` of scenario files: words and numbers by their dotted keys."""
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and key and value):
            raise ParameterError(f"'{text}' is no key=value")
        first = key.split(".")[0]
        if first not in SECTIONS or not all(key.split(".")):
            near = did_you_mean(first, SECTIONS)
            raise ParameterError(f"scenario files have no key '{key}'{near}")
        if key in settings:
            raise ParameterError(f"'{key}' is set twice")
        settings[key] = value
    return settings


def check_variations(variations: Sequence[Variation], seeds: int) -> int:
    """Refuse a sweep that varies a key twice, or is too large; its number of runs."""
    if seeds < 0:
        raise ParameterError(f"seeds must be 0 or more, not {seeds}")
    keys = [variation.key for variation in variations]
    for key in keys:
        if keys.count(key) > 1:
            raise ParameterError(f"'{key}' is varied twice")
        under = [other for other in keys if other.startswith(f"{key}.")]
        if under:
            raise ParameterError(f"'{key}' and '{under[0]}' are varied: one holds both")
    if not seeds and PUSH in keys:
        raise ParameterError("a push is by chance: give a number of seeds with it")
    return RUNS.check("a sweep", *(len(v.values) for v in variations), max(seeds, 1))


def grid(variations: Sequence[Variation]) -> Iterator[Values]:
    """All combinations, the last key varied fastest."""
    keys = [variation.key for variation in variations]
    for values in itertools.product(*(v.values for v in variations)):
        yield tuple(zip(keys, values, strict=True))


def varied_scenario(
    name: str, values: Values, settings: Mapping[str, str] | None = None
) -> Scenario:
    """A scenario with other values, by their keys; a push is not among them.

    The settings are further words and numbers of the file, by their dotted keys.
    """
    deep = {
        key: (value if isinstance(value, str) else repr(value))
        for key, value in values
        if key not in SHORT and key != PUSH
    }
    changes: dict[str, object] = {}
    for key, value in values:
        if key == "walking":
            changes[key] = Path(str(value))
        elif key == "integrator":
            changes["options"] = {key: str(value)}
        elif key in SHORT:
            changes[key] = value
    scenario = read_scenario(name, {**deep, **(settings or {})})
    return scenario.with_changes(**changes)


def _check_key(key: str) -> None:
    first = key.split(".")[0]
    known = (*SHORT, PUSH, *SECTIONS)
    if first not in known or not all(key.split(".")):
        raise ParameterError(
            f"a scenario has no setting '{key}'{did_you_mean(first, known)} (there "
            f"are {', '.join((*SHORT, PUSH))}, and the keys of scenario files, with "
            "dots: controller.walk.pace)"
        )


def _range(key: str, start: str, end: str, number: str) -> tuple[Value, ...]:
    first, last = _value(start.strip()), _value(end.strip())
    for value in (first, last):
        if isinstance(value, str) or not math.isfinite(value):
            raise ParameterError(f"{key}: '{value}' is not a number")
    if not number.strip().isdecimal() or len(number.strip()) > 7:
        raise ParameterError(f"{key}: '{number}' is no number of values")
    count = int(number)
    if count < 2:
        raise ParameterError(
            f"{key}: a range has 2 values or more, not {count} (one value: "
            f"{key}={start})"
        )
    RUNS.check(key, count)
    even = np.linspace(float(first), float(last), count)
    return tuple(float(f"{value:.{_DIGITS}g}") for value in even)


def _value(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text
