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
    found = last.copy()
    for name, value in zip(names, values, strict=True):
        if name not in known:
            raise ConfigurationError(f"{owner} has no '{name}'")
        if not np.isfinite(value):
            raise ConfigurationError(f"the {what} of '{name}' is {value}")
        found[known.index(name)] = value
    return found
