# SPDX-License-Identifier: Apache-2.0
"""Numbers of normal gait: cadence of adults, angles at the ends of the phases."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.gait.leg_fit import (
    ANKLE,
    HIP,
    KNEE,
    PHASE_ENDS,
    normal_angles,
    stride_time,
)


def test_a_stride_takes_as_long_as_adults_take() -> None:
    """About 115 steps a minute at 1.4 m/s; slower speed, fewer and shorter steps."""
    assert 120.0 / stride_time(1.4, 1.75) == pytest.approx(115, abs=3)
    assert stride_time(0.8, 1.75) > stride_time(1.2, 1.75)
    assert 0.8 * stride_time(0.8, 1.75) < 1.2 * stride_time(1.2, 1.75)


@pytest.mark.parametrize("speed", [0.1, 2.5, float("nan")])
def test_no_one_walks_so_slow_or_so_fast(speed: float) -> None:
    """A speed outside what was measured is refused."""
    with pytest.raises(hs.HumansError, match="m/s"):
        stride_time(speed, 1.75)


def test_curves_go_through_the_ends_of_the_phases_and_come_around() -> None:
    """The published values are met; a stride later it is the same."""
    assert normal_angles(PHASE_ENDS) == pytest.approx(np.array([HIP, KNEE, ANKLE]))
    phase = np.linspace(0.0, 1.0, 50, endpoint=False)
    assert normal_angles(phase + 1.0) == pytest.approx(normal_angles(phase))
