# SPDX-License-Identifier: Apache-2.0
"""Constants that must be positive or in a range."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from humans_sim.core.arrays import NumbersInRange, PositiveNumbers
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True)
class Spring(PositiveNumbers):
    """A spring that may have no damper."""

    MAY_BE_ZERO = ("damping",)

    stiffness: float = 1.0
    damping: float = 0.0


@dataclass(frozen=True)
class Share(NumbersInRange):
    """A share of something."""

    RANGES = {"value": (0.0, 1.0)}

    value: float
    seed: int = -3


def test_ranges() -> None:
    """Both ends belong to a range; fields without one may be anything."""
    assert (Share(0.0).value, Share(1).value) == (0.0, 1)
    for value in (-1e-9, 1.1, math.nan):
        with pytest.raises(ParameterError, match=f"value must be 0 to 1, not {value}"):
            Share(value)


def test_what_is_taken() -> None:
    """Positive numbers, and zero where the class allows it."""
    assert Spring(2, 0.0) == Spring(2.0)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_what_is_refused(name: str, value: float) -> None:
    """Negative numbers and those that are none; the error names the field."""
    with pytest.raises(ParameterError, match=f"^{name} must be .*, not {value}"):
        Spring(**{name: value})


def test_zero_is_refused() -> None:
    """Where the class does not allow it."""
    with pytest.raises(ParameterError, match="stiffness must be above zero, not 0"):
        Spring(stiffness=0.0)
