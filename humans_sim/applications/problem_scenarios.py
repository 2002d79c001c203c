# SPDX-License-Identifier: Apache-2.0
"""Scenarios of classic problems: balls, blocks and woodpeckers without a model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from humans_sim.core.yaml_file import YamlValue
from humans_sim.dynamics import problems
from humans_sim.dynamics.simulation import Simulation

_MOST_PARTS = 100
"""Bodies of a classic problem."""


def prepare_problem(
    fields: Mapping[str, YamlValue],
    start: Mapping[str, YamlValue],
    method: str,
    options: Mapping[str, Any],
) -> tuple[Simulation, np.ndarray, np.ndarray]:
    """The simulation of a classic problem with its start.

    Args:
        fields: sections of the scenario.
        start: of its section ``start``.
        method: ``event_driven`` or ``time_stepping``.
        options: of the integration.

    Raises:
        ModelFileError: a section is wrong; with file and line.
    """
    chosen = fields["problem"]
    make: Callable[..., Any] = problems.PROBLEMS[
        chosen.choice(tuple(problems.PROBLEMS))
    ]
    parameters: dict[str, Any] = {}
    if "parameters" in fields:
        parameters = _problem_parameters(make, fields["parameters"])
    try:
        system = make(**parameters)
    except TypeError as error:
        raise chosen.error(f"these parameters do not fit: {error}") from None
    q, v = np.zeros(system.nq), np.zeros(system.nv)
    if "q" in start:
        q = start["q"].vector(system.nq, {"pi": math.pi})
    if "v" in start:
        v = start["v"].vector(system.nv)
    return Simulation(system, method=method, **options), q, v


def _problem_parameters(make: Callable[..., Any], given: YamlValue) -> dict[str, Any]:
    """Parameters of a classic problem, each of its kind."""
    kinds = {
        name: parameter.annotation
        for name, parameter in inspect.signature(make).parameters.items()
    }
    parameters: dict[str, Any] = {}
    for name, value in given.fields((), tuple(kinds)).items():
        if kinds[name] == "bool":
            parameters[name] = value.choice(("true", "false")) == "true"
            continue
        number = value.number({"pi": math.pi})
        if kinds[name] == "int":
            if number != int(number) or not 1 <= number <= _MOST_PARTS:
                raise value.error(f"a whole number of 1 to {_MOST_PARTS} is wanted")
            number = int(number)
        elif name in ("mass", "length", "radius") and number <= 0:
            raise value.error(f"a number above zero is wanted, not {number:g}")
        parameters[name] = number
    return parameters
