# SPDX-License-Identifier: Apache-2.0
"""Stamps of commands: what is old, comes again or is of the future does not count."""

from __future__ import annotations

import math

from humans_sim.core.errors import ConfigurationError


class LateStampError(ConfigurationError):
    """A command whose time is over."""


class CommandStamps:
    """Refuses commands by their stamps.

    Args:
        oldest: age of a stamp at most [s]; infinite: any.
        ahead: how far it may be in the future, for clocks that differ [s].
        zero_is_now: whether a zero stamp is none, and taken as now.
    """

    def __init__(
        self, oldest: float = math.inf, ahead: float = 0.0, zero_is_now: bool = True
    ) -> None:
        """Nothing has come yet."""
        self._oldest, self._ahead = oldest, round(ahead * 1e9)
        self._zero_is_now = zero_is_now
        self._newest = 0

    def begin(self, now: int = 0) -> None:
        """Forget what came; what was stamped before a time does not count [ns]."""
        self._newest = now

    def check(self, stamp: int, now: int) -> None:
        """Refuse a stamp [ns].

        Raises:
            LateStampError: it is older than the last one, or too old.
            ConfigurationError: it is in the future.
        """
        if stamp == 0 and self._zero_is_now:
            return
        if stamp < self._newest or (now - stamp) * 1e-9 > self._oldest:
            raise LateStampError(
                f"its stamp {stamp * 1e-9:.9f} s is late, the time is {now * 1e-9:.9f}"
            )
        if stamp > now + self._ahead:
            raise ConfigurationError(
                f"its stamp {stamp * 1e-9:.9f} s is in the future, the time is "
                f"{now * 1e-9:.9f} (use_sim_time?)"
            )

    def take(self, stamp: int) -> None:
        """Note a command that was taken [ns]."""
        self._newest = max(self._newest, stamp)
