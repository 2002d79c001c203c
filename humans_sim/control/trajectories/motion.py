# SPDX-License-Identifier: Apache-2.0
r"""Motions to follow: curves of the base and of some joints, legs by the feet.

Each coordinate has a curve of its own: knots in time at which it rests, and between
them the polynomial of degree five with neither speed nor acceleration at its ends. The
curves are smooth (C2), never overshoot, and one coordinate may move while another
waits.

*Inverse kinematics* by damped Newton steps gives the postures; whole-body control
follows the motion.

*Path parameter*: a joint angle of the body itself. Where the knees are driven by
muscles, they lead: the rest of the body goes where the angle of the knees says, however
fast or slow the muscles are.

*Torque law* along the curves. With the joints' block :math:`M_{jj}(q)` of the mass
matrix,

.. math::
    \tau = M_{jj}(q)\bigl(\omega^2 (q^* - q) + 2 \omega (\dot q^* - \dot q)\bigr)

so that every joint follows alike, whatever it carries, with the same natural frequency
and critical damping. It knows neither gravity nor contacts: it is a law for motion in
free flight and for pushing off. As a smooth function of time and state it may be
evaluated inside the right-hand side
(:class:`~humans_sim.actuation.ideal_torque.TorqueLaw`), or be a controller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    JointTask,
    Stacked,
    Task,
    joint_places,
)
from humans_sim.control.task.whole_body import (
    Bounds,
    ControlError,
    Target,
    WeightedTask,
    WholeBody,
    WholeBodySolution,
)
from humans_sim.core.budget import POSTURES
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models import Model
from humans_sim.models.points import frame_index

_CLOSE = 1e-11
_POSTURE_STEPS = 100
_DAMPING = 1e-10
_LONGEST = 0.3
"""Longest step of a joint [rad]."""


def reach(
    task: Task, q: np.ndarray, target: np.ndarray, joints: Sequence[str]
) -> np.ndarray:
    """The posture in which a task has its target, by moving some joints alone.

    The search begins at q, then with the joints in the middle of their ranges; it never
    leaves those ranges: knees do not bend backwards.

    The base and the other joints stay. ControlError: the target is out of reach.
    """
    model = task.model
    places = joint_places(model, joints)
    low, high = model.lower_limits[places], model.upper_limits[places]
    bent = np.array(q, dtype=float)
    bent[7 + places] = np.where(np.isfinite(low + high), 0.5 * (low + high), 0.0)
    least = np.inf
    for start in (np.array(q, dtype=float), bent):
        # Newton steps within the limits; the posture reached, and what is missing.
        for _ in range(_POSTURE_STEPS):
            error = task.error(start, target)
            if np.abs(error).max() < _CLOSE:
                break
            rows = task.jacobian(start)[:, 6 + places]
            square = rows.T @ rows
            square[np.diag_indices_from(square)] += _DAMPING
            step = np.linalg.solve(square, rows.T @ error)
            step *= min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))
            start[7 + places] = np.clip(start[7 + places] + step, low, high)
        posture, missing = start, float(np.abs(error).max())
        if missing < _CLOSE:
            return posture
        least = min(least, missing)
    raise ControlError(
        f"{model.name} does not reach {', '.join(task.names[:3])}...: "
        f"{least:.3g} are missing"
    )


BASE = ("base_x", "base_y", "base_z", "base_roll", "base_pitch", "base_yaw")
"""Coordinates of the base: position [m], then angles (roll, pitch, yaw) [rad]."""
_GRID = 0.01
"""Time between the postures that are computed [s]; splines lie between them."""


class Curve:
    """A coordinate that rests at knots (time [s], value) and moves between them."""

    def __init__(self, knots: Sequence[tuple[float, float]]) -> None:
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
    """A motion of a model on feet that stay, until an end [s].

    Curves have the names of :data:`BASE` and of joints; others stay at zero. Feet are
    frames that stay where ``start`` has them, from which the postures are searched; the
    legs find their way there.
    """

    def __init__(
        self,
        model: Model,
        curves: Mapping[str, Curve],
        feet: Sequence[str],
        start: np.ndarray,
        end: float,
    ) -> None:
        unknown = sorted(set(curves) - set(BASE) - set(model.joint_names))
        if unknown:
            raise ParameterError(f"{model.name} has no coordinate '{unknown[0]}'")
        self.model, self._curves = model, dict(curves)
        count = POSTURES.check("a motion", max(2, round(end / _GRID) + 1))
        self.times = np.linspace(0.0, end, count)
        places = [FramePose.target(model.frame_pose(start, foot)) for foot in feet]
        task = Stacked([FramePose(model, foot) for foot in feet])
        # Names of the joints between the base and frames.
        legs: list[str] = []
        for frame in feet:
            joint = model.pin.frames[frame_index(model.pin, frame)].parentJoint
            chain = []
            while joint > 1:
                chain.append(model.pin.names[joint])
                joint = model.pin.parents[joint]
            legs += reversed(chain)
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
        """The target of a task: time to value, rate and acceleration.

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


