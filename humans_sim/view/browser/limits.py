# SPDX-License-Identifier: Apache-2.0
"""How far the controls of a page go, by what the model can follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.control.walking.footsteps import FootstepPlanner, Velocity
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.models import Model

_PUSH_SPEED = 0.023
"""Change of a KHR-1's speed by a push of middle strength [m/s]."""
_PUSH_HEIGHT = 0.328
"""Height of a KHR-1 [m]."""
_OVER = 50.0
"""Pushes of middle strength that throw a biped over at once."""


@dataclass(frozen=True)
class Limits:
    """What can be asked for.

    Attributes:
        forward: largest speed forwards [m/s].
        backward: largest speed backwards [m/s].
        sideways: largest speed to a side [m/s].
        turn: largest rate of turning [rad/s].
        push: impulse of a push of middle strength [N s].
    """

    forward: float = 0.0
    backward: float = 0.0
    sideways: float = 0.0
    turn: float = 0.0
    push: float = 0.03

    @property
    def push_over(self) -> float:
        """Impulse that throws it over [N s]."""
        return _OVER * self.push

    @classmethod
    def of_model(
        cls, model: Model, height: float, settings: WalkSettings | None = None
    ) -> Limits:
        """What a biped can follow; without settings it does not walk.

        A push of middle strength is 0.03 N s for the KHR-1; others get one that their
        mass and height make as strong.
        """
        strength = math.sqrt(height / _PUSH_HEIGHT) * _PUSH_SPEED * model.mass
        push = float(f"{strength:.1g}")
        if settings is None:
            return cls(push=push)
        limited, much = FootstepPlanner(settings).limited, 1e6
        return cls(
            forward=limited(Velocity(vx=much)).vx,
            backward=-limited(Velocity(vx=-much)).vx,
            sideways=limited(Velocity(vy=much)).vy,
            turn=limited(Velocity(wz=much)).wz,
            push=push,
        )
