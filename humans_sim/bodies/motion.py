# SPDX-License-Identifier: Apache-2.0
"""Motions of free bodies: integrated with given steps, or to a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from humans_sim.bodies.integrators import STEPS, Forces, lie_step
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.budget import SAMPLES
from humans_sim.core.runge_kutta import DORMAND_PRINCE

_SHRINK, _GROW, _SAFE, _ORDER = 0.2, 5.0, 0.9, 5.0
_LEAST = 1e-10
"""Steps are never shorter than this share of the time [1]."""


@dataclass(frozen=True)
class BodyMotion:
    """Samples of a motion.

    Attributes:
        t: times (k,) [s].
        x, R, P, L: of the states (k, n, 3), (k, n, 3, 3), (k, n, 3), (k, n, 3).
        steps: of the integration.
    """

    t: np.ndarray
    x: np.ndarray
    R: np.ndarray
    P: np.ndarray
    L: np.ndarray
    steps: int

    def state(self, k: int) -> BodyState:
        """The state of a sample."""
        return BodyState(self.x[k], self.R[k], self.P[k], self.L[k])

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)


def no_forces(t: float, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
    """Nothing acts."""
    return np.zeros_like(state.P), np.zeros_like(state.L)


def move(
    bodies: RigidBodies,
    state: BodyState,
    t_end: float,
    *,
    forces: Forces = no_forces,
    method: str = "lie",
    step: float | None = None,
    tolerance: float | None = None,
    sampling_period: float | None = None,
) -> BodyMotion:
    """Let bodies move from time 0 on.

    Args:
        bodies: that move.
        state: at the beginning.
        t_end: [s].
        forces: that act.
        method: one of ``explicit_euler``, ``semi_implicit_euler``, ``rk4``, ``lie``.
        step: of the integration [s]; it is shortened to end at samples. Or
        tolerance: of each step of the method ``lie``, relative and absolute [1; m, rad,
            kg m/s, kg m^2/s].
        sampling_period: between two samples [s]; the step unless given.

    Raises:
        BodyError: a number makes no sense, or a step cannot reach the tolerance.
    """
    if method not in STEPS:
        raise BodyError(
            f"no method is called '{method}' (there are: {', '.join(STEPS)})"
        )
    if (step is None) == (tolerance is None):
        raise BodyError("give either the step or the tolerance")
    if tolerance is not None and method != "lie":
        raise BodyError(f"only the method 'lie' keeps a tolerance, not '{method}'")
    for name, value in (
        ("t_end", t_end),
        ("step", step),
        ("tolerance", tolerance),
        ("sampling_period", sampling_period),
    ):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BodyError(f"{name} must be positive, not {value}")
    period = sampling_period or step or t_end
    SAMPLES.check("a motion", t_end / min(period, step or period), error=BodyError)
    count = max(round(t_end / period), 1)
    times = np.linspace(0.0, t_end, count + 1)
    now, states, steps = state.copy(), [state.copy()], 0
    guess = 1e-3 * period
    for begin, end in zip(times[:-1], times[1:], strict=True):
        if step is not None:
            parts = max(math.ceil((end - begin) / step * (1 - 1e-9)), 1)
            h = (end - begin) / parts
            for k in range(parts):
                now = STEPS[method](bodies, now, forces, begin + k * h, h)
            steps += parts
        else:
            assert tolerance is not None
            now, guess, taken = _to(bodies, now, forces, begin, end, guess, tolerance)
            steps += taken
        states.append(now)
    parts_of = zip(*((s.x, s.R, s.P, s.L) for s in states), strict=True)
    places, frames, momenta, angular = (np.array(part) for part in parts_of)
    return BodyMotion(times, places, frames, momenta, angular, steps)


def _to(
    bodies: RigidBodies,
    state: BodyState,
    forces: Forces,
    t: float,
    end: float,
    h: float,
    tolerance: float,
) -> tuple[BodyState, float, int]:
    """Go to a time by steps of a controlled error; the state, next step and count."""
    least, taken = _LEAST * (end - t), 0
    while t < end:
        last = t + h >= end
        size = end - t if last else h
        new, errors = lie_step(bodies, state, forces, t, size, DORMAND_PRINCE)
        scales = (np.abs(new.x), np.zeros(()), np.abs(new.P), np.abs(new.L))
        error = max(
            float(np.max(np.abs(e) / (tolerance * (1.0 + scale))))
            for e, scale in zip(errors, scales, strict=True)
        )
        if not math.isfinite(error):
            error = math.inf
        taken += 1
        factor = _SAFE * error ** (-1 / _ORDER) if error > 0 else _GROW
        factor = min(max(factor, _SHRINK), _GROW)
        if error <= 1.0:
            t, state = (end if last else t + size), new
            h = max(h, size * factor) if last else size * factor
        else:
            h = size * factor
            if h < least:
                raise BodyError(
                    f"the tolerance {tolerance:g} cannot be kept at {t:.6g} s"
                )
    return state, h, taken
