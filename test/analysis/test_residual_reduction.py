# SPDX-License-Identifier: Apache-2.0
"""The shift that makes a motion agree with plates."""

from __future__ import annotations

import numpy as np

from humans_sim.analysis.inverse_dynamics import consistent_shift

T = np.arange(200) / 100


def test_fast_errors_are_removed_and_slow_ones_stay() -> None:
    """An error of 3 Hz is integrated twice; one of 0.2 Hz would take centimetres."""
    everywhere = np.ones(200, dtype=bool)
    for frequency, low, high in ((3.0, 0.99, 1.01), (0.2, 0.0, 0.3)):
        omega = 2 * np.pi * frequency
        excess = np.zeros((200, 3))
        excess[:, 1] = 0.5 * np.sin(omega * T)
        shift = consistent_shift(T, excess, everywhere)
        second = np.diff(shift[:, 1], 2) * 1e4
        gain = second @ excess[1:-1, 1] / (excess[1:-1, 1] @ excess[1:-1, 1])
        assert low <= gain <= high
        assert np.abs(shift).max() < 0.03
        assert not shift[:, [0, 2]].any()


def test_nothing_is_shifted_without_plates() -> None:
    """Where plates cover nothing, the motion stays."""
    excess = np.ones((200, 3))
    assert not consistent_shift(T, excess, np.zeros(200, dtype=bool)).any()
