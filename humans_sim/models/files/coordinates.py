# SPDX-License-Identifier: Apache-2.0
"""Generalised coordinates in the rows of a table: ``0.903+q17``, ``-pi/2-q4``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from humans_sim.core.yaml_file import YamlValue

_NAME = re.compile(r"\bq([0-9]{1,4})\b")
_EXACT = 1e-12


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of the HuMAnS vector, as a row uses it.

    Attributes:
        number: k of q_k, counted from 1.
        sense: 1 or -1.
        value: where it stands.
    """

    number: int
    sense: float
    value: YamlValue

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"q{self.number}"


def read_coordinate(
    value: YamlValue, names: Mapping[str, float]
) -> tuple[float, Coordinate | None]:
    """An expression as a constant, plus or minus a coordinate where it has one.

    Args:
        value: the expression.
        names: constants that it may use.

    Raises:
        ModelFileError: it is no expression, or depends on coordinates otherwise.
    """
    numbers = {int(digits) for digits in _NAME.findall(value.text())}
    if not numbers:
        return value.number(names), None
    if len(numbers) > 1 or 0 in numbers:
        raise value.error("a row has one coordinate at most: q1, q2, ...")
    (number,) = numbers
    at = [value.number({**names, f"q{number}": x}) for x in (0.0, 1.0, 2.0)]
    slope = at[1] - at[0]
    if abs(abs(slope) - 1.0) > _EXACT or abs(at[2] - at[1] - slope) > _EXACT:
        raise value.error(f"a constant plus or minus q{number} is wanted")
    return at[0], Coordinate(number, 1.0 if slope > 0 else -1.0, value)
