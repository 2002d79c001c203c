# SPDX-License-Identifier: Apache-2.0
"""Settings of users, each declared once: a field with its meaning and its limits.

A dataclass of such fields is read from a section of a YAML file by :func:`of_section`,
from the parameters of a node by its ``Parameters.settings``, and from the options of a
command by ``cli.options.options_of``. All take default, meaning, limits and choices
from here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue

REQUIRED: Any = MISSING
"""Default of a setting that must be given."""
T = TypeVar("T")
Reader = Callable[[YamlValue], Any]


class SettingError(ParameterError):
    """A setting is out of its range.

    Attributes:
        setting: its name.
        reason: what is wrong with it.
    """

    def __init__(self, setting: str, reason: str) -> None:
        self.setting, self.reason = setting, reason
        super().__init__(f"{setting}: {reason}")


def setting(
    default: Any,
    meaning: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: float = -math.inf,
    choices: Sequence[str] = (),
    name: str = "",
    flag: str = "",
) -> Any:
    """A field of a dataclass that a user may set.

    Args:
        default: its value, or :data:`REQUIRED`.
        meaning: what it is, with the unit in brackets: the description of a parameter,
            the help of an option. What is in ``[rad]`` is in degrees in files.
        low: least value of a number.
        high: largest value of a number.
        above: what a number must exceed.
        choices: the words there are.
        name: of the parameter, where it is not that of the field.
        flag: the option as it is typed, where it is not made of the field's name.
    """
    facts = {"help": meaning, "low": low, "high": high, "above": above}
    more = {"choices": tuple(choices), "name": name, "flag": flag}
    return field(default=default, metadata={**facts, **more})


def settings_of(kind: Any) -> dict[str, Field[Any]]:
    """The settings of a dataclass, by the names of their fields."""
    return {item.name: item for item in fields(kind) if "help" in item.metadata}


def describe(kind: type[T]) -> type[T]:
    """Write the settings of a dataclass into its docstring, as a decorator."""
    if kind.__doc__:
        rows = (f"{k}: {x.metadata['help']}" for k, x in settings_of(kind).items())
        kind.__doc__ += "\n    Attributes:\n" + "\n".join(f"        {r}" for r in rows)
    return kind


def in_degrees(item: Field[Any]) -> bool:
    """Whether files have a setting in degrees."""
    return "[rad]" in item.metadata["help"]


def range_text(low: float, high: float) -> str:
    """What numbers in a range are, in words."""
    if math.isinf(high):
        return "finite" if math.isinf(low) else f"{low:g} or more"
    return f"{low:g} to {high:g}"


def check_settings(settings: Any) -> None:
    """Refuse numbers and words that a dataclass does not allow, as SettingError."""
    for name, item in settings_of(settings).items():
        value, facts = getattr(settings, name), item.metadata
        low, high, above = facts["low"], facts["high"], facts["above"]
        if facts["choices"]:
            if value not in facts["choices"]:
                raise SettingError(name, f"is not one of {', '.join(facts['choices'])}")
        elif isinstance(value, float | int):
            if not math.isfinite(value):
                raise SettingError(name, f"must be finite, not {value}")
            if value <= above:
                least = f"{above:g}" if above else "zero"
                raise SettingError(name, f"must be above {least}, not {value:g}")
            if not low <= value <= high:
                found = re.search(r" \[(.*)\]", facts["help"])
                unit = f" {found[1]}" if found else ""
                text = f"must be {range_text(low, high)}{unit}, not {value:g}"
                raise SettingError(name, text)


def of_section(
    kind: type,
    value: YamlValue,
    make: Callable[..., T],
    readers: Mapping[str, Reader],
    names: Mapping[str, float] | None = None,
) -> T:
    """What is made of a section of a file whose keys are the settings of a dataclass.

    Args:
        kind: the dataclass.
        value: the section.
        make: called with what the section gives.
        readers: of settings that are neither numbers nor one of some words.
        names: that numbers may be expressions of.

    Raises:
        ModelFileError: a key is unknown, or a value is none that the setting may have;
            with file and line.
    """
    known = settings_of(kind)
    given, read = value.fields((), tuple(known)), dict[str, Any]()
    for name, entry in given.items():
        item = known[name]
        if name in readers:
            read[name] = readers[name](entry)
        elif item.metadata["choices"]:
            read[name] = entry.choice(item.metadata["choices"])
        else:
            number = entry.positive if item.metadata["above"] == 0.0 else entry.number
            unit = math.radians(1.0) if in_degrees(item) else 1.0
            read[name] = unit * number(names)
    try:
        return make(**read)
    except SettingError as fault:
        if fault.setting in given:
            raise given[fault.setting].error(fault.reason) from None
        raise value.error(str(fault)) from None
