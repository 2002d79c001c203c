# SPDX-License-Identifier: Apache-2.0
r"""The task function's control law (manual chapter 8).

The second derivative of the task is assigned,

.. math:: v = \ddot s^* + K_p (s^* - s) + K_v (\dot s^* - H \dot q) - h, \qquad
   \ddot q = H^{-1} v,

so that the error of the task obeys :math:`\ddot e + K_v \dot e + K_p e = 0`. Torques
follow from the accelerations by inverse dynamics. Near a singular H the accelerations
are those of damped least squares, which stay bounded and miss a part of v.

*Force distribution* over the contacts. The equations of motion of the base, which no
motor drives, fix six sums of the contact forces. Inside friction pyramids the forces x
>= 0 along their edges are found that come closest to these sums, and among them the
smallest, each contact's counted with its price:

.. math:: \min_{x \ge 0} \; \lVert G x - w \rVert^2 + \sum_i p_i x_i^2 .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import nnls

from humans_sim.core.errors import ParameterError


class TaskFunction(Protocol):
    """A task as the law needs it: value, Jacobian H and second-order terms h."""

    size: int

    def value(self, q: np.ndarray, /) -> np.ndarray:
        """Value s(q)."""

    def jacobian(self, q: np.ndarray, /) -> np.ndarray:
        """H(q)."""

    def drift(self, q: np.ndarray, v: np.ndarray, /) -> np.ndarray:
        """h(q, v)."""


class Solution(NamedTuple):
    """Accelerations of the law (n,), damped where H is near singular.

    The condition of H is its largest singular value over its smallest.
    """

    acceleration: np.ndarray
    damped: bool
    condition: float


@dataclass(frozen=True)
class TaskLaw:
    """Gains of the law and the bounds of its inversion.

    Attributes:
        task: the task function.
        kp: K_p, a number or one a row [1/s^2].
        kv: K_v, a number or one a row [1/s]; 2 sqrt(kp) damps critically.
        smallest: singular value of H below which damping begins (assumed).
        damping: largest damping, reached where H is singular (assumed).
    """

    task: TaskFunction
    kp: float | np.ndarray
    kv: float | np.ndarray
    smallest: float = 1e-3
    damping: float = 1e-3

    def __post_init__(self) -> None:
        """Refuse gains that do not lead to the target."""
        for name, gain in (("kp", self.kp), ("kv", self.kv)):
            shape = np.shape(gain)
            if shape not in ((), (self.task.size,)) or not np.all(np.asarray(gain) > 0):
                raise ParameterError(
                    f"{name} is positive, one number or {self.task.size} of them"
                )
        if not (self.smallest > 0 and self.damping > 0):
            raise ParameterError("smallest and damping are positive")

    def solve(
        self,
        q: np.ndarray,
        v: np.ndarray,
        target: np.ndarray,
        rate: np.ndarray | None = None,
        acceleration: np.ndarray | None = None,
    ) -> Solution:
        """Accelerations at a state.

        Args:
            q: coordinates of the task function.
            v: their rates.
            target: s* (m,).
            rate: its derivative; zero if not given.
            acceleration: its second derivative; zero if not given.
        """
        task, zero = self.task, np.zeros(self.task.size)
        jacobian = task.jacobian(q)
        rate = zero if rate is None else rate
        desired = zero if acceleration is None else acceleration
        # A task with rotations knows its own error; others are differences.
        difference = getattr(task, "difference", lambda value, target: target - value)
        error = difference(task.value(q), np.asarray(target, dtype=float))
        push = desired + self.kp * error + self.kv * (rate - jacobian @ v)
        return self.accelerations(jacobian, push - task.drift(q, v))

    def accelerations(self, jacobian: np.ndarray, desired: np.ndarray) -> Solution:
        r"""Solve H a = w.

        Damping grows from zero at the bound: :math:`\lambda^2 = \lambda_{max}^2
        (1 - (\sigma_{min} / \sigma_0)^2)` (Nakamura and Hanafusa 1986), so the
        accelerations are continuous.
        """
        left, values, right = np.linalg.svd(jacobian, full_matrices=False)
        low, high = values[-1], values[0]
        damped = bool(low < self.smallest)
        square = 0.0
        if damped:
            square = self.damping**2 * (1.0 - (low / self.smallest) ** 2)
        inverse = values / (values**2 + square)
        solution = right.T @ (inverse * (left.T @ desired))
        condition = float(high / low) if low > 0 else np.inf
        return Solution(solution, damped, condition)


_EDGES = ((1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0))
_SMALL = 1e-4
"""Price of a force against an error of the sums; less for large sums."""


class ForceShare(NamedTuple):
    """Forces along the rows of each contact (k, 3), and what they miss of the sums [N].

    The rows are the normal, then the tangents.
    """

    forces: np.ndarray
    missing: float


def share_forces(
    rows: np.ndarray,
    base_force: np.ndarray,
    friction: float | np.ndarray,
    prices: np.ndarray,
) -> ForceShare:
    """Share generalised forces of the base (6,) among contacts.

    Args:
        rows: Jacobians of the contacts with respect to the base (k, 3, 6); the first
            row of each is its normal.
        base_force: that the contacts shall give.
        friction: coefficient that may be used, one for all or one a contact (k,).
        prices: of each contact (k,), 1 for a usual one, more for one that is to carry
            less; infinity for one that carries nothing.
    """
    count = len(rows)
    if prices.shape != (count,) or not (prices > 0).all():
        raise ParameterError(f"must be {count} prices above zero, not {prices}")
    edges = np.zeros((count, 4, 3))
    edges[:, :, 0] = 1.0
    for k, (axis, sign) in enumerate(_EDGES):
        edges[:, k, axis] = sign * np.asarray(friction)
    loaded = np.isfinite(prices)
    forces = np.zeros((count, 3))
    if not loaded.any():
        return ForceShare(forces, float(np.abs(base_force).max()))
    scale = max(float(np.abs(base_force).max()), 1.0)
    wrenches = np.einsum("ckr,crn->nck", edges[loaded], rows[loaded]).reshape(6, -1)
    price = np.repeat(np.sqrt(_SMALL * prices[loaded]), 4)
    matrix = np.vstack([wrenches, np.diag(price) / math.sqrt(scale)])
    coefficients, _ = nnls(
        matrix, np.concatenate([base_force / scale, np.zeros(len(price))])
    )
    along = coefficients.reshape(-1, 4) * scale
    forces[loaded] = np.einsum("ck,ckr->cr", along, edges[loaded])
    reached = np.einsum("crn,cr->n", rows, forces)
    return ForceShare(forces, float(np.abs(base_force - reached).max()))
