# SPDX-License-Identifier: Apache-2.0
r"""Impacts: how velocities jump when contacts close.

.. math:: M (v_+ - v_-) = \sum_i J_i^T p_i

``inequality`` (the default): impulses and velocities after the impact fulfil the
contact problem, so contacts may open, slide or stick; the normal velocity is reversed
by Newton's coefficient. ``humans``: the manual's law (1.8); every touching contact
comes to rest and none opens.

Newton's coefficient together with friction, or with several contacts, can ask for more
energy than there is. Then all coefficients are lowered by one factor until energy does
not grow; with factor zero it never does. The event says so.

A contact that slides under much friction may have no acceleration at all (Painleve's
paradox). Then velocities jump although nothing collides, the impact without collision
or tangential impact: see :func:`impact_without_collision`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    solve_contact,
)
from humans_sim.contact.problem.law import (
    STICK,
    ModeArrays,
    constrained_acceleration,
    idle_forces,
)
from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.errors import ParameterError

INEQUALITY, HUMANS = LAWS = ("inequality", "humans")
_HALVINGS = 50
_SHARES = (1e-2, 1e-3, 1e-1, 1e-4)
"""Change of velocity, in sliding speeds, from which such an impact grows."""
_JUMP = 0.5
"""Change of a contact's velocity, in its own sliding speed, that is a jump."""
_ACCURACY = 1e-9


@dataclass(frozen=True)
class Impact:
    """The result of an impact.

    Attributes:
        velocity: v after it (nv,).
        impulses: (k, 3): normal and tangents [N s].
        before: contact velocities before (k, 3) [m/s].
        after: contact velocities after (k, 3) [m/s].
        restitution_factor: 1, or less where Newton's coefficient asked for energy.
        push_work: work of an impulse from outside [J].
    """

    velocity: np.ndarray
    impulses: np.ndarray
    before: np.ndarray
    after: np.ndarray
    restitution_factor: float
    push_work: float

    @property
    def work(self) -> float:
        """Work of all impulses: the change of kinetic energy [J]."""
        contacts = 0.5 * np.sum(self.impulses * (self.before + self.after))
        return float(contacts) + self.push_work


def solve_impact(
    mass: np.ndarray,
    rows: np.ndarray,
    velocity: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    restitution: np.ndarray,
    law: str = INEQUALITY,
    push: np.ndarray | None = None,
) -> Impact:
    """Velocities after the impact of k touching contacts, and a push (nv,)."""
    if law not in LAWS:
        raise ParameterError(f"impact must be one of {LAWS}, not '{law}'")
    k, nv = len(tangents), len(velocity)
    before = rows @ velocity
    pushed = velocity if push is None else velocity + np.linalg.solve(mass, push)
    flat = rows.reshape(3 * k, nv)
    reached = rows @ pushed

    def result(after: np.ndarray, impulses: np.ndarray, factor: float) -> Impact:
        work = 0.0 if push is None else float(0.5 * push @ (velocity + after))
        return Impact(after, impulses, before, rows @ after, factor, work)

    if law == HUMANS:
        stick = np.full(k, STICK)
        jump, impulses, _ = constrained_acceleration(
            mass,
            np.zeros(nv),
            rows,
            reached,
            ModeArrays(
                mode=stick,
                tangents=tangents,
                friction=friction,
                direction=np.zeros((k, 2)),
                reference=np.zeros((k, 3)),
                idle=idle_forces(mass, rows, stick, tangents),
            ),
        )
        after_velocity = pushed + jump
        return result(after_velocity, impulses, 1.0)
    mobility = np.linalg.solve(mass, flat.T)
    delassus = flat @ mobility
    approach = np.minimum(before[:, 0], 0.0)
    energy = 0.5 * pushed @ mass @ pushed

    def attempt(factor: float) -> tuple[np.ndarray, np.ndarray]:
        free = reached.copy()
        free[:, 0] += factor * restitution * approach
        solution = solve_contact(delassus, free, tangents, friction)
        return pushed + mobility @ solution.forces.ravel(), solution.forces

    def grows(after: np.ndarray) -> bool:
        return bool(0.5 * after @ mass @ after > energy * (1 + 1e-12))

    factor = 1.0
    after_velocity, impulses = attempt(factor)
    if restitution.any() and grows(after_velocity):
        low, high = 0.0, 1.0
        after_velocity, impulses = attempt(low)
        factor = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            try:
                trial = attempt(middle)
            except ContactProblemError:
                high = middle
                continue
            if grows(trial[0]):
                high = middle
            else:
                low = factor = middle
                after_velocity, impulses = trial
            if high - low < 1e-9:
                break
    return result(after_velocity, impulses, factor)


def impact_without_collision(
    mass: np.ndarray,
    rows: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
) -> Impact | None:
    r"""The jump of velocities where sliding contacts have no acceleration.

    No impulse at all is a solution of the contact problem in velocities, as nothing
    approaches; where there is no acceleration it leads nowhere. The other one is the
    limit of the motion with contacts a little soft, and of time steps that go to zero
    (Genot and Brogliato, European Journal of Mechanics A/Solids 18, 1999; Nordmark,
    Dankowicz and Champneys, Int. J. of Non-Linear Mechanics 44, 2009): the sliding is
    braked until it sticks or turns round. It is found as such: with a little of the
    acceleration in the velocities first, then without it.

    Kinetic energy does not grow: :math:`2 \Delta T = 2 p^T u_+ - |\Delta v|_M^2`, and
    friction does no work that is positive.

    Returns:
        the jump; None where there is none.
    """
    k, nv = len(tangents), len(velocity)
    flat = rows.reshape(3 * k, nv)
    mobility = np.linalg.solve(mass, flat.T)
    delassus = flat @ mobility
    before = rows @ velocity
    before[:, 0] = 0.0
    sliding = np.linalg.norm(before[:, 1:], axis=1)
    speed = float(sliding.max(initial=0.0))
    pull = float(np.abs(acceleration).max(initial=0.0))
    if speed == 0.0 or pull == 0.0:
        return None
    kinds = np.asarray(tangents, dtype=np.int64), np.asarray(friction, dtype=float)
    for share in _SHARES:
        near = before + share * speed / pull * acceleration
        try:
            start = solve_contact(delassus, near, tangents, friction).forces
        except ContactProblemError:
            continue
        impulses, residual = solve_near(delassus, before, *kinds, start, _ACCURACY)
        jump = mobility @ impulses.ravel()
        changed = np.linalg.norm((rows @ jump)[:, 1:], axis=1)
        jumps = (sliding > 10 * _ACCURACY * speed) & (changed > _JUMP * sliding)
        if residual <= _ACCURACY and jumps.any():
            after = velocity + jump
            return Impact(after, impulses, rows @ velocity, rows @ after, 1.0, 0.0)
    return None
