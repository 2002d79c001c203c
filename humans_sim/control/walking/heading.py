# SPDX-License-Identifier: Apache-2.0
"""Heading of a walk: how far it should have turned, how far it has, and the next turn.

The command says how far each step turns the body. What is measured, or else planned,
says how far it turned. The difference is made good by the steps to come.

Hips with a yaw joint turn a little in each step, and take in a share of the difference.
Legs that slip pivot on both feet, which takes time, and turn worse where the pivot is
small: they wait until a turn is worth it, and then make all of it.
"""

from __future__ import annotations

from typing import NamedTuple

from humans_sim.control.walking.footsteps import FootstepPlanner, Velocity
from humans_sim.control.walking.settings import SLIP, WalkSettings

_MOST_TRIM = 0.5
"""Largest correction of a step that turns in the hips, in largest steps."""


class StepTurn(NamedTuple):
    """How a step is made so that the heading is held.

    Attributes:
        velocity: with which it is planned.
        asked: how far the command turns the body during it [rad].
        made: how far the step turns it by plan [rad].
    """

    velocity: Velocity
    asked: float
    made: float


class Heading:
    """Counts turns of one walk.

    Args:
        settings: of the walk.
        planner: that limits velocities.

    Attributes:
        asked: how far the body should have turned since the walk began [rad].
        measured: how far it has; None where nobody measures it [rad].
    """

    def __init__(self, settings: WalkSettings, planner: FootstepPlanner) -> None:
        self._settings, self._planner = settings, planner
        self.asked = self._made = self._start = 0.0
        self.measured: float | None = None

    def begin(self) -> None:
        """A walk begins: the heading of now is right."""
        self.asked = self._made = 0.0
        self._start = 0.0 if self.measured is None else self.measured

    def count(self, asked: float = 0.0, made: float = 0.0) -> None:
        """A step asked for a turn; the body made one, by plan [rad]."""
        self.asked += asked
        self._made += made

    def missing(self, pending: float) -> float:
        """What lacks when a planned turn is over [rad].

        Args:
            pending: turn that is under way and not yet counted [rad].
        """
        turned = self._made
        if self.measured is not None:
            turned = self.measured - self._start
        return self.asked - turned - pending

    def step(self, velocity: Velocity, missing: float) -> StepTurn:
        """Plan a step.

        Args:
            velocity: that is commanded, within reach.
            missing: what lacks of the heading when it begins [rad].
        """
        if self._settings.turns == SLIP:
            return self._pivoted(velocity, missing)
        period = self._planner.period(velocity)
        turned = velocity
        if abs(missing) > self._settings.heading_tolerance:
            most = _MOST_TRIM * 0.5 * self._settings.max_turn
            trim = min(max(self._settings.heading_gain * missing, -most), most)
            turned = self._planner.limited(
                velocity._replace(wz=velocity.wz + trim / period)
            )
        return StepTurn(turned, velocity.wz * period, turned.wz * period)

    def _pivoted(self, velocity: Velocity, missing: float) -> StepTurn:
        """A step that pivots, where that is worth it."""
        straight = velocity._replace(wz=0.0)
        period = self._planner.period(straight)
        asked = velocity.wz * period
        most, least = self._settings.max_turn, self._settings.least_pivot
        if abs(missing + asked) < least or most == 0.0:
            return StepTurn(straight, asked, 0.0)
        period += self._settings.pivot_duration
        asked = velocity.wz * period
        wz = min(max(missing + asked, -most), most) / period
        room = max(self._planner.turn_room(velocity._replace(wz=wz)), abs(velocity.wz))
        pivot = velocity._replace(wz=min(max(wz, -room), room))
        return StepTurn(pivot, asked, pivot.wz * period)
