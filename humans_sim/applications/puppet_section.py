# SPDX-License-Identifier: Apache-2.0
"""A puppet on the hands of an operator, as the file of a scenario describes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.core.constants import DOWNWARD
from humans_sim.core.yaml_file import YamlValue
from humans_sim.results.run import Run

if TYPE_CHECKING:
    from humans_sim.applications.scenarios import Scenario

_NUMBERS = ("period", "step_height", "step_width", "step_time", "until")


def run_puppet(
    scenario: Scenario, value: YamlValue, save: Path | str | None = None
) -> Run:
    """Simulate the puppet of the thesis: the operator lifts its feet in turn.

    Args:
        scenario: its times.
        value: section of the file.
        save: file that the run is written to at its end.
    """
    from humans_sim.soft.layers.network_run import run_network
    from humans_sim.soft.layers.puppet import curves_of, puppet
    from humans_sim.soft.networks.simulation import NetworkSimulation

    fields = value.fields((), ("coat", *_NUMBERS))
    numbers = {key: fields[key].positive() for key in _NUMBERS if key in fields}
    coat = "coat" in fields and fields["coat"].choice(("true", "false")) == "true"
    network = puppet(coat)
    simulation = NetworkSimulation(network, numbers.get("period", 1e-3), DOWNWARD)
    feet = simulation.positions[np.array(network.driven)]
    high, wide = numbers.get("step_height", 0.05), numbers.get("step_width", 0.04)
    turn, until = numbers.get("step_time", 0.8), numbers.get("until", np.inf)

    def driven(t: float) -> np.ndarray:
        """Feet go up in turn, and to the side, until the operator rests."""
        phase = 2 * np.pi * min(t, turn * np.floor(until / turn)) / turn
        lift = high * np.maximum(0.0, [np.sin(phase), -np.sin(phase)]) ** 2
        sway = wide * np.sin(phase / 2) ** 2
        return feet + np.column_stack([0 * lift, [sway, sway], lift])

    run = run_network(
        simulation,
        scenario.end,
        scenario.sampling_period,
        "puppet",
        driven,
        curves_of(network),
    )
    if save is not None:
        run.save(save)
    return run
