"""Values by name out of messages. Checked here: topics are hostile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.errors import ConfigurationError


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
            lengths, or a number that is not finite.
    """
    if len(names) != len(values):
        raise ConfigurationError(f"{len(names)} names and {len(values)} {what}s")
    if len(set(names)) != len(names):
        raise ConfigurationError("a name is given twice")
    given = np.array(values, dtype=float)
    if not np.isfinite(given).all():
        wrong = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ConfigurationError(f"the {what} of '{names[wrong]}' is {given[wrong]}")
    if list(names) == list(known):  # as nodes of the same model send them
        return given
    places = {name: place for place, name in enumerate(known)}
    result = last.copy()
    for name, value in zip(names, given, strict=True):
        if name not in places:
            raise ConfigurationError(f"{owner} has no '{name}'")
        result[places[name]] = value
    return result
