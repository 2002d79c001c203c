# SPDX-License-Identifier: Apache-2.0
"""A step of order 4 for frames that move by twists: Runge-Kutta on the group SE(3).

Munthe-Kaas's method: the classical Runge-Kutta scheme on the exponent. Where the twist
is constant it is one exponential, exact for any time step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.joints import JointState
from humans_sim.contact.joint.surfaces import cross

Twists = Callable[[JointState], tuple[np.ndarray, np.ndarray]]


def lie_step(twists: Twists, state: JointState, dt: float) -> JointState:
    """Both frames after a time, by their twists in their own axes."""

    def rate(one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = JointState(state.first * pin.exp6(one), state.second * pin.exp6(two))
        a, b = twists(moved)
        return _pulled(one, a), _pulled(two, b)

    a1, a2 = twists(state)
    b1, b2 = rate(dt / 2 * a1, dt / 2 * a2)
    c1, c2 = rate(dt / 2 * b1, dt / 2 * b2)
    d1, d2 = rate(dt * c1, dt * c2)
    return JointState(
        state.first * pin.exp6(dt / 6 * (a1 + 2 * (b1 + c1) + d1)),
        state.second * pin.exp6(dt / 6 * (a2 + 2 * (b2 + c2) + d2)),
    )


def _pulled(exponent: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """The rate of an exponent whose frame moves by a twist, to order 4."""
    once = _bracket(exponent, twist)
    return twist + once / 2 + _bracket(exponent, once) / 12


def _bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    va, wa, vb, wb = a[:3], a[3:], b[:3], b[3:]
    return np.concatenate([cross(wa, vb) + cross(va, wb), cross(wa, wb)])
