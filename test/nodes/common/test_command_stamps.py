# SPDX-License-Identifier: Apache-2.0
"""Stamps of commands: too old, going back, of the future, zero."""

from __future__ import annotations

import pytest

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.command_checks import CommandStamps, LateStampError

SECOND = 1_000_000_000
NOW = 100 * SECOND


def test_old_ones_are_late() -> None:
    """By their age, and by what was taken before."""
    stamps = CommandStamps(oldest=0.5, ahead=0.1)
    stamps.check(NOW - SECOND // 2, NOW)
    with pytest.raises(LateStampError, match="is late"):
        stamps.check(NOW - SECOND // 2 - 1000, NOW)
    stamps.take(NOW - 10)
    stamps.check(NOW - 10, NOW)  # the same once more goes not back
    with pytest.raises(LateStampError):
        stamps.check(NOW - 11, NOW)
    stamps.begin()
    stamps.check(NOW - 11, NOW)
    CommandStamps().check(1, NOW)  # any age


def test_those_to_come_are_refused() -> None:
    """Beyond what clocks may differ by; they do not shut out sound ones."""
    stamps = CommandStamps(ahead=0.1)
    stamps.check(NOW + SECOND // 10, NOW)
    with pytest.raises(ConfigurationError, match="in the future"):
        stamps.check(NOW + SECOND // 10 + 1, NOW)
    stamps.check(NOW, NOW)


def test_zero() -> None:
    """No stamp: taken as now, or, in lock-step, a time as any other."""
    stamps = CommandStamps(oldest=0.5)
    stamps.take(NOW)
    stamps.check(0, NOW)
    stamps.take(0)
    with pytest.raises(LateStampError):  # the newest stamp still counts
        stamps.check(NOW - 1, NOW)
    lockstep = CommandStamps(zero_is_now=False)
    lockstep.check(0, 0)
    lockstep.begin(NOW)
    with pytest.raises(LateStampError):
        lockstep.check(0, NOW)


def test_what_was_commanded_before() -> None:
    """Stamps from before a beginning are late, however short ago."""
    stamps = CommandStamps(oldest=0.5)
    stamps.begin(NOW)
    with pytest.raises(LateStampError):
        stamps.check(NOW - 1, NOW + 1)
    stamps.check(NOW + 1, NOW + 1)
