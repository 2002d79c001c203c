# SPDX-License-Identifier: Apache-2.0
"""Named postures in which a model stands at the start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.applications.scenarios import scenario_names, scenario_start
from humans_sim.control.bip.task import BipPoses, BipTask, standing
from humans_sim.control.walking import Walker, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import is_file
from humans_sim.models import Model

NEUTRAL, WALK, STAND = "neutral", "walk", "stand"
POSTURES = (NEUTRAL, WALK, STAND)


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
    place: Sequence[float] = (),
) -> np.ndarray:
    """Configuration of a posture, square to the floor.

    Args:
        model: the model.
        name: ``neutral``; ``walk``: as its walk begins; ``stand``: as Bip's task law
            stands; or a scenario, by its name or file: as that starts.
        walking: file of the walk; None: the model's own.
        slope: the floor climbs along x [rad].
        height: above standing [m].
        place: on the level floor, x and y [m], and heading [rad]; none: the origin.

    Raises:
        ParameterError: there is no such posture, or no walk.
    """
    scenario = name not in POSTURES  # there is a scenario called walk, too
    if scenario and (name in scenario_names() or is_file(Path(name))):
        q = scenario_start(name, model)
    elif scenario:
        raise ParameterError(
            f"{model.name} has no posture '{name}' (there are: {', '.join(POSTURES)}, "
            "and those of scenarios, by their names)"
        )
    elif name == WALK:
        q = Walker(model, walk_settings(model, walking)).start()
    elif name == STAND:
        task = BipTask(model)
        q = BipPoses(task).configuration(standing(task))
    else:
        q = model.standing(model.neutral()[7:])
    if place:
        x, y, heading = place
        moved = pin.SE3(pin.utils.rotate("z", heading), np.array([x, y, 0.0]))
        q[:7] = pin.SE3ToXYZQUAT(moved * pin.XYZQUATToSE3(q[:7]))
    if slope:  # by way of a matrix the last digits would change
        turn = pin.SE3(pin.utils.rotate("y", -slope), np.zeros(3))
        q[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(q[:7]))
    q[2] += height
    return q
