# SPDX-License-Identifier: Apache-2.0
"""Motions to follow: curves of the base and of some joints, legs by the feet.

Each coordinate has a curve of its own: knots in time at which it rests, and between
them the polynomial of degree five with neither speed nor acceleration at its ends. The
curves are smooth (C2), never overshoot, and one coordinate may move while another
waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from humans_sim.control.task.posture import reach
from humans_sim.control.task.task_functions import FramePose, Stacked, Task
from humans_sim.control.task.whole_body import Target
from humans_sim.core.budget import POSTURES
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

BASE = ("base_x", "base_y", "base_z", "base_roll", "base_pitch", "base_yaw")
"""Coordinates of the base: position [m], then angles (roll, pitch, yaw) [rad]."""
_GRID = 0.01
"""Time between the postures that are computed [s]; splines lie between them."""


class Curve:
    """A coordinate that rests at knots and moves smoothly between them.

    Args:
        knots: (time [s], value), in the order of time.
    """

    def __init__(self, knots: Sequence[tuple[float, float]]) -> None:
        """Take the knots."""
        table = np.asarray(knots, dtype=float)
        if table.ndim != 2 or table.shape[1] != 2 or not np.isfinite(table).all():
            raise ParameterError(f"a curve wants pairs (time, value), not {knots}")
        if (np.diff(table[:, 0]) <= 0).any():
            raise ParameterError(f"the times of a curve must grow: {table[:, 0]}")
        self.times, self.values = table.T

    def at(self, t: float) -> float:
        """Value at a time; the first and the last knot hold outside."""
        k = int(np.searchsorted(self.times, t, side="right"))
        if k == 0 or k == len(self.times):
            return float(self.values[max(k - 1, 0)])
        start, end = self.times[k - 1], self.times[k]
        s = (t - start) / (end - start)
        share = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        return float(self.values[k - 1] + share * (self.values[k] - self.values[k - 1]))


class Motion:
    """A motion of a model on feet that stay.

    Args:
        model: the model.
        curves: by the names of :data:`BASE` and of joints; others stay at zero.
        feet: frames that stay where ``start`` has them; the legs find their way there.
        start: configuration that says where the feet are, and from which the postures
            are searched.
        end: time at the end [s].
    """

    def __init__(
        self,
        model: Model,
        curves: Mapping[str, Curve],
        feet: Sequence[str],
        start: np.ndarray,
        end: float,
    ) -> None:
        """Compute the postures."""
        unknown = sorted(set(curves) - set(BASE) - set(model.joint_names))
        if unknown:
            raise ParameterError(f"{model.name} has no coordinate '{unknown[0]}'")
        self.model, self._curves = model, dict(curves)
        count = POSTURES.check("a motion", max(2, round(end / _GRID) + 1))
        self.times = np.linspace(0.0, end, count)
        places = [FramePose.target(model.frame_pose(start, foot)) for foot in feet]
        task = Stacked([FramePose(model, foot) for foot in feet])
        legs = _chains(model, feet)
        given = [name for name in legs if name in curves]
        if given:
            raise ParameterError(f"{given[0]} is moved by its foot: no curve for it")
        guess, postures = np.array(start, dtype=float), []
        for t in self.times:
            q = self._pose(float(t), guess)
            guess = reach(task, q, np.concatenate(places), legs)
            postures.append(guess)
        self.postures = np.array(postures)

    def _pose(self, t: float, guess: np.ndarray) -> np.ndarray:
        """Base and joints as their curves say; legs as they were."""
        q = guess.copy()
        base = [self._curves[n].at(t) if n in self._curves else 0.0 for n in BASE]
        q[:3] = base[:3]
        q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(*base[3:])).coeffs()
        for j, name in enumerate(self.model.joint_names):
            if name in self._curves:
                q[7 + j] = self._curves[name].at(t)
        return q

    def target(self, task: Task) -> Target:
        """What a task does in this motion: time to value, rate and acceleration.

        Rates of orientations are exact where the frame turns about one axis.
        """
        values = np.array([task.value(q) for q in self.postures])
        spline = CubicSpline(self.times, values, bc_type="clamped")
        rate, acceleration = spline.derivative(1), spline.derivative(2)
        first, last, still = self.times[0], self.times[-1], np.zeros(task.size)

        def at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            if first <= t <= last:
                return spline(t), rate(t), acceleration(t)
            return values[0 if t < first else -1], still, still

        return at


def _chains(model: Model, frames: Sequence[str]) -> list[str]:
    """Names of the joints between the base and frames."""
    names: list[str] = []
    for frame in frames:
        joint = model.pin.frames[model.pin.getFrameId(frame)].parentJoint
        chain = []
        while joint > 1:
            chain.append(model.pin.names[joint])
            joint = model.pin.parents[joint]
        names += reversed(chain)
    return names
