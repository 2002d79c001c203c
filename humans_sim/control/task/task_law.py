# SPDX-License-Identifier: Apache-2.0
r"""The task function's control law (manual chapter 8).

The second derivative of the task is assigned,

.. math:: v = \ddot s^* + K_p (s^* - s) + K_v (\dot s^* - H \dot q) - h, \qquad
   \ddot q = H^{-1} v,

so that the error of the task obeys :math:`\ddot e + K_v \dot e + K_p e = 0`. Torques
follow from the accelerations by inverse dynamics. Near a singular H the accelerations
are those of damped least squares, which stay bounded and miss a part of v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

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
    """Accelerations of the law.

    Attributes:
        acceleration: (n,).
        damped: whether H was near singular and the accelerations are damped.
        condition: of H, its largest singular value over its smallest.
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
        difference = getattr(task, "difference", _difference)
        error = difference(task.value(q), target)
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


def _difference(value: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(target, dtype=float) - value
