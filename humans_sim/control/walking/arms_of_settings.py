# SPDX-License-Identifier: Apache-2.0
"""The arms of a walk, as its settings have them."""

from __future__ import annotations

import numpy as np

from humans_sim.control.walking.arm_swing import ArmSwing, find_shoulders
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SettingError, sole_legs
from humans_sim.models import Model


def swinging_arms(model: Model, settings: WalkSettings) -> ArmSwing | None:
    """Arms that swing; None where the settings keep them still.

    Raises:
        SettingError: arms shall swing, and the model has no shoulders for it.
    """
    if not settings.arm_swing:
        return None
    legs = sole_legs(model, settings.left, settings.right)
    joints = [joint for leg in legs for joint in leg.joints]
    shoulders = find_shoulders(model, joints, legs[0].length)
    if shoulders is None:
        raise SettingError(
            "arm_swing", f"{model.name} has no pair of shoulders with a pitch joint"
        )
    names = [model.joint_names[joint] for joint in shoulders.joints]
    rest = np.array([settings.posture.get(name, 0.0) for name in names])
    gain = settings.arm_swing / legs[0].length
    return ArmSwing(model, shoulders, rest, gain)
