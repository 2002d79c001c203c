# SPDX-License-Identifier: Apache-2.0
r"""The thesis' integrators: Cash and Karp's pair of orders 5 and 4, and classical RK4.

Perez (1994, 7.4): the two results of one step give its error
:math:`\Delta = \sum (c_i - c^4_i) k_i`; the next step is
:math:`h\,|\Delta_1/\Delta|^{1/5}` with :math:`\Delta_1 = \varepsilon\, q_{scal}`, and a
step whose error is above is taken again. Scales of the components:

- ``unit``: 1;
- ``tangent``: :math:`|q + q' h|` (E16), which can vanish, so a little is added;
- ``absolute``: :math:`|q| + |q' h|` (Numerical Recipes).

Where the error grows although the step shrinks (Euler angles at sin theta = 0) the
thesis extrapolates along the tangent; ``extrapolate`` allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from humans_sim.anatomy.errors import AnatomyError

Rates = Callable[[float, np.ndarray], np.ndarray]
Scale = Literal["unit", "tangent", "absolute"]

NODES = np.array([0, 1 / 5, 3 / 10, 3 / 5, 1, 7 / 8])
STAGES = (
    np.array([]),
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([3 / 10, -9 / 10, 6 / 5]),
    np.array([-11 / 54, 5 / 2, -70 / 27, 35 / 27]),
    np.array([1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096]),
)
FIFTH = np.array([37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771])
FOURTH = np.array([2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])
_SAFE, _GROW, _SHRINK = 0.9, 5.0, 0.1
_TINY = 1e-30


@dataclass(frozen=True)
class Trajectory:
    """What an integration gave.

    Attributes:
        t: times of the accepted steps (k + 1,) [s].
        q: states (k + 1, m).
        errors: largest error of each step over its tolerance (k,).
        rejected: steps that were taken again.
        extrapolated: steps along the tangent.
    """

    t: np.ndarray
    q: np.ndarray
    errors: np.ndarray
    rejected: int
    extrapolated: int

    @property
    def steps(self) -> np.ndarray:
        """Lengths of the steps (k,) [s]."""
        return np.diff(self.t)


def cash_karp_step(
    rates: Rates, t: float, q: np.ndarray, h: float, slope: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The state after one step of order 5, and its error."""
    k = [rates(t, q) if slope is None else slope]
    for node, row in zip(NODES[1:], STAGES[1:], strict=True):
        k.append(rates(t + node * h, q + h * (row @ np.array(k))))
    stages = np.array(k)
    return q + h * (FIFTH @ stages), h * ((FIFTH - FOURTH) @ stages)


def cash_karp(
    rates: Rates,
    q0: np.ndarray,
    t_end: float,
    *,
    tolerance: float = 1e-6,
    scale: Scale = "absolute",
    first_step: float | None = None,
    least_step: float = 1e-12,
    largest_step: float = np.inf,
    extrapolate: bool = False,
    accepted: Callable[[float, np.ndarray, float], np.ndarray | None] | None = None,
) -> Trajectory:
    """Integrate q' = rates(t, q) from time 0 by steps of a controlled error.

    Args:
        rates: of time and state.
        q0: state at the beginning (m,).
        t_end: [s].
        tolerance: epsilon, of each step in scales of the components.
        scale: ``unit``, ``tangent`` or ``absolute``.
        first_step: tried first [s]; a thousandth of the time unless given.
        least_step: [s].
        largest_step: [s].
        extrapolate: go along the tangent where the least step is not enough.
        accepted: called with time, state and step of each accepted step; what it
            returns, if anything, is the state to resume from.

    Raises:
        AnatomyError: a number makes no sense, or the tolerance cannot be kept.
    """
    if not (t_end > 0 and tolerance > 0 and least_step > 0):
        raise AnatomyError("time, tolerance and least step must be positive")
    if scale not in ("unit", "tangent", "absolute"):
        raise AnatomyError(f"no scale is called '{scale}'")
    t, q = 0.0, np.array(q0, dtype=float)
    h = min(first_step or t_end / 1000, largest_step)
    times, states, errors = [t], [q], []
    rejected = extrapolated = 0
    slope = rates(t, q)
    while t < t_end:
        last = t + h >= t_end * (1 - 1e-15)
        size = t_end - t if last else h
        new, error = cash_karp_step(rates, t, q, size, slope)
        ratio = float(
            np.max(np.abs(error) / (tolerance * _scales(scale, q, slope, size)))
        )
        if not np.isfinite(ratio) or not np.isfinite(new).all():
            ratio = np.inf
        if ratio > 1.0:
            rejected += 1
            h = (
                size * max(_SAFE * ratio**-0.25, _SHRINK)
                if ratio < np.inf
                else size / 10
            )
            if h >= least_step:
                continue
            if not extrapolate:
                raise AnatomyError(
                    f"the tolerance {tolerance:g} cannot be kept at {t:.6g} s: the "
                    f"step would be below {least_step:g} s"
                )
            size = min(10 * least_step, t_end - t)
            new, ratio, last = q + size * slope, 0.0, False
            extrapolated += 1
        t = t_end if last else t + size
        q = new
        if accepted is not None:
            changed = accepted(t, q, size)
            q = q if changed is None else changed
        times.append(t)
        states.append(q)
        errors.append(ratio)
        grow = _GROW if ratio < 1e-4 else min(_SAFE * ratio**-0.2, _GROW)
        h = min(max(size * grow, h if last else 0.0), largest_step)
        if t < t_end:
            slope = rates(t, q)
    return Trajectory(
        np.array(times), np.array(states), np.array(errors), rejected, extrapolated
    )


def runge_kutta(rates: Rates, q0: np.ndarray, t_end: float, steps: int) -> Trajectory:
    """The classical method of fourth order, with equal steps."""
    if steps < 1 or not t_end > 0:
        raise AnatomyError("time and number of steps must be positive")
    h = t_end / steps
    q = np.array(q0, dtype=float)
    states = [q]
    for n in range(steps):
        t = n * h
        a = rates(t, q)
        b = rates(t + h / 2, q + h / 2 * a)
        c = rates(t + h / 2, q + h / 2 * b)
        d = rates(t + h, q + h * c)
        q = q + h * (a / 6 + b / 3 + c / 3 + d / 6)
        states.append(q)
    times = np.linspace(0.0, t_end, steps + 1)
    return Trajectory(times, np.array(states), np.zeros(steps), 0, 0)


def _scales(scale: Scale, q: np.ndarray, slope: np.ndarray, h: float) -> np.ndarray:
    if scale == "unit":
        return np.ones_like(q)
    if scale == "tangent":
        return np.abs(q + h * slope) + _TINY
    return np.abs(q) + np.abs(h * slope) + _TINY
