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
from humans_sim.core.runge_kutta import (
    CASH_KARP,
    CLASSICAL,
    Rates,
    runge_kutta_step,
)

Scale = Literal["unit", "tangent", "absolute"]

_SAFE, _GROW, _SHRINK = 0.9, 5.0, 0.1
_TINY = 1e-30


@dataclass(frozen=True)
class Trajectory:
    """The result of an integration.

    Times of the accepted steps (k + 1,) [s], states (k + 1, m), largest error of each
    step over its tolerance (k,); steps that were taken again, and along the tangent.
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
        new, error = runge_kutta_step(CASH_KARP, rates, t, q, size, slope)
        scales = tolerance * _scales(scale, q, slope, size)
        ratio = float(np.max(np.abs(error) / scales))
        if not np.isfinite(ratio) or not np.isfinite(new).all():
            ratio = np.inf
        if ratio > 1.0:
            rejected += 1
            h = size / 10
            if ratio < np.inf:
                h = size * max(_SAFE * ratio**-0.25, _SHRINK)
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
    arrays = np.array(times), np.array(states), np.array(errors)
    return Trajectory(*arrays, rejected, extrapolated)


def runge_kutta(rates: Rates, q0: np.ndarray, t_end: float, steps: int) -> Trajectory:
    """The classical method of fourth order, with equal steps."""
    if steps < 1 or not t_end > 0:
        raise AnatomyError("time and number of steps must be positive")
    h = t_end / steps
    q = np.array(q0, dtype=float)
    states = [q]
    for n in range(steps):
        q, _ = runge_kutta_step(CLASSICAL, rates, n * h, q, h)
        states.append(q)
    times = np.linspace(0.0, t_end, steps + 1)
    return Trajectory(times, np.array(states), np.zeros(steps), 0, 0)


def _scales(scale: Scale, q: np.ndarray, slope: np.ndarray, h: float) -> np.ndarray:
    if scale == "unit":
        return np.ones_like(q)
    if scale == "tangent":
        return np.abs(q + h * slope) + _TINY
    return np.abs(q) + np.abs(h * slope) + _TINY
