# SPDX-License-Identifier: Apache-2.0
"""Where a biped of a scenario starts, as its file describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.core.yaml_file import YamlValue

_KEYS = ("height", "tilt", "joints", "joint_speeds", "base_velocity", "q", "v")


def start_keys(fields: Mapping[str, YamlValue]) -> dict[str, YamlValue]:
    """What the section ``start`` of a scenario says."""
    return fields["start"].fields((), _KEYS) if "start" in fields else {}


def model_start(
    fields: Mapping[str, YamlValue], model: Any, system: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Configuration and velocity of a biped at the start.

    Args:
        fields: of the scenario.
        model: of the biped; joints that it has not are left aside where the scenario
            is of another one.
        system: of its simulation.
    """
    start = start_keys(fields)
    joints = np.zeros(len(model.joint_names))
    v = np.zeros(model.nv)
    names = list(model.joint_names)
    for key, target, scale in (
        ("joints", joints, math.pi / 180),
        ("joint_speeds", v[6:], 1.0),
    ):
        if key not in start:
            continue
        for name, value in start[key].mapping().items():
            if name in names:
                target[names.index(name)] = scale * value.number()
            elif model.name == fields["model"].text():
                raise value.error(f"{model.name} has no joint '{name}'")
    q = model.standing(joints)
    if "tilt" in start:
        angles = np.radians(start["tilt"].vector(3))
        turn = pin.Quaternion(pin.rpy.rpyToMatrix(*angles))
        q[3:7] = turn.coeffs()
        if model.contact_names:
            q[2] -= model.contact(q)[:, 2].min()
    if "contact_geometry" in fields:
        names = [n for n in system.contact_points if n in model.tag_names]
        balls = [model.tag_names.index(name) for name in names]
        if balls:
            q[2] -= (model.tags(q)[balls, 2] - system.radii[: len(balls)]).min()
    if "height" in start:
        q[2] += start["height"].number()
    if "base_velocity" in start:
        v[:6] = start["base_velocity"].vector(6)
    return q, v
