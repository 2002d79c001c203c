# SPDX-License-Identifier: Apache-2.0
"""Is a wrist's motion right? Gaps, friction, the thesis' thresholds, energy, bones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.wrist.plausibility import distances_from_bearers
from humans_sim.results.check import Check, Finding

if TYPE_CHECKING:
    from humans_sim.anatomy.wrist.wrist_run import WristRun

GAP = 1e-6
"""Overlap of balls that counts as none [m]."""
CONE = 1e-6
"""By which the ratio of forces may be above Coulomb's coefficient."""
TOUCHING, DEEP = 0.05, 0.02
"""Share of a bone's balls in contact, share of deep contacts (Perez 1994, 8)."""
LEFT = 1e-2
"""Distance from where hand or forearm would have a bone, from which it left [m]."""
GROWTH = 1e-6
"""Growth of the energy while the hand is held, over the greatest energy."""


def check_wrist_run(run: WristRun) -> Check:
    """Examine every sample of a wrist's motion.

    Energy is judged while the hand is held after its motion: nothing feeds any in then,
    and friction and viscosity take some out. What could not be looked at is neither
    right nor wrong: its ``ok`` is None.
    """
    looks = (_gap, _cone, _touching, _deep, _left, _energy, _settled)
    return Check(tuple(look(run) for look in looks))


def _at(run: WristRun, k: int) -> str:
    angle = np.degrees(run.angles[k])
    return f"at {run.t[k]:.6g} s, {run.motion.kind} {angle:.1f} degrees"


def _gap(run: WristRun) -> Finding:
    name, k = "least gap of balls", int(run.depths.argmax())
    gap = -float(run.depths[k])
    if run.method != "complementarity":
        where = "the law of contact works by overlap: deep contacts are looked at"
        return Finding(name, gap, -GAP, "m", where, None)
    return Finding(name, gap, -GAP, "m", _at(run, k), gap >= -GAP)


def _cone(run: WristRun) -> Finding:
    name, k = "largest friction over normal force", int(run.friction.argmax())
    ratio = float(run.friction[k])
    if run.numbers is None:
        where = "the method has no coefficient of Coulomb's"
        return Finding(name, ratio, 0.0, "", where, None)
    limit = run.numbers.friction
    if not run.forces.any():
        return Finding(name, 0.0, limit, "", "no contact", None)
    return Finding(name, ratio, limit, "", _at(run, k), ratio <= limit + CONE)


def _touching(run: WristRun) -> Finding:
    name = "largest share of a bone's balls in contact"
    free = run.wrist.free
    k, n = np.unravel_index(run.touching[:, free].argmax(), (len(run.t), len(free)))
    share = float(run.touching[k, free[n]])
    where = f"{run.wrist.names[free[n]]} {_at(run, int(k))}"
    return Finding(name, share, TOUCHING, "", where, share < TOUCHING)


def _deep(run: WristRun) -> Finding:
    name, k = "largest share of deep contacts", int(run.deep.argmax())
    if not run.touching.any():
        return Finding(name, 0.0, DEEP, "", "no contact", None)
    share = float(run.deep[k])
    return Finding(name, share, DEEP, "", _at(run, k), share < DEEP)


def _left(run: WristRun) -> Finding:
    name = "furthest bone from hand and forearm"
    free = run.wrist.free
    away = distances_from_bearers(run)[:, free]
    k, n = np.unravel_index(away.argmax(), away.shape)
    where = f"{run.wrist.names[free[n]]} {_at(run, int(k))}"
    far = float(away[k, n])
    return Finding(name, far, LEFT, "m", where, far <= LEFT)


def _energy(run: WristRun) -> Finding:
    name = "growth of energy while the hand is held"
    held = np.flatnonzero(run.t >= run.motion.duration - 1e-9)
    total = run.energy.sum(axis=1)
    limit = GROWTH * float(total.max())
    if len(held) < 2:
        return Finding(name, 0.0, limit, "J", "the hand is not held", None)
    steps = np.diff(total[held])
    k = int(steps.argmax())
    growth = max(float(steps[k]), 0.0)
    return Finding(name, growth, limit, "J", _at(run, held[k + 1]), growth <= limit)


def _settled(run: WristRun) -> Finding:
    """Not judged where some did not: gaps and friction are looked at themselves."""
    name, count = "steps that did not settle", len(run.steps)
    if run.unsettled == 0:
        return Finding(name, 0.0, 0.0, "", f"{count} steps", True)
    where = f"{run.unsettled} of {count}: their motion is approximate"
    return Finding(name, float(run.unsettled), 0.0, "", where, None)
