# SPDX-License-Identifier: Apache-2.0
"""Named postures in which a model stands at the start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.control.walking import Walker, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

NEUTRAL, WALK = "neutral", "walk"
POSTURES = (NEUTRAL, WALK)


def walk_settings(model: Model, file: Path | None) -> WalkSettings:
    """How a model walks: a file, or what comes with the package."""
    if file is None:
        return WalkSettings.of_model(model)
    return WalkSettings.from_file(model, file)


def start_posture(
    model: Model,
    name: str,
    walking: Path | None = None,
    slope: float = 0.0,
    height: float = 0.0,
) -> np.ndarray:
    """Configuration of a posture, square to the floor.

    Args:
        model: the model.
        name: ``neutral``, or ``walk``: as its walk begins.
        walking: file of the walk; None: the model's own.
        slope: the floor climbs along x [rad].
        height: above standing [m].

    Raises:
        ParameterError: there is no such posture, or no walk.
    """
    if name not in POSTURES:
        raise ParameterError(
            f"{model.name} has no posture '{name}' (there are: {', '.join(POSTURES)})"
        )
    if name == WALK:
        q = Walker(model, walk_settings(model, walking)).start()
    else:
        q = model.standing(model.neutral()[7:])
    turn = pin.SE3(pin.utils.rotate("y", -slope), np.zeros(3))
    q[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(q[:7]))
    q[2] += height
    return q
