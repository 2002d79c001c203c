# SPDX-License-Identifier: Apache-2.0
r"""Motions of free bodies: integrated with given steps, or to a tolerance.

Integration steps, from the course's explicit Euler to a Lie group's:

- ``explicit_euler``: X + h dX/dt, as the course has it: R leaves the rotations, and is
  pulled back after each step.
- ``semi_implicit_euler``: momenta first, then places and rotations with the new ones;
  of first order too, but its energy error stays bounded.
- ``rk4``: the classical method on the nine numbers of R, pulled back after each step.
- ``lie``: Runge and Kutta's method in a chart of the rotations (Munthe-Kaas): R never
  leaves them. Of fourth order with given steps; with a tolerance it chooses its steps
  by Dormand and Prince's pair of orders 5 and 4.

*States* are one array of 18 numbers a body, for any integrator. It is that of the
course (``StateSize 18``; its ``BodiesToArray``, ``ArrayToBodies`` and ``Dxdt``): x (3),
R row by row (9), P (3) and L (3) of the first body, then those of the next. In it

.. math:: \frac{d}{dt}(x, R, P, L) = (v,\; \omega^* R,\; F,\; \tau).

R is integrated as nine numbers: it leaves the rotations by the error of the integrator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.bodies.mass_properties import BodyError
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.budget import SAMPLES
from humans_sim.core.rotations import chart_rate, crossed, spin, straighten, turn
from humans_sim.core.runge_kutta import CLASSICAL, DORMAND_PRINCE, Tableau

Forces = Callable[[float, BodyState], tuple[np.ndarray, np.ndarray]]
"""Forces at the centres and torques about them, in the world's frame (n, 3) each."""
Step = Callable[[RigidBodies, BodyState, Forces, float, float], BodyState]
_ITERATIONS = 4
"""Of the spin in the middle of a step."""


class _Rates(NamedTuple):
    """dX/dt, the rotation's as a vector."""

    x: np.ndarray
    omega: np.ndarray
    P: np.ndarray
    L: np.ndarray


def _rates(bodies: RigidBodies, state: BodyState, forces: Forces, t: float) -> _Rates:
    force, torque = forces(t, state)
    omega = spin(state.R, state.L, bodies.inverses, np.empty_like(state.L))
    return _Rates(state.P / bodies.masses[:, None], omega, force, torque)


def explicit_euler(
    bodies: RigidBodies, state: BodyState, forces: Forces, t: float, h: float
) -> BodyState:
    """One step of the course's method."""
    rate = _rates(bodies, state, forces, t)
    turned = state.R + h * crossed(rate.omega, state.R, np.empty_like(state.R))
    return BodyState(
        state.x + h * rate.x,
        straighten(turned),
        state.P + h * rate.P,
        state.L + h * rate.L,
    )


def semi_implicit_euler(
    bodies: RigidBodies, state: BodyState, forces: Forces, t: float, h: float
) -> BodyState:
    """One step: momenta, then the rest with the new momenta.

    Rotations take the spin of the middle of the step, found by a fixed-point iteration:
    with it at either end, energy would drift even without a torque.
    """
    force, torque = forces(t, state)
    momenta, angular = state.P + h * force, state.L + h * torque
    omega = spin(state.R, angular, bodies.inverses, np.empty_like(angular))
    middle = np.empty_like(state.R)
    for _ in range(_ITERATIONS):
        turn(0.5 * h * omega, state.R, middle)
        spin(middle, angular, bodies.inverses, omega)
    turned = turn(h * omega, state.R, np.empty_like(state.R))
    places = state.x + h * momenta / bodies.masses[:, None]
    return BodyState(places, turned, momenta, angular)


def rk4(
    bodies: RigidBodies, state: BodyState, forces: Forces, t: float, h: float
) -> BodyState:
    """One step of the classical method of fourth order."""
    stages: list[_Rates] = []
    turns: list[np.ndarray] = []
    now = state
    for share in (0.0, 0.5, 0.5, 1.0):
        if stages:
            last, d = stages[-1], share * h
            now = BodyState(
                state.x + d * last.x,
                state.R + d * turns[-1],
                state.P + d * last.P,
                state.L + d * last.L,
            )
        stages.append(_rates(bodies, now, forces, t + share * h))
        turns.append(crossed(stages[-1].omega, now.R, np.empty_like(now.R)))
    weights = (h / 6, h / 3, h / 3, h / 6)
    return BodyState(
        state.x + _sum(weights, [k.x for k in stages]),
        straighten(state.R + _sum(weights, turns)),
        state.P + _sum(weights, [k.P for k in stages]),
        state.L + _sum(weights, [k.L for k in stages]),
    )