_SPACING = 0.02
"""Least distance of the knots [rad]."""
_STEPS = 50
_STRAIGHTENING = 10


class Path:
    """Postures by the mean angle of some joints.

    The mean angle of the joints that lead must grow or fall along the path (n, nq).

    Attributes:
        ends: parameter at the first and at the last posture [rad].
        angles: parameters of the knots, growing (k,) [rad].
        postures: configurations there (k, nq).
    """

    def __init__(
        self, model: Model, postures: np.ndarray, joints: Sequence[str]
    ) -> None:
        self.model = model
        self._places = 7 + joint_places(model, joints)
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
        """The target of a task along the path, straight beyond its ends."""
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

    Knees, and pitch joints of ankles and hips; the foot is a frame that stays.
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

    The knees, nearly straight at the end, extend from ``rise`` on [s] to ``straight``
    [rad].
    """
    model, legs = motion.model, Legs.of(motion.model)
    last = motion.postures[-1]
    knee = model.joint_names.index(legs.knees[0])
    angles = np.linspace(last[7 + knee], straight, _STRAIGHTENING)
    more = [straightened(model, last, legs, float(a)) for a in angles[1:]]
    rising = motion.postures[motion.times >= rise - 1e-9]
    return Path(model, np.vstack([rising, more]), legs.knees)


def straightened(model: Model, q: np.ndarray, legs: Legs, angle: float) -> np.ndarray:
    """The posture with nearly straight knees at another angle [rad], balanced as q is.

    The feet stay flat where they are and the base keeps its attitude; the ankles are
    such that the centre of mass stays above the same line across the feet.
    """
    place = {name: 7 + j for j, name in enumerate(model.joint_names)}
    pose, com_x = model.frame_pose(q, legs.foot), model.com(q)[0]

    def bent(ankle: float) -> np.ndarray:
        straight = q.copy()
        for knee, other, hip in zip(legs.knees, legs.ankles, legs.hips, strict=True):
            before = q[place[knee]] + q[place[other]] + q[place[hip]]
            straight[place[knee]], straight[place[other]] = angle, ankle
            straight[place[hip]] = before - angle - ankle
        stands = model.frame_pose(straight, legs.foot).translation
        straight[:3] += pose.translation - stands
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


def body_tasks(
    model: Model,
    target: Callable[[Task], Target],
    frames: Sequence[str] = ("base_link",),
    stiffness: float = 100.0,
) -> list[WeightedTask]:
    """Tasks of a whole body: its centre of mass, then some frames, then its posture.

    Of the frames the orientation matters; Kp of all tasks is ``stiffness`` [1/s^2].
    """
    tasks: list[tuple[Task, float]] = [(CentreOfMass(model), 100.0)]
    tasks += [(FrameOrientation(model, frame), 10.0) for frame in frames]
    tasks += [(JointTask(model), 1.0)]
    return [
        WeightedTask(task, target(task), weight, stiffness) for task, weight in tasks
    ]


class Follow(Controller):
    """Joint torques that carry a body along a motion.

    Loaded contacts are lists with the time until which each holds [s]; the last ones
    stay. Of the frames the orientation matters; Kp of all tasks is ``stiffness``
    [1/s^2]. It is called once a period [s].
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
        times = [until for until, _ in support]
        if not times or any(after <= before for before, after in pairwise(times)):
            raise ParameterError(
                f"loaded contacts must be given until times that grow, not {times}"
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

        Arguments are those of :meth:`WholeBody.solve`.
        """
        last = self._support[-1][1]
        contacts = next((which for until, which in self._support if t < until), last)
        return self._body.solve(t, q, v, self._tasks, contacts, given)


_STEP = 1e-4
"""Time between the two values of a curve whose difference is its rate [s]."""


class PostureLaw:
    """Torques that lead the joints along curves; joints without one stay at zero.

    Args:
        model: the model.
        curves: of joint angles, by the joint's name [rad].
        frequency: omega [rad/s].
    """

    def __init__(
        self, model: Model, curves: Mapping[str, Curve], frequency: float = 12.0
    ) -> None:
        if not (math.isfinite(frequency) and frequency > 0):
            raise ParameterError(f"frequency must be above zero, not {frequency}")
        self._model, self._frequency = model, frequency
        places = joint_places(model, tuple(curves))
        self._curves = list(zip(places, curves.values(), strict=True))

    def posture(self, t: float) -> np.ndarray:
        """Joint angles that are aimed at (njoints,) [rad]."""
        joints = np.zeros(len(self._model.joint_names))
        for place, curve in self._curves:
            joints[place] = curve.at(t)
        return joints

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques (njoints,) [N m]."""
        before, after = self.posture(t - _STEP), self.posture(t + _STEP)
        speeds = (after - before) / (2 * _STEP)
        omega = self._frequency
        missing = omega**2 * (self.posture(t) - state.q[7:])
        missing += 2 * omega * (speeds - state.v[6:])
        torques: np.ndarray = self._model.inertia(state.q)[6:, 6:] @ missing
        return torques
