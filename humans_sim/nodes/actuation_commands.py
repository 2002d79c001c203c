"""Commands of an actuation out of messages. Checked here: topics are hostile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.actuation import Stimulator
from humans_sim.errors import ConfigurationError


def named_values(
    known: Sequence[str],
    names: Sequence[str],
    values: Sequence[float],
    last: np.ndarray,
    what: str,
) -> np.ndarray:
    """Values by name; those that are left out keep their ``last`` value.

    Args:
        known: the names there are.
        names: those of the message.
        values: of the message.
        last: for all known names.
        what: the values are, for messages.

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
            raise ConfigurationError(f"there is no '{name}' to command")
        if not math.isfinite(value):
            raise ConfigurationError(f"the {what} of '{name}' is {value}")
        found[known.index(name)] = value
    return found


def pulse_trains(
    message: Any, muscles: Sequence[str], stimulator: Stimulator
) -> np.ndarray:
    """Trains of pulses (nmuscles, 2) of a Stimulation message.

    Muscles that are not named have NaN.

    Raises:
        ConfigurationError: as :func:`named_values`, or a pulse that the stimulator
            cannot give.
    """
    names, none = message.muscle_names, np.full(len(muscles), math.nan)
    width, current, period = (
        named_values(muscles, names, getattr(message, field), none, field)
        for field in ("pulse_width", "pulse_current", "pulse_period")
    )
    limits = (
        ("pulse_width", width, stimulator.max_width, "s"),
        ("pulse_current", current, stimulator.max_current, "A"),
    )
    for field, values, most, unit in limits:
        for name, value in zip(muscles, values, strict=True):
            if value < 0.0 or value > most:
                raise ConfigurationError(
                    f"the {field} of '{name}' must be 0 to {most:g} {unit}, not "
                    f"{value:g}"
                )
    return np.column_stack([width * current, period])
