# SPDX-License-Identifier: Apache-2.0
"""Where a scenario starts, for who simulates its body elsewhere."""

from __future__ import annotations

import numpy as np

from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model


def scenario_start(name: str, model: Model) -> np.ndarray:
    """Configuration at the start of a scenario (nq,).

    Args:
        name: of a scenario of the package, or the path of a file.
        model: what starts there; the scenario is one of it.

    Raises:
        ParameterError: there is no such scenario, or it is of another model.
        ModelFileError: the file is malformed.
    """
    scenario = read_scenario(name)
    if scenario.model is None or scenario.has_bodies:
        raise ParameterError(f"{name} is no scenario of one biped alone")
    simulation, q, _ = scenario.prepare()
    if simulation.system.model.joint_names != model.joint_names:
        raise ParameterError(f"{name} is a scenario of another model: {scenario.model}")
    start: np.ndarray = q
    return start
