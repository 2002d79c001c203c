# SPDX-License-Identifier: Apache-2.0
"""Constants and settings that are positive numbers, checked when they are given."""

from __future__ import annotations

import math
from collections.abc import Collection
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
