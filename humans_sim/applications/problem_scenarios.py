# SPDX-License-Identifier: Apache-2.0
"""Scenarios of classic problems: balls, blocks and woodpeckers without a model.

Also scenarios with free bodies, read from their files.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from humans_sim.applications.control_sections import ControlSetup
from humans_sim.applications.scenario_control import build_controller
from humans_sim.applications.scene_files import truth_of
from humans_sim.applications.scene_setup import SceneSetup
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.walking.walk import ServoWalk
from humans_sim.core.yaml_file import YamlValue
from humans_sim.dynamics import problems
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.scenes.scene_system import SceneActuation, SceneController
from humans_sim.dynamics.simulation import Simulation
from humans_sim.models import Model

_MOST_PARTS = 100
"""Bodies of a classic problem."""


def prepare_problem(
    fields: Mapping[str, YamlValue],
    start: Mapping[str, YamlValue],
    method: str,
    options: Mapping[str, Any],
) -> tuple[Simulation, np.ndarray, np.ndarray]:
    """The simulation of a classic problem with its start, by sections of a scenario."""
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
            parameters[name] = truth_of(value)
            continue
        number = value.number({"pi": math.pi})
        if kinds[name] == "int":
            if number != int(number) or not 1 <= number <= _MOST_PARTS:
                raise value.error(f"must be a whole number of 1 to {_MOST_PARTS}")
            number = int(number)
        elif name in ("mass", "length", "radius") and number <= 0:
            raise value.error(f"must be a number above zero, not {number:g}")
        parameters[name] = number
    return parameters


def prepare_scene(
    fields: Mapping[str, YamlValue],
    model: Model | None,
    ground: Ground,
    options: Mapping[str, Any],
) -> tuple[Simulation, np.ndarray, np.ndarray]:
    """The simulation of a scenario with bodies and maybe a robot, and its start."""
    setup = SceneSetup.of(fields)
    control = ControlSetup(None)
    if model is not None:
        control = build_controller(
            fields.get("actuation"), fields.get("controller"), model, {"ground": ground}
        )
        if isinstance(control.controller, ServoWalk):
            raise fields["controller"].error(
                "a walk by servos needs the forces on its feet, which it does not have "
                "among free bodies: use walk_stream"
            )
    armature = None if control.actuation is None else control.actuation.armature
    dissipation = None
    if model is not None:
        dissipation = JointDissipation.of(model, control.actuation)
    scene = setup.system(ground, model, armature, dissipation=dissipation)
    actuation = None
    if control.actuation is not None or setup.loads:
        actuation = SceneActuation(scene, control.actuation, setup.loads)
    controller = None
    if control.controller is not None:
        controller = SceneController(scene, control.controller)
    simulation = Simulation(
        scene,
        actuation,
        controller,
        method="time_stepping",
        passive=False if setup.loads else None,
        **options,
    )
    start = control.start
    if model is not None and start is None:
        start = model.standing(np.zeros(len(model.joint_names)))
    return (simulation, *setup.start(scene, start))
