# SPDX-License-Identifier: Apache-2.0
"""Parents of dataclasses whose numbers are checked when they are given."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import ClassVar

from humans_sim.core.errors import ParameterError


class PositiveNumbers:
    """Parent of dataclasses whose fields are all finite numbers above zero.

    Attributes:
        MAY_BE_ZERO: names of the fields that may be zero.
    """

    MAY_BE_ZERO: ClassVar[Collection[str]] = ()

    def __post_init__(self) -> None:
        """Refuse other numbers.

        Raises:
            ParameterError: a field is not finite, negative, or zero where it may not.
        """
        for name, value in vars(self).items():
            zero = name in self.MAY_BE_ZERO
            if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
                least = "0 or more" if zero else "above zero"
                raise ParameterError(f"{name} must be {least}, not {value}")


class NumbersInRange:
    """Parent of dataclasses with fields that have a least and a largest value.

    Attributes:
        RANGES: least and largest value of those fields, by name.
    """

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def __post_init__(self) -> None:
        """Refuse other numbers.

        Raises:
            ParameterError: a field is out of its range.
        """
        for name, (least, most) in self.RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ParameterError(
                    f"{name} must be {least:g} to {most:g}, not {value}"
                )
