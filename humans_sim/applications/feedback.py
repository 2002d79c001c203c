# SPDX-License-Identifier: Apache-2.0
"""What the controller of a scenario sees: the true state, or sensors and observer.

.. code-block:: yaml

    feedback: observer                    # sensors: has encoders and feet
    feedback: {observer: {use: oldest, floor_height: 0, threshold: 40}}
    feedback: true_state                  # as without the key
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from humans_sim.applications.control_sections import ControlSetup
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.sensors import Sensor
from humans_sim.models import Model
from humans_sim.observation.base.feedback import ObserverFeedback
from humans_sim.observation.base.observer import USES

TRUE_STATE, OBSERVER = "true_state", "observer"
FEEDBACKS = (TRUE_STATE, OBSERVER)
_NUMBERS = ("threshold", "release", "floor_height")


def with_feedback(
    control: ControlSetup,
    value: YamlValue | None,
    chosen: str | None,
    model: Model,
    sensors: Sequence[Sensor],
) -> ControlSetup:
    """A controller that sees what a scenario says it sees.

    Args:
        control: the actuation and the controller.
        value: section ``feedback`` of the scenario, or None.
        chosen: one of :data:`FEEDBACKS` in place of the section's, or None.
        model: what is controlled.
        sensors: of the scenario.

    Raises:
        ModelFileError: the section is wrong, or sensors are missing.
        ParameterError: the same of ``chosen``.
    """
    if chosen is not None and chosen not in FEEDBACKS:
        raise ParameterError(
            f"feedback must be one of {', '.join(FEEDBACKS)}, not '{chosen}'"
        )
    kind, options = _section(value)
    kind = kind if chosen is None else chosen
    if kind == TRUE_STATE:
        return control
    if control.controller is None:
        raise ParameterError("feedback from an observer needs a controller")
    law, options = control.controller, {**options, "standing": control.standing}
    if value is None:
        feedback = ObserverFeedback.of_sensors(law, model, sensors, **options)
    else:
        with located_errors(value):
            feedback = ObserverFeedback.of_sensors(law, model, sensors, **options)
    return control._replace(controller=feedback)


def _section(value: YamlValue | None) -> tuple[str, dict[str, Any]]:
    """The kind of feedback, and options of the observer."""
    if value is None:
        return TRUE_STATE, {}
    if not value.is_mapping():
        return value.choice(FEEDBACKS), {}
    section = value.fields((OBSERVER,))[OBSERVER]
    options: dict[str, Any] = {}
    for key, item in section.fields((), ("use", *_NUMBERS)).items():
        options[key] = item.choice(USES) if key == "use" else item.number()
    return OBSERVER, options
