# SPDX-License-Identifier: Apache-2.0
r"""Percussions: how velocities of two bones jump when they collide without friction.

Perez (1994, 6.4.1): :math:`m \Delta v = P` and :math:`\Delta \sigma = GC \wedge P`,
closed by Newton's restitution :math:`v_n^1 = -e\, v_n^0` (E10 lacks the sign).
Percussions with friction, and several at once, are the contact problem of
:mod:`humans_sim.contact.problem.impact`.
"""

from __future__ import annotations

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.arrays import finite_array


def percussion(
    bodies: RigidBodies,
    state: BodyState,
    pair: tuple[int, int],
    point: np.ndarray,
    normal: np.ndarray,
    restitution: float = 0.0,
) -> tuple[BodyState, float]:
    """The state after two bodies collide.

    Args:
        bodies: of the scene.
        state: before.
        pair: numbers of the two.
        point: where they touch (3,) [m].
        normal: unit vector from the second to the first (3,).
        restitution: e, 0 to 1.

    Returns:
        the state after, and the percussion along the normal [N s]; zero where they
        part already.

    Raises:
        AnatomyError: the normal is no unit vector, or e out of its range.
    """
    if not 0 <= restitution <= 1:
        raise AnatomyError(f"restitution is 0 to 1, not {restitution}")
    place = finite_array(point, (3,), "point of a percussion", AnatomyError)
    along = finite_array(normal, (3,), "normal of a percussion", AnatomyError)
    if abs(float(along @ along) - 1) > 1e-9:
        raise AnatomyError("the normal of a percussion must be a unit vector")
    speeds, spins = bodies.velocities(state), bodies.spins(state)
    approach, mobility = 0.0, 0.0
    arms = []
    for body, sign in zip(pair, (1.0, -1.0), strict=True):
        arm = place - state.x[body]
        turned = np.cross(arm, along)
        inverse = state.R[body] @ bodies.inverses[body] @ state.R[body].T
        mobility += 1 / bodies.masses[body] + float(turned @ inverse @ turned)
        approach += sign * float(along @ (speeds[body] + np.cross(spins[body], arm)))
        arms.append(turned)
    after = state.copy()
    if approach >= 0:
        return after, 0.0
    strength = -(1 + restitution) * approach / mobility
    for body, sign, turned in zip(pair, (1.0, -1.0), arms, strict=True):
        after.P[body] += sign * strength * along
        after.L[body] += sign * strength * turned
    return after, strength
