# SPDX-License-Identifier: Apache-2.0
"""Scenarios with free bodies: read from their files, made ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.applications.control_sections import ControlSetup
from humans_sim.applications.scenario_control import build_controller
from humans_sim.applications.scene_setup import SceneSetup
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.walking.servo_walk import ServoWalk
from humans_sim.core.yaml_file import YamlValue
from humans_sim.dynamics.joint_dissipation import JointDissipation
from humans_sim.dynamics.scenes.scene_actuation import SceneActuation
from humans_sim.dynamics.scenes.scene_controller import SceneController
from humans_sim.dynamics.simulation import Simulation
from humans_sim.models import Model


def prepare_scene(
    fields: Mapping[str, YamlValue],
    model: Model | None,
    ground: Ground,
    options: Mapping[str, Any],
) -> tuple[Simulation, np.ndarray, np.ndarray]:
    """The simulation of a scenario with bodies, and its start.

    Args:
        fields: of the scenario's file.
        model: of its robot, or None.
        ground: of the scene.
        options: of the integration.

    Raises:
        ModelFileError: something in the file is wrong; it names the line and the key.
    """
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
