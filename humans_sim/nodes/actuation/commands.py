# SPDX-License-Identifier: Apache-2.0
"""Trains of pulses out of messages. Checked here: topics are hostile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.actuation import Stimulator
from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.named_values import named_values


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
        named_values(muscles, names, getattr(message, field), none, field, "the body")
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
