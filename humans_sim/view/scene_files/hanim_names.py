# SPDX-License-Identifier: Apache-2.0
"""Names of joints in H-Anim, as the manual's VRML animations have them.

Of several hinges in one place the last is the joint: it carries the segment. The names
of the KHR-1 are those of the manual's table 4.1; those of the human are H-Anim's own,
at the centres of the manual's table 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

ROOT = "HumanoidRoot"
_HUMAN = {
    "thorax_roll": "vt10",
    "head_roll": "vc7",
    "clavicle_roll": "sternoclavicular",
    "shoulder_roll": "shoulder",
    "elbow_yaw": "elbow",
    "wrist_roll": "wrist",
    "hip_roll": "hip",
    "knee": "knee",
    "ankle_roll": "ankle",
}
_KONDO = {
    "head_yaw": "vc7",
    "shoulder_pitch": "shoulderSagittal",
    "shoulder_roll": "shoulder",
    "elbow": "elbow",
    "hip_roll": "hipFrontal",
    "hip_pitch": "hip",
    "knee": "knee",
    "ankle_pitch": "ankleSagittal",
    "ankle_roll": "ankle",
}
_MODELS: dict[str, tuple[str, Mapping[str, str]]] = {
    "human36": ("hanim_", _HUMAN),
    "human": ("hanim_", _HUMAN),
    "khr1": ("Kondo_", _KONDO),
}
"""Prefix and names of each model; sides stand before both."""


def hanim_name(model: str, joint: str) -> str | None:
    """Name of a joint in H-Anim; None where it has none.

    Args:
        model: its name.
        joint: name in the model; that of the base is empty.
    """
    if model not in _MODELS:
        return None
    prefix, names = _MODELS[model]
    if not joint:
        return prefix + ROOT
    side = joint[:2] if joint[:2] in ("l_", "r_") else ""
    name = names.get(joint[len(side) :])
    return None if name is None else prefix + side + name