def lie_step(
    bodies: RigidBodies,
    state: BodyState,
    forces: Forces,
    t: float,
    h: float,
    tableau: Tableau = CLASSICAL,
) -> tuple[BodyState, tuple[np.ndarray, ...]]:
    """One step in the chart R = exp(theta^) R_0, and estimates of its errors.

    Returns:
        the state, and errors of places, rotation vectors and momenta, each (n, 3);
        zeros where the tableau has none.
    """
    stages: list[_Rates] = []  # with the chart's rate in place of the spin
    theta = np.zeros_like(state.L)
    for node, row in zip(tableau.nodes, tableau.stages, strict=True):
        now = _ahead(state, stages, [h * a for a in row], theta)
        rate = _rates(bodies, now, forces, t + node * h)
        chart = chart_rate(theta, rate.omega, np.empty_like(theta))
        stages.append(rate._replace(omega=chart))
    new = _ahead(state, stages, [h * b for b in tableau.weights], theta)
    weights = [h * e for e in tableau.errors] or [0.0] * len(stages)
    errors = tuple(_sum(weights, list(part)) for part in zip(*stages, strict=True))
    return new, errors


def lie(
    bodies: RigidBodies, state: BodyState, forces: Forces, t: float, h: float
) -> BodyState:
    """One step of fourth order that never leaves the rotations."""
    return lie_step(bodies, state, forces, t, h)[0]


def _ahead(
    state: BodyState,
    stages: Sequence[_Rates],
    weights: Sequence[float],
    theta: np.ndarray,
) -> BodyState:
    """The state that stages lead to; its rotation vector goes into ``theta``."""
    if not stages:
        theta[:] = 0.0
        return state
    theta[:] = _sum(weights, [k.omega for k in stages])
    return BodyState(
        state.x + _sum(weights, [k.x for k in stages]),
        turn(theta, state.R, np.empty_like(state.R)),
        state.P + _sum(weights, [k.P for k in stages]),
        state.L + _sum(weights, [k.L for k in stages]),
    )


def _sum(weights: Sequence[float], parts: Sequence[np.ndarray]) -> np.ndarray:
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=False):
        if weight:
            total += weight * part
    return total


STEPS: dict[str, Step] = {
    "explicit_euler": explicit_euler,
    "semi_implicit_euler": semi_implicit_euler,
    "rk4": rk4,
    "lie": lie,
}
"""Methods by their names."""


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


STATE_SIZE = 18
"""Numbers of a body."""


def pack(state: BodyState) -> np.ndarray:
    """A state as one array (18 n,) (the course's BodiesToArray)."""
    n = len(state.x)
    parts = [state.x, state.R.reshape(n, 9), state.P, state.L]
    return np.concatenate(parts, axis=1).ravel()


def unpack(packed: np.ndarray) -> BodyState:
    """The state of an array (the course's ArrayToBodies); R stays as it is."""
    packed = np.asarray(packed, dtype=float)
    if packed.ndim != 1 or packed.size == 0 or packed.size % STATE_SIZE:
        raise BodyError(
            f"a packed state has {STATE_SIZE} numbers a body, not shape {packed.shape}"
        )
    if not np.isfinite(packed).all():
        raise BodyError("a number of the packed state is not finite")
    rows = packed.reshape(-1, STATE_SIZE)
    turns = rows[:, 3:12].reshape(-1, 3, 3)
    return BodyState(
        rows[:, :3].copy(), turns.copy(), rows[:, 12:15].copy(), rows[:, 15:].copy()
    )


def packed_rates(
    bodies: RigidBodies, forces: Forces = no_forces
) -> Callable[[float, np.ndarray], np.ndarray]:
    """The derivative of a packed state, as integrators call it (the course's Dxdt)."""

    def rates(t: float, packed: np.ndarray) -> np.ndarray:
        state = unpack(packed)
        if len(state.x) != len(bodies):
            raise BodyError(
                f"must be a state of {len(bodies)} bodies, not {len(state.x)}"
            )
        force, torque = forces(t, state)
        turning = crossed(bodies.spins(state), state.R, np.empty_like(state.R))
        return pack(BodyState(bodies.velocities(state), turning, force, torque))

    return rates
