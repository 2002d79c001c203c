# SPDX-License-Identifier: Apache-2.0
"""The legs of a walk: which soles are left and right, and what carries them."""

from __future__ import annotations

from typing import Protocol

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs import Leg, leg_chains, read_leg, sole_named
from humans_sim.models.points import frame_index

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


def sole_sides(model: Model) -> tuple[str, str]:
    """Frames of the left and the right sole, by where they are, of just two."""
    if len(model.soles) != 2:
        raise ParameterError(
            f"{model.name} has {len(model.soles)} soles, a walk needs two: "
            "'humans-sim init-robot' finds them in a URDF"
        )
    q = model.neutral()
    left, right = sorted(
        (sole.name for sole in model.soles),
        key=lambda name: -model.frame_pose(q, name).translation[1],
    )
    return left, right


def sole_legs(model: Model, left: str, right: str) -> tuple[Leg, Leg]:
    """The legs that carry two soles; ParameterError: it has no such soles or legs."""
    tree, soles = model.pin, [sole_named(model, name) for name in (left, right)]
    frames = [tree.frames[frame_index(tree, sole.name)] for sole in soles]
    joints = [int(frame.parentJoint) for frame in frames]
    first, second = leg_chains(model, *joints)
    return read_leg(model, first), read_leg(model, second)
