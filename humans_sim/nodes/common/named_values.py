# SPDX-License-Identifier: Apache-2.0
"""Values by name out of messages. Checked here: topics are hostile."""

from __future__ import annotations

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

    Args:
        known: the names there are.
        names: those of the message.
        values: of the message.
        last: for all known names.
        what: the values are, for messages.
        owner: of the known names, for messages.

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
