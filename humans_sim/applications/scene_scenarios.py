# SPDX-License-Identifier: Apache-2.0
"""Scenarios with free bodies: read from their files, made ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.applications.scenario_control import ControlSetup, build_controller
from humans_sim.applications.scene_files import self_collision_of
from humans_sim.bodies.loads import Load, Spring, Wind
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.walking.servo_walk import ServoWalk
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.scenes.scene_actuation import SceneActuation
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_controller import SceneController
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.models import Model

_SHAPES = ("box", "ball")
_MOTION = ("at", "turn", "velocity", "spin")


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
    entries = fields["bodies"].mapping()
    given = {name: _fields(entry) for name, entry in entries.items()}
    bodies = [_body(name, entries[name], given[name]) for name in entries]
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
    radii = fields["radii"].mapping() if "radii" in fields else {}
    contacts = None
    if "contacts" in fields:
        contacts = [item.text() for item in fields["contacts"]]
    with located_errors(fields["bodies"]):
        scene = SceneSystem(
            bodies,
            ground,
            robot=model,
            contacts=contacts,
            radii={name: value.positive() for name, value in radii.items()},
            armature=None if control.actuation is None else control.actuation.armature,
            gravity=fields["gravity"].vector(3).tolist()
            if "gravity" in fields
            else None,
            self_collision=self_collision_of(fields["self_collision"])
            if "self_collision" in fields
            else None,
        )
    loads = _loads(fields.get("loads"), list(entries))
    actuation = None
    if control.actuation is not None or loads:
        actuation = SceneActuation(scene, control.actuation, loads)
    controller = None
    if control.controller is not None:
        controller = SceneController(scene, control.controller)
    simulation = Simulation(
        scene,
        actuation,
        controller,
        method="time_stepping",
        passive=False if loads else None,
        **options,
    )
    start = control.start
    if model is not None and start is None:
        start = model.standing(np.zeros(len(model.joint_names)))
    return (simulation, *_start(scene, given, start))


def _fields(entry: YamlValue) -> dict[str, YamlValue]:
    fields = entry.fields(("mass", "at"), (*_SHAPES, "friction", *_MOTION[1:]))
    if sum(shape in fields for shape in _SHAPES) != 1:
        raise entry.error(f"exactly one of {', '.join(_SHAPES)} is wanted")
    return fields


def _body(name: str, entry: YamlValue, given: dict[str, YamlValue]) -> SceneBody:
    mass = given["mass"].positive()
    friction = given["friction"].number() if "friction" in given else None
    with located_errors(entry):
        if "ball" in given:
            return SceneBody.ball(name, mass, given["ball"].positive(), friction)
        x, y, z = given["box"].vector(3).tolist()
        return SceneBody.box(name, mass, (x, y, z), friction)


def _loads(value: YamlValue | None, names: list[str]) -> list[Load]:
    """Wind and springs."""
    if value is None:
        return []
    loads: list[Load] = []
    parts = value.fields((), ("wind", "springs"))
    if "wind" in parts:
        wind = parts["wind"].fields(("velocity", "areas"), ("density",))
        areas = {k: v.number() for k, v in wind["areas"].mapping().items()}
        density = wind["density"].positive() if "density" in wind else 1.2
        x, y, z = wind["velocity"].vector(3).tolist()
        with located_errors(parts["wind"]):
            loads.append(Wind([areas.get(n, 0.0) for n in names], (x, y, z), density))
    for item in parts["springs"] if "springs" in parts else ():
        spring = item.fields(
            ("body", "point", "anchor", "stiffness"), ("other", "damping", "length")
        )
        numbers = {k: spring[k].number() for k in ("damping", "length") if k in spring}
        other = None
        if "other" in spring:
            other = names.index(spring["other"].choice(tuple(names)))
        with located_errors(item):
            loads.append(
                Spring(
                    names.index(spring["body"].choice(tuple(names))),
                    spring["point"].vector(3).tolist(),
                    spring["anchor"].vector(3).tolist(),
                    spring["stiffness"].number(),
                    other=other,
                    **numbers,
                )
            )
    return loads


def _start(
    scene: SceneSystem, given: dict[str, dict[str, YamlValue]], robot: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    places = {name: fields["at"].vector(3).tolist() for name, fields in given.items()}
    turns = {
        name: pin.rpy.rpyToMatrix(*np.radians(fields["turn"].vector(3)))
        for name, fields in given.items()
        if "turn" in fields
    }
    q = scene.configuration(places, robot, turns)
    v = np.zeros(scene.nv)
    for k, (name, fields) in enumerate(given.items()):
        first = scene.robot_nv + 6 * k
        if "velocity" in fields:
            v[first : first + 3] = fields["velocity"].vector(3)
        if "spin" in fields:  # given in the world's frame
            turn = turns.get(name, np.eye(3))
            v[first + 3 : first + 6] = turn.T @ fields["spin"].vector(3)
    return q, v
