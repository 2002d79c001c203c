# SPDX-License-Identifier: Apache-2.0
"""Postures along a path whose parameter is a joint angle of the body itself.

Where the knees are driven by muscles, they lead: the rest of the body goes where the
angle of the knees says, however fast or slow the muscles are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from humans_sim.control.task.task_functions import FramePose, Task
from humans_sim.control.task.whole_body import ControlError, Target
from humans_sim.control.trajectories.motion import Motion
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

_SPACING = 0.02
"""Least distance of the knots [rad]."""
_STEPS = 50
_STRAIGHTENING = 10


class Path:
    """Postures by the mean angle of some joints.

    Args:
        model: the model.
        postures: configurations along the path (n, nq).
        joints: the joints that lead; their mean angle must grow or fall along the path.

    Attributes:
        ends: parameter at the first and at the last posture [rad].
        angles: parameters of the knots, growing (k,) [rad].
        postures: configurations there (k, nq).
    """

    def __init__(
        self, model: Model, postures: np.ndarray, joints: Sequence[str]
    ) -> None:
        """Keep postures far enough from each other."""
        self.model = model
        self._places = 7 + np.array([model.joint_names.index(name) for name in joints])
        angles = postures[:, self._places].mean(axis=1)
        sense = np.sign(angles[-1] - angles[0])
        chosen = [0]
        for k in range(1, len(angles)):
            if sense * (angles[k] - angles[chosen[-1]]) > _SPACING:
                chosen.append(k)
        if sense == 0 or len(chosen) < 4 or (sense * np.diff(angles) < -1e-9).any():
            raise ParameterError(f"{', '.join(joints)} must turn one way along a path")
        chosen[-1] = len(angles) - 1
        order = chosen if sense > 0 else chosen[::-1]
        self.angles, self.postures = angles[order], postures[order]
        self.ends = (float(angles[0]), float(angles[-1]))

    def parameter(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Where a body is on the path, and how fast it goes [rad, rad/s]."""
        return float(q[self._places].mean()), float(v[self._places - 1].mean())

    def target(self, task: Task) -> Target:
        """What a task does along the path; beyond the ends it continues straight."""
        values = np.array([task.value(q) for q in self.postures])
        spline = CubicSpline(self.angles, values, bc_type="natural")
        slope, curvature = spline.derivative(1), spline.derivative(2)
        first, last = self.angles[0], self.angles[-1]

        def at(s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            inside = min(max(s, first), last)
            start = slope(inside)
            return spline(inside) + (s - inside) * start, start, curvature(inside)

        return at


@dataclass(frozen=True)
class Legs:
    """Joints of the legs in the plane of their motion, side by side.

    Attributes:
        foot: frame of a foot that stays.
        knees: their joints.
        ankles: pitch joints of the ankles.
        hips: pitch joints of the hips.
    """

    foot: str
    knees: tuple[str, ...]
    ankles: tuple[str, ...]
    hips: tuple[str, ...]

    @classmethod
    def of(cls, model: Model) -> Legs:
        """Legs whose joints are named as our models name them."""
        names = {}
        for part in ("knee", "ankle_pitch", "hip_pitch"):
            names[part] = tuple(f"{side}_{part}" for side in "lr")
            missing = sorted(set(names[part]) - set(model.joint_names))
            if missing:
                raise ParameterError(f"{model.name} has no joint '{missing[0]}'")
        return cls(model.soles[0].name, *names.values())


def rising_path(motion: Motion, rise: float, straight: float) -> Path:
    """The postures of a motion from a time on, and on to straighter knees.

    Args:
        motion: it ends with nearly straight knees.
        rise: time from which on the knees extend [s].
        straight: angle of the knees at the end [rad].
    """
    model, legs = motion.model, Legs.of(motion.model)
    last = motion.postures[-1]
    knee = model.joint_names.index(legs.knees[0])
    angles = np.linspace(last[7 + knee], straight, _STRAIGHTENING)
    more = [straightened(model, last, legs, float(a)) for a in angles[1:]]
    rising = motion.postures[motion.times >= rise - 1e-9]
    return Path(model, np.vstack([rising, more]), legs.knees)


def straightened(model: Model, q: np.ndarray, legs: Legs, angle: float) -> np.ndarray:
    """The posture with the knees at another angle, balanced as q is.

    The feet stay flat where they are and the base keeps its attitude; the ankles are
    such that the centre of mass stays above the same line across the feet.

    Args:
        model: the model.
        q: a posture with nearly straight knees.
        legs: the legs.
        angle: of the knees [rad].
    """
    place = {name: 7 + j for j, name in enumerate(model.joint_names)}
    pose, com_x = model.frame_pose(q, legs.foot), model.com(q)[0]

    def bent(ankle: float) -> np.ndarray:
        straight = q.copy()
        for knee, other, hip in zip(legs.knees, legs.ankles, legs.hips, strict=True):
            before = q[place[knee]] + q[place[other]] + q[place[hip]]
            straight[place[knee]], straight[place[other]] = angle, ankle
            straight[place[hip]] = before - angle - ankle
        straight[:3] += (
            pose.translation - model.frame_pose(straight, legs.foot).translation
        )
        return straight

    ankle = q[place[legs.ankles[0]]]
    low, high = ankle - 0.2, ankle + 0.1
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if model.com(bent(middle))[0] < com_x:
            low = middle
        else:
            high = middle
    straight = bent(0.5 * (low + high))
    task = FramePose(model, legs.foot)
    missing = task.error(straight, FramePose.target(pose))
    if np.abs(missing).max() > 1e-6 or abs(model.com(straight)[0] - com_x) > 1e-6:
        raise ControlError(f"{model.name} cannot straighten its knees from there")
    return straight
