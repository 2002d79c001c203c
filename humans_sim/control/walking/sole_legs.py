# SPDX-License-Identifier: Apache-2.0
"""The legs of a walk: which soles are left and right, and what carries them."""

from __future__ import annotations

from typing import Protocol

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs import Leg, leg_chains, read_leg, sole_named

HIP_YAW, SLIP = "hip_yaw", "slip"
TURNS = (HIP_YAW, SLIP)
"""How a biped turns: by yaw joints in its hips, or on soles that slip."""


class SolePairNames(Protocol):
    """Settings of a walk that name its legs and how they turn."""

    @property
    def left(self) -> str:
        """Frame of the left sole."""

    @property
    def right(self) -> str:
        """Frame of the right sole."""

    @property
    def turns(self) -> str:
        """One of :data:`TURNS`."""


class SettingError(ParameterError):
    """A setting of a walk is out of its range.

    Attributes:
        setting: its name.
        reason: what is wrong with it.
    """

    def __init__(self, setting: str, reason: str) -> None:
        """Compose the message as ``setting: reason``."""
        self.setting, self.reason = setting, reason
        super().__init__(f"{setting}: {reason}")


def sole_sides(model: Model) -> tuple[str, str]:
    """Frames of the left and the right sole, by where they are.

    Raises:
        ParameterError: the model has not two soles.
    """
    if len(model.soles) != 2:
        raise ParameterError(
            f"{model.name} has {len(model.soles)} soles, a walk needs two: "
            "'humans-sim init-robot' finds them in a URDF"
        )
    q = model.neutral()
    first, second = (sole.name for sole in model.soles)
    if (
        model.frame_pose(q, first).translation[1]
        < model.frame_pose(q, second).translation[1]
    ):
        first, second = second, first
    return first, second


def sole_legs(model: Model, left: str, right: str) -> tuple[Leg, Leg]:
    """The legs that carry two soles.

    Raises:
        ParameterError: the model has no such soles or legs.
    """
    joints = [
        int(
            model.pin.frames[
                model.pin.getFrameId(sole_named(model, name).name)
            ].parentJoint
        )
        for name in (left, right)
    ]
    first, second = leg_chains(model, *joints)
    return read_leg(model, first), read_leg(model, second)
