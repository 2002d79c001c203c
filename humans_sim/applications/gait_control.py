# SPDX-License-Identifier: Apache-2.0
"""The section ``gait`` of a scenario's controller: a human that walks like one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from humans_sim.applications.control_sections import (
    ControlSetup,
    gravity_of,
    period_of,
    torques_of,
)
from humans_sim.control.gait.gait_cycle import GaitCycle, GaitSettings
from humans_sim.control.gait.gait_walk import GaitWalk
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.models import Model


def gait_control(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """A human that walks by torques in its joints, from the middle of a stride."""
    given = value.fields(("speed",), ("period",))
    period = period_of(given)
    with located_errors(value):
        settings = GaitSettings(speed=given["speed"].positive())
        cycle = GaitCycle(model, settings, gravity_of(scene))
        walk = GaitWalk(cycle, period)
    torques = torques_of(actuation, model)
    return ControlSetup(torques, walk.start(), walk, velocity=walk.start_velocity())
