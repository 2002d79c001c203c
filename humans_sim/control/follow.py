"""A body that follows a motion by whole-body control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from humans_sim.control.motion import Motion
from humans_sim.control.task import CentreOfMass, FrameOrientation, JointTask
from humans_sim.control.whole_body import Aim, Answer, WholeBody


class Follow:
    """Control law: joint torques that carry a body along a motion.

    The centre of mass comes first, then the orientation of some frames, then the
    posture.

    Args:
        body: whole-body control of the model in its scene.
        motion: the motion.
        bearing: contacts that bear, by the time until which they do [s]; the last ones
            stay.
        frames: frames whose orientation matters.
        stiffness: Kp of all aims [1/s^2].
    """

    def __init__(
        self,
        body: WholeBody,
        motion: Motion,
        bearing: Sequence[tuple[float, Sequence[str]]],
        frames: Sequence[str] = ("base_link",),
        stiffness: float = 100.0,
    ) -> None:
        """Prepare the aims."""
        self._body = body
        self._bearing = [(until, body.contacts(names)) for until, names in bearing]
        model = motion.model
        tasks = [(CentreOfMass(model), 100.0)]
        tasks += [(FrameOrientation(model, frame), 10.0) for frame in frames]
        tasks += [(JointTask(model), 1.0)]
        self._aims = [
            Aim(task, motion.target(task), weight, stiffness) for task, weight in tasks
        ]

    def __call__(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Joint torques at time t (njoints,) [N m]."""
        return self.solve(t, q, v).torques

    def solve(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        given: Mapping[str, float] | None = None,
    ) -> Answer:
        """Torques with the acceleration and the forces they go with.

        Args:
            t: time [s].
            q: configuration.
            v: velocity.
            given: torques of joints that are driven by something else [N m].
        """
        contacts = next(
            (which for until, which in self._bearing if t < until),
            self._bearing[-1][1],
        )
        return self._body.solve(t, q, v, self._aims, contacts, given)
