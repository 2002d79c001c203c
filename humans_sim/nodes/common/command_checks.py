# SPDX-License-Identifier: Apache-2.0
"""Commands of topics, checked: values by names, and stamps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from humans_sim.core.errors import ConfigurationError, printable
from humans_sim.core.expressions import shortened

LARGEST = 1e9
"""No quantity of a message is larger, whatever its unit: its square is finite."""


def named_values(
    known: Sequence[str],
    names: Sequence[str],
    values: Sequence[float],
    last: np.ndarray,
    what: str,
    owner: str,
) -> np.ndarray:
    """Values by name; those that are left out keep their ``last`` value.

    What the values are, and whose the known names are, is for messages.

    Raises:
        ConfigurationError: an unknown name or one given twice, lists of different
            lengths, or a number that is not finite or beyond LARGEST.
    """
    if len(names) != len(values):
        raise ConfigurationError(f"{len(names)} names and {len(values)} {what}s")
    if len(set(names)) != len(names):
        raise ConfigurationError("a name is given twice")
    places = {name: place for place, name in enumerate(known)}
    for name in names:
        if name not in places:
            raise ConfigurationError(f"{owner} has no '{printable(shortened(name))}'")
    given = np.array(values, dtype=float)
    wrong = np.flatnonzero(~(np.abs(given) <= LARGEST))
    if wrong.size:
        first = int(wrong[0])
        raise ConfigurationError(f"the {what} of '{names[first]}' is {given[first]}")
    if list(names) == list(known):  # as nodes of the same model send them
        return given
    result = last.copy()
    result[[places[name] for name in names]] = given
    return result


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
        self._oldest, self._ahead = oldest, round(ahead * 1e9)
        self._zero_is_now = zero_is_now
        self._newest = 0

    def begin(self, now: int = 0) -> None:
        """Forget what came; what was stamped before a time does not count [ns]."""
        self._newest = now

    def check(self, stamp: int, now: int) -> None:
        """Refuse a stamp [ns] that is older than the last one, too old, or to come."""
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
