# SPDX-License-Identifier: Apache-2.0
"""A body that follows a motion by whole-body control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    JointTask,
    Task,
)
from humans_sim.control.task.whole_body import (
    Bounds,
    Target,
    WeightedTask,
    WholeBody,
    WholeBodySolution,
)
from humans_sim.control.trajectories.motion import Motion
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models import Model


def body_tasks(
    model: Model,
    target: Callable[[Task], Target],
    frames: Sequence[str] = ("base_link",),
    stiffness: float = 100.0,
) -> list[WeightedTask]:
    """Tasks of a whole body: its centre of mass, then some frames, then its posture.

    Args:
        model: the model.
        target: what a task shall do.
        frames: frames whose orientation matters.
        stiffness: Kp of all tasks [1/s^2].
    """
    tasks: list[tuple[Task, float]] = [(CentreOfMass(model), 100.0)]
    tasks += [(FrameOrientation(model, frame), 10.0) for frame in frames]
    tasks += [(JointTask(model), 1.0)]
    return [
        WeightedTask(task, target(task), weight, stiffness) for task, weight in tasks
    ]


class Follow(Controller):
    """Joint torques that carry a body along a motion.

    Args:
        body: whole-body control of the model in its scene.
        motion: the motion.
        support: loaded contacts, each list with the time until which it holds [s]; the
            last ones stay.
        frames: frames whose orientation matters.
        stiffness: Kp of all tasks [1/s^2].
        period: time between two calls [s].

    Attributes:
        period: time between two calls [s].
    """

    def __init__(
        self,
        body: WholeBody,
        motion: Motion,
        support: Sequence[tuple[float, Sequence[str]]],
        frames: Sequence[str] = ("base_link",),
        stiffness: float = 100.0,
        period: float = 0.005,
    ) -> None:
        """Prepare the tasks."""
        times = [until for until, _ in support]
        if not times or any(after <= before for before, after in pairwise(times)):
            raise ParameterError(
                f"loaded contacts are wanted, until times that grow, not {times}"
            )
        self._body, self.period = body, period
        self._support = [(until, body.contacts(names)) for until, names in support]
        self._tasks = body_tasks(motion.model, motion.target, frames, stiffness)

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques at time t (njoints,) [N m]."""
        return self.solve(t, state.q, state.v).torques

    def solve(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        given: Mapping[str, Bounds] | None = None,
    ) -> WholeBodySolution:
        """Torques with the acceleration and the forces they go with.

        Args:
            t: time [s].
            q: configuration.
            v: velocity.
            given: least and largest torques of joints that are driven by something
                else [N m].
        """
        contacts = next(
            (which for until, which in self._support if t < until),
            self._support[-1][1],
        )
        return self._body.solve(t, q, v, self._tasks, contacts, given)
