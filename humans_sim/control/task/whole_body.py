# SPDX-License-Identifier: Apache-2.0
r"""Whole-body control: joint torques that serve several tasks on given contacts.

At each call a quadratic program looks for the acceleration a and the contact forces f
with the least

.. math:: \sum_i w_i \lVert J_i a + d_i - \ddot s_i^* \rVert^2 + \rho \lVert f \rVert^2

such that the contacts do not move (or settle), the forces stay in their friction cones
(an inner pyramid), the base obeys the equations of motion, which no motor can change,
and the torques :math:`\tau = M a + N - C^T f` of some joints keep their bounds. A joint
that is driven by something else, a muscle, has both its bounds at the torque that it
has.
Joints with limits keep their torques, and accelerations with which they stay in their
range. Where no answer does, the ranges are given up, and it is said which joints leave
them; torques are never above their limits.

The tasks follow a path: functions of a parameter, which is time, or a coordinate of the
body itself that something else drives. Then the second derivative of the parameter is
one more unknown.

*Joint limits.* A joint at the distance h from an end of its range may approach it so
that :math:`\ddot h + 2 \lambda \dot h + \lambda^2 h \ge 0`: one that keeps this from a
state with :math:`\dot h \ge -\lambda h` never reaches the end faster than an
exponential of the time :math:`1 / \lambda`, so never goes through it. Speeds likewise:
:math:`\dot h + \mu h \ge 0` with h the speed that is left, and a :math:`\mu` of one
over a period of control: light joints may use most of their speed at once.

*Fallback.* Where the quadratic program has no answer, the torques of the last one fade
out over :data:`FADE`, and every joint is braked by :math:`-m \dot q / (5 T)`: m is the
least inertia that the joint has, with everything else free to move, and T the time
between two calls, so that a torque that is held over T takes a fifth of the speed at
most. What comes out keeps the torque limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.control.task.task_functions import Task
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.quadratic_program import INFEASIBLE, SOLVED, minimise
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.models import Model
from humans_sim.results.check import FAILURES
from humans_sim.results.records import Signal

APPROACH = 20.0
"""Rate at which a joint approaches the end of its range [1/s]; assumed."""


_QUICK = 100.0
"""Rate at which a joint approaches its largest speed [1/s]; a period of 10 ms."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints of a model (njoints,); infinite where nothing is known.

    Angles from lower to upper [rad], speeds [rad/s], torques [N m], and the rate at
    which a joint approaches an end [1/s].
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    torque: np.ndarray
    approach: float = APPROACH

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        count = len(self.names)
        for label in ("lower", "upper", "speed", "torque"):
            if np.shape(getattr(self, label)) != (count,):
                raise ParameterError(f"{label} has one number for each of {count}")
        if not (self.lower <= self.upper).all():
            raise ParameterError("a lower limit is above its upper one")
        if not ((self.speed > 0).all() and (self.torque > 0).all()):
            raise ParameterError("speeds and torques must be above zero")
        if not self.approach > 0:
            raise ParameterError(f"approach must be above zero, not {self.approach}")

    @classmethod
    def of_model(
        cls, model: Model, torque: Mapping[str, float] | None = None
    ) -> JointLimits:
        """Those of the model's file, but for some torques [N m]; zero there is none."""
        efforts = _known(model.effort_limits)
        for name, value in (torque or {}).items():
            if name not in model.joint_names:
                raise ParameterError(f"{model.name} has no joint '{name}'")
            efforts[model.joint_names.index(name)] = value
        return cls(
            tuple(model.joint_names),
            np.array(model.lower_limits),
            np.array(model.upper_limits),
            _known(model.velocity_limits),
            efforts,
        )

    def accelerations(
        self, angles: np.ndarray, speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest accelerations at a state (njoints,) [rad/s^2].

        Where the bounds of a state far beyond its limits cross, both are their middle.
        """
        rate = self.approach
        with np.errstate(invalid="ignore"):
            high = rate**2 * (self.upper - angles) - 2.0 * rate * speeds
            low = rate**2 * (self.lower - angles) - 2.0 * rate * speeds
        high = np.minimum(high, _QUICK * (self.speed - speeds))
        low = np.maximum(low, _QUICK * (-self.speed - speeds))
        crossed = low > high
        middle = 0.5 * (low[crossed] + high[crossed])
        low[crossed] = high[crossed] = middle
        return low, high


def _known(limits: np.ndarray) -> np.ndarray:
    """Limits, infinite where the file has none."""
    values = np.array(limits, dtype=float)
    values[~(values > 0)] = np.inf
    return values


Target = Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""What a task shall do: a path's parameter to value, first and second derivative."""
Bounds = tuple[float, float]

_RANK = 1e-8
_CLOSE = 1e-6
"""Share of a limit within which it is reached."""
_LEAST_MOTION = 1e-4
_LEAST_FORCE = 0.1
_LEAST_PACE = 1e-6


class ControlError(HumansError):
    """A control law found no answer."""


@dataclass(frozen=True)
class WeightedTask:
    """A task with what it shall do, and how much that matters.

    Attributes:
        task: the task.
        target: parameter of the path to value and derivatives.
        weight: of its error; one number, or one for each component.
        stiffness: Kp, of the error [1/s^2].
        damping: Kv, of the rate's error [1/s]; critical unless given.
    """

    task: Task
    target: Target
    weight: float | np.ndarray = 1.0
    stiffness: float = 100.0
    damping: float | None = None

    def desired_acceleration(
        self, at: float, pace: float, value: np.ndarray, rate: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The acceleration that brings the task to its target, and its slope (m,).

        At a parameter of the path, its rate (pace) constant; the slope is what one unit
        of the parameter's second derivative adds. Value and rate are the task's.
        """
        target, slope, curvature = self.target(at)
        damping = self.damping
        if damping is None:
            damping = 2.0 * math.sqrt(self.stiffness)
        error = self.task.difference(value, target)
        steady = curvature * pace**2 + self.stiffness * error
        return steady + damping * (slope * pace - rate), slope


class WholeBodySolution(NamedTuple):
    """The solution of whole-body control.

    Attributes:
        torques: of the joints (njoints,) [N m].
        acceleration: (nv,).
        forces: of the contacts: normal and tangents (k, 3) [N].
        pace_rate: second derivative of the path's parameter; zero unless it is free.
        at_limit: joints that a limit of torque or motion holds.
        beyond: joints that do not keep their ranges or speeds: no answer does.
    """

    torques: np.ndarray
    acceleration: np.ndarray
    forces: np.ndarray
    pace_rate: float
    at_limit: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


class WholeBody:
    """Finds the torques of a model in its scene.

    Args:
        system: the model in its scene, as the simulation has it or as the controller
            believes it to be.
        friction: coefficient that the forces may use; some of the real one is left as a
            reserve.
        limits: of the joints, or None: none are kept.
        settling: rate at which contacts that are close to the ground come to it,
            critically damped [1/s]; 0: they go on as they move.
    """

    def __init__(
        self,
        system: ModelSystem,
        friction: float = 0.5,
        limits: JointLimits | None = None,
        settling: float = 0.0,
    ) -> None:
        if not friction > 0:
            raise ParameterError(f"friction must be above zero, not {friction}")
        if limits is not None and limits.names != tuple(system.model.joint_names):
            raise ParameterError(f"the limits are not those of {system.name}'s joints")
        if not settling >= 0:
            raise ParameterError(f"settling must not be below zero, not {settling}")
        self.system, self.limits, self._settling = system, limits, settling
        side = friction / math.sqrt(2.0)
        self._pyramid = np.array(
            [[1, 0, 0], [side, 1, 0], [side, -1, 0], [side, 0, 1], [side, 0, -1]]
        )
        self._free = np.setdiff1d(np.arange(system.nv), system.locked)
        self._joint = {name: j for j, name in enumerate(system.model.joint_names)}
        self._contact = {name: i for i, name in enumerate(system.contacts.names)}

    def contacts(self, names: Sequence[str]) -> np.ndarray:
        """Indices of contacts by their names, as in ``run.table.names``."""
        for name in names:
            if name not in self._contact:
                raise ParameterError(
                    f"{self.system.name} has no contact '{name}' in this scene"
                )
        return np.array([self._contact[name] for name in names], dtype=np.int64)

    def solve(
        self,
        at: float,
        q: np.ndarray,
        v: np.ndarray,
        tasks: Sequence[WeightedTask],
        contacts: np.ndarray,
        given: Mapping[str, Bounds] | None = None,
        *,
        pace: float = 1.0,
        pace_target: tuple[float, float] | None = None,
    ) -> WholeBodySolution:
        """Torques for a state.

        Args:
            at: parameter of the path, time unless the tasks say otherwise.
            q: configuration.
            v: velocity.
            tasks: what the body shall do.
            contacts: that carry load, as indices (see :meth:`contacts`).
            given: least and largest torques of joints that something else drives [N m].
            pace: rate of the path's parameter.
            pace_target: where its second derivative is sought, too: what it should be,
                and how much that matters.

        Raises:
            ControlError: no acceleration and forces obey all conditions.
        """
        system, free = self.system, self._free
        terms = system.terms(q, v, contacts)
        mass = np.array(terms.mass)
        rows = terms.jacobian.reshape(-1, system.nv)
        held = -terms.drift
        held[:, 0] -= 2.0 * self._settling * (terms.jacobian[:, 0] @ v)
        held[:, 0] -= self._settling**2 * terms.gap
        still, moves = _motions(rows[:, free], held.ravel())
        size, forces = moves.shape[1], len(rows)
        # Unknowns: motions that the contacts allow, forces, second derivative of the
        # path's parameter.
        free_pace = pace_target is not None
        total = size + forces + free_pace
        hessian, gradient = np.zeros((total, total)), np.zeros(total)
        for item in tasks:
            value, jacobian, drift = item.task.terms(q, v)
            desired, slope = item.desired_acceleration(at, pace, value, jacobian @ v)
            jacobian = jacobian[:, free]
            effect = np.zeros((len(value), total))
            effect[:, :size] = jacobian @ moves
            if free_pace:
                effect[:, -1] = -slope
            weighted = (np.asarray(item.weight) * effect.T).T
            hessian += effect.T @ weighted
            gradient += weighted.T @ (jacobian @ still + drift - desired)
        if pace_target is not None:
            hessian[-1, -1] += pace_target[1]
            gradient[-1] -= pace_target[1] * pace_target[0]
        weight = system.weight or system.model.mass * GRAVITY
        least = [_LEAST_MOTION] * size + [_LEAST_FORCE] * forces
        hessian[np.diag_indices(total)] += least + [_LEAST_PACE] * free_pace
        # Generalised forces = load + moved @ unknowns; forces in parts of the weight.
        moved = np.zeros((system.nv, total))
        moved[:, :size] = mass[:, free] @ moves
        moved[:, size : size + forces] = -weight * rows.T
        load = mass[:, free] @ still + terms.bias
        bounds = self._bounds(given or {})
        conditions = self._conditions(moved, load, bounds, size, forces, weight)
        ranges = self._ranges(q, v, still, moves, total)
        answer, beyond = INFEASIBLE, False
        if ranges is not None:
            solution, answer = minimise(hessian, gradient, *_joined(conditions, ranges))
        if answer != SOLVED:
            beyond = ranges is not None
            solution, answer = minimise(hessian, gradient, *conditions)
        if answer != SOLVED:
            why = "they contradict each other" if answer == INFEASIBLE else "no end"
            raise ControlError(f"no torques serve these tasks on these contacts: {why}")
        acceleration = np.zeros(system.nv)
        acceleration[free] = still + moves @ solution[:size]
        torques = (load + moved @ solution)[6:]
        return WholeBodySolution(
            torques,
            acceleration,
            weight * solution[size : size + forces].reshape(-1, 3),
            float(solution[-1]) if free_pace else 0.0,
            *self._held(q, v, torques, acceleration, beyond),
        )

    def _ranges(
        self,
        q: np.ndarray,
        v: np.ndarray,
        still: np.ndarray,
        moves: np.ndarray,
        total: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Conditions of joints that stay in their ranges; None without limits."""
        if self.limits is None:
            return None
        low, high = self.limits.accelerations(q[7:], v[6:])
        places = np.flatnonzero(self._free >= 6)
        joints = self._free[places] - 6
        some = np.isfinite(low[joints]) | np.isfinite(high[joints])
        places, joints = places[some], joints[some]
        rows = np.zeros((len(places), total))
        rows[:, : moves.shape[1]] = moves[places]
        return rows, low[joints] - still[places], high[joints] - still[places]

    def _held(
        self,
        q: np.ndarray,
        v: np.ndarray,
        torques: np.ndarray,
        acceleration: np.ndarray,
        beyond: bool,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the joints at a limit, and of those that leave their ranges."""
        limits = self.limits
        if limits is None:
            return (), ()
        low, high = limits.accelerations(q[7:], v[6:])
        joints = acceleration[6:]
        close = _CLOSE * (1.0 + np.abs(joints))
        strained = np.abs(torques) >= (1.0 - _CLOSE) * limits.torque
        held = strained | (joints <= low + close) | (joints >= high - close)
        out = beyond & ((joints < low - close) | (joints > high + close))
        names = np.array(limits.names, dtype=object)
        return tuple(names[held]), tuple(names[out])

    def _bounds(
        self, given: Mapping[str, Bounds]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocities with bounds, least and largest generalised forces there."""
        high = np.full(self.system.nv, np.inf)
        high[:6] = 0.0
        if self.limits is not None:
            high[6:] = self.limits.torque
        low = -high
        for name, (least, largest) in given.items():
            if name not in self._joint:
                raise ParameterError(f"{self.system.name} has no joint '{name}'")
            if not least <= largest:
                raise ParameterError(f"torque of {name}: {least} is above {largest}")
            low[6 + self._joint[name]], high[6 + self._joint[name]] = least, largest
        some = np.isfinite(low[self._free]) | np.isfinite(high[self._free])
        which = self._free[some]
        return which, low[which], high[which]

    def _conditions(
        self,
        moved: np.ndarray,
        load: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray, np.ndarray],
        size: int,
        forces: int,
        weight: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds of generalised forces, then the friction pyramids."""
        (which, low, high), count = bounds, 5 * forces // 3
        cones = np.zeros((count, moved.shape[1]))
        for c in range(forces // 3):
            first = size + 3 * c
            cones[5 * c : 5 * c + 5, first : first + 3] = self._pyramid
        return (
            np.vstack([moved[which] / weight, cones]),
            np.concatenate([(low - load[which]) / weight, np.zeros(count)]),
            np.concatenate([(high - load[which]) / weight, np.full(count, np.inf)]),
        )


_Conditions = tuple[np.ndarray, np.ndarray, np.ndarray]


def _joined(first: _Conditions, second: _Conditions) -> _Conditions:
    """Conditions of both."""
    matrix, low, high = (np.concatenate(p) for p in zip(first, second, strict=True))
    return matrix, low, high


def _motions(rows: np.ndarray, desired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All solutions of rows @ a = desired: one of them, and a basis of the others."""
    size = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(size), np.eye(size)
    u, s, vt = np.linalg.svd(rows)
    rank = int(np.count_nonzero(s > _RANK * s[0]))
    one = vt[:rank].T @ ((u[:, :rank].T @ desired) / s[:rank])
    return one, vt[rank:].T


FADE = 0.1
"""Time over which the last answer fades out [s]."""
_BRAKED = 5.0
"""Calls over which a joint alone would be brought to rest."""
SIGNALS = (
    Signal(FAILURES, "1"),
    Signal("whole_body/at_limit", "1"),
    Signal("whole_body/beyond_limits", "1"),
)
"""Calls without an answer so far; joints at a limit, and calls that left ranges."""


class GuardedWholeBody:
    """Torques of whole-body control once a period [s], or the last ones, damped.

    Attributes:
        calls: number of calls; ``failures`` had no answer, ``beyond`` left ranges.
        first_failure: when the first one was, None where all were answered [s].
        reason: of the last failure; empty where there was none.
        at_limit: joints at a limit at the last call.
    """

    def __init__(self, body: WholeBody, period: float) -> None:
        if not period > 0:
            raise ParameterError(f"period must be above 0 s, not {period}")
        self.body, self._period = body, period
        self.reset()

    def reset(self) -> None:
        """Forget what was solved."""
        self.calls = self.failures = self.beyond = 0
        self.first_failure: float | None = None
        self.reason = ""
        self.at_limit: tuple[str, ...] = ()
        self._last: tuple[float, np.ndarray] | None = None

    def solve(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tasks: Sequence[WeightedTask],
        contacts: np.ndarray,
    ) -> np.ndarray:
        """Joint torques (njoints,) [N m]; arguments as of :meth:`WholeBody.solve`."""
        self.calls += 1
        try:
            solution = self.body.solve(t, q, v, tasks, contacts)
        except (ControlError, np.linalg.LinAlgError) as error:
            self.failures += 1
            self.reason = str(error)
            if self.first_failure is None:
                self.first_failure = t
            return self._damped(t, q, v)
        self.at_limit = solution.at_limit
        self.beyond += bool(solution.beyond)
        self._last = (t, solution.torques)
        return solution.torques

    def signal_values(self) -> np.ndarray:
        """Numbers of :data:`SIGNALS`."""
        return np.array([self.failures, len(self.at_limit), self.beyond], dtype=float)

    def _damped(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The last answer as far as it has not faded, and brakes."""
        inertia = self.body.system.model.inertia(q)
        least = 1.0 / np.diag(np.linalg.inv(inertia))[6:]
        torques = -least * v[6:] / (_BRAKED * self._period)
        if self._last is not None:
            since, last = self._last
            torques += math.exp(-(t - since) / FADE) * last
        if self.body.limits is not None:
            most = self.body.limits.torque
            torques = np.clip(torques, -most, most)
        return torques
