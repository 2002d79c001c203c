# SPDX-License-Identifier: Apache-2.0
"""Commands of drives out of messages. Checked here: topics are hostile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.actuation import Stimulator
from humans_sim.actuation.joint_groups import JointGroup
from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.command_checks import named_values


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


def joint_commands(
    message: Any, groups: Sequence[JointGroup], owner: str
) -> list[np.ndarray]:
    """Commands of a JointState message, one for each group.

    Servos take ``position``, torques and motors ``effort``; what is not named stays as
    it was. The owner of the names is for messages.
    """
    names = list(message.name)
    if not names:
        raise ConfigurationError("nothing is named")
    others = {name for group in groups[1:] for name in group.names}
    commands = []
    for k, group in enumerate(groups):
        # The first one takes unknown names, too, and refuses them.
        own = [
            i
            for i, x in enumerate(names)
            if (x in group.names if k else x not in others)
        ]
        values = getattr(message, group.field)
        if own and len(values) != len(names):
            raise ConfigurationError(
                f"{len(names)} names and {len(values)} {group.field}s"
            )
        picked = [values[i] for i in own]
        chosen = [names[i] for i in own]
        commands.append(
            named_values(group.names, chosen, picked, group.last, group.field, owner)
        )
    return commands
