# SPDX-License-Identifier: Apache-2.0
"""Settings of the search for postures, read from files of pipeline settings (YAML)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue
from humans_sim.observation.search_settings import SmootherSettings, SolverSettings

_PARTS = ("gate", "tracking", "start", "uncertainty")
SETTINGS_KEYS = ("search", *_PARTS, "smoothing")
"""Keys of a file of pipeline settings that are read here."""
_WHOLE = ("iterations", "looks", "headings", "trunk", "rounds", "directions", "throws")
_WORDS = {("marker_noise", "residuals"): None, ("outlier", "none"): math.inf}
"""Words that stand for numbers."""
_WHOLE_OF_SMOOTHER = ("iterations", "window", "overlap")


def read_settings(
    given: Mapping[str, YamlValue],
) -> tuple[SolverSettings, SmootherSettings]:
    """Settings of the search and of the smoother; what is not said keeps its default.

    Args:
        given: values of a file by their keys; those of :data:`SETTINGS_KEYS` are read.

    Raises:
        ModelFileError: a key is unknown or its value impossible.
    """
    solver = SolverSettings()
    for part in _PARTS:
        if part in given:
            chosen = _changed(getattr(solver, part), given[part], _WHOLE)
            solver = replace(solver, **{part: chosen})
    if "search" in given:
        solver = _changed(solver, given["search"], _WHOLE, _PARTS)
    smoother = SmootherSettings()
    if "smoothing" in given:
        smoother = _changed(smoother, given["smoothing"], _WHOLE_OF_SMOOTHER)
    return solver, smoother


def _changed(
    settings: Any,
    value: YamlValue,
    whole: tuple[str, ...],
    besides: tuple[str, ...] = (),
) -> Any:
    """Settings with the numbers of a mapping.

    Args:
        settings: to begin with, a dataclass.
        value: the mapping.
        whole: fields that are whole numbers.
        besides: fields that are not in the mapping.
    """
    names = tuple(f.name for f in fields(settings) if f.name not in besides)
    numbers: dict[str, float | int | None] = {}
    for name, entry in value.fields((), names).items():
        if (name, entry.text()) in _WORDS:
            numbers[name] = _WORDS[name, entry.text()]
            continue
        number = entry.number()
        if name in whole and number != int(number):
            raise entry.error(f"a whole number is wanted, not {number:g}")
        numbers[name] = int(number) if name in whole else number
    try:
        return replace(settings, **numbers)
    except ParameterError as error:
        raise value.error(str(error)) from None
