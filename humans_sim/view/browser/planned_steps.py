# SPDX-License-Identifier: Apache-2.0
"""Steps that a walk plans, as outlines of soles on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.control.walking import PatternPoint, WalkSettings
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.placement import PlanPlacement
from humans_sim.models import Model
from humans_sim.view.browser.footprints import outlines

SOLE_COLOURS = ((41, 98, 184), (222, 120, 31))
"""Red, green, blue of the footprints of the first sole of a model and of the second."""


@dataclass(frozen=True)
class PlannedStep:
    """A step of a plan.

    Attributes:
        corners: of the sole where it lands, in the world (n, 3) [m].
        colour: red, green, blue, 0 to 255.
    """

    corners: np.ndarray
    colour: tuple[int, int, int]


class StepPlan:
    """Predicts where the real feet will make the steps of a plan.

    The plan is moved along with the foot that stands: see :class:`PlanPlacement`.
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        """Steps of a model that walks by some settings."""
        self._placement = PlanPlacement(model, settings)
        names = {settings.left: Side.LEFT, settings.right: Side.RIGHT}
        self._soles = {
            names[sole.name]: (_at_zero(sole.corners), colour)
            for sole, colour in zip(outlines(model), SOLE_COLOURS, strict=False)
            if sole.name in names
        }

    def reset(self) -> None:
        """A new walk begins."""
        self._placement.reset()

    def steps(self, plan: PatternPoint, q: np.ndarray) -> tuple[PlannedStep, ...]:
        """The step under way and those to come.

        Args:
            plan: at one time.
            q: configuration at that time, in the world.
        """
        self._placement.see(plan, q)
        steps = []
        for step in plan.footsteps:
            pose = self._placement.pose * step.place.pose()
            corners, colour = self._soles[step.side]
            world = corners @ pose.rotation.T + pose.translation
            steps.append(PlannedStep(world, colour))
        return tuple(steps)


def _at_zero(corners: np.ndarray) -> np.ndarray:
    return np.column_stack([corners, np.zeros(len(corners))])
