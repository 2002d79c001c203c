# SPDX-License-Identifier: Apache-2.0
"""Four integration steps: from the course's explicit Euler to a Lie group's.

- ``explicit_euler``: X + h dX/dt, as the course has it: R leaves the rotations, and is
  pulled back after each step.
- ``semi_implicit_euler``: momenta first, then places and rotations with the new ones;
  of first order too, but its energy error stays bounded.
- ``rk4``: the classical method on the nine numbers of R, pulled back after each step.
- ``lie``: Runge and Kutta's method in a chart of the rotations (Munthe-Kaas): R never
  leaves them. Of fourth order with given steps; with a tolerance it chooses its steps
  by Dormand and Prince's pair of orders 5 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.rotations import chart_rate, crossed, spin, straighten, turn
from humans_sim.core.runge_kutta import CLASSICAL, Tableau

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
