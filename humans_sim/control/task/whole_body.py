# SPDX-License-Identifier: Apache-2.0
r"""Whole-body control: joint torques that serve several tasks on given contacts.

At each call a quadratic program looks for the acceleration a and the contact forces f
with the least

.. math:: \sum_i w_i \lVert J_i a + d_i - \ddot s_i^* \rVert^2 + \rho \lVert f \rVert^2

such that the contacts do not move, the forces stay in their friction cones (an inner
pyramid), the base obeys the equations of motion, which no motor can change, and the
torques :math:`\tau = M a + N - C^T f` of some joints keep their bounds. A joint that is
driven by something else, a muscle, has both its bounds at the torque that it has.
Joints with limits keep their torques, and accelerations with which they stay in their
range. Where no answer does, the ranges are given up, and it is said which joints leave
them; torques are never above their limits.

The tasks follow a path: functions of a parameter, which is time, or a coordinate of the
body itself that something else drives. Then the second derivative of the parameter is
one more unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.control.task.joint_limits import JointLimits
from humans_sim.control.task.task_functions import Task
from humans_sim.core.constants import GRAVITY
from humans_sim.core.dual_active_set import INFEASIBLE, SOLVED, minimise
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.dynamics.model_system import ModelSystem

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
        """The acceleration that brings the task to its target, and its slope.

        Args:
            at: parameter of the path.
            pace: its rate [1/s].
            value: of the task.
            rate: of the task.

        Returns:
            The acceleration at constant pace (m,), and what one unit of the parameter's
            second derivative adds to it (m,).
        """
        target, slope, curvature = self.target(at)
        damping = self.damping
        if damping is None:
            damping = 2.0 * math.sqrt(self.stiffness)
        error = self.task.difference(value, target)
        steady = curvature * pace**2 + self.stiffness * error
        return steady + damping * (slope * pace - rate), slope


class WholeBodySolution(NamedTuple):
    """What whole-body control found.

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
    """

    def __init__(
        self,
        system: ModelSystem,
        friction: float = 0.5,
        limits: JointLimits | None = None,
    ) -> None:
        """Nothing is solved yet."""
        if not friction > 0:
            raise ParameterError(f"friction must be above zero, not {friction}")
        if limits is not None and limits.names != tuple(system.model.joint_names):
            raise ParameterError(f"the limits are not those of {system.name}'s joints")
        self.system, self._friction = system, friction
        self.limits = limits
        self._free = np.setdiff1d(np.arange(system.nv), system.locked)
        joints = system.model.joint_names
        self._joint = {name: j for j, name in enumerate(joints)}
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
            contacts: contacts that carry load, as indices (see :meth:`contacts`).
            given: least and largest torques of joints that are driven by something
                else [N m].
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
        still, moves = _motions(rows[:, free], -terms.drift.ravel())
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
        out = (joints < low - close) | (joints > high + close)
        out &= beyond
        return _names(limits.names, held), _names(limits.names, out)

    def _bounds(self, given: Mapping[str, Bounds]) -> list[tuple[int, float, float]]:
        """Velocity index, least and largest generalised force."""
        for name, (least, largest) in given.items():
            if name not in self._joint:
                raise ParameterError(f"{self.system.name} has no joint '{name}'")
            if not least <= largest:
                raise ParameterError(f"torque of {name}: {least} is above {largest}")
        bounds = [(i, 0.0, 0.0) for i in range(6) if i in self._free]
        for name, joint in self._joint.items():
            if 6 + joint not in self._free:
                continue
            if name in given:
                bounds.append((6 + joint, *given[name]))
            elif self.limits is not None and math.isfinite(self.limits.torque[joint]):
                most = float(self.limits.torque[joint])
                bounds.append((6 + joint, -most, most))
        return bounds

    def _conditions(
        self,
        moved: np.ndarray,
        load: np.ndarray,
        bounds: Sequence[tuple[int, float, float]],
        size: int,
        forces: int,
        weight: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds of generalised forces, then the friction pyramids."""
        which = [bound[0] for bound in bounds]
        count = forces // 3
        cones = np.zeros((5 * count, moved.shape[1]))
        side = self._friction / math.sqrt(2.0)
        for c in range(count):
            first = size + 3 * c
            cones[5 * c, first] = 1.0
            for k, (axis, sign) in enumerate(((1, 1), (1, -1), (2, 1), (2, -1))):
                cones[5 * c + 1 + k, first] = side
                cones[5 * c + 1 + k, first + axis] = sign
        matrix = np.vstack([moved[which] / weight, cones])
        low = [(bound[1] - load[bound[0]]) / weight for bound in bounds]
        high = [(bound[2] - load[bound[0]]) / weight for bound in bounds]
        return (
            matrix,
            np.array(low + [0.0] * (5 * count)),
            np.array(high + [math.inf] * (5 * count)),
        )


_Conditions = tuple[np.ndarray, np.ndarray, np.ndarray]


def _joined(first: _Conditions, second: _Conditions) -> _Conditions:
    """Conditions of both."""
    return (
        np.vstack([first[0], second[0]]),
        np.concatenate([first[1], second[1]]),
        np.concatenate([first[2], second[2]]),
    )


def _names(names: Sequence[str], chosen: np.ndarray) -> tuple[str, ...]:
    return tuple(names[int(j)] for j in np.flatnonzero(chosen))


def _motions(rows: np.ndarray, desired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All solutions of rows @ a = desired: one of them, and a basis of the others."""
    size = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(size), np.eye(size)
    u, s, vt = np.linalg.svd(rows)
    rank = int(np.count_nonzero(s > _RANK * s[0]))
    one = vt[:rank].T @ ((u[:, :rank].T @ desired) / s[:rank])
    return one, vt[rank:].T
