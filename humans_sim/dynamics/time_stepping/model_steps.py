# SPDX-License-Identifier: Apache-2.0
"""Time steps of models in compiled calls: one, or all up to the next command.

Between two commands nothing but drives acts on a model. Its steps then need nothing
from outside, and what a call costs is paid once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.actuation_interface import DriveTable, table_torques
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.self_contact_kernels import none_due
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.impulses import HALVED
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    DONE,
    StepGeometry,
    model_energies,
    model_step,
)
from humans_sim.dynamics.tree_kernels import TreeTable
from humans_sim.results.records import LINK

REACHED, ONE_STEP, LINKS = 0, 1, 2
"""How a series ends: it can go on or is done; the next step is to be made by itself;
before it the distances of links are to be computed."""
ROUNDING = 1e-9
"""Share of a step that counts as no time at all."""
_MOST_STEPS = 1000
"""Steps after which a call returns, so that a run can be interrupted."""


@kernel
def next_length(left, length):
    """Length of the next step [s], where ``left`` is to go until something is due.

    Equal steps, so that a run does not depend on how it is cut to pieces; the last one
    before something is due is stretched or cut.
    """
    return left if left < 1.5 * length else length


@kernel
def model_series(tree, geometry, links, drives, start, clock):
    """Make steps until something is due, or until one needs more than this kernel.

    ``start``: that of a step (:func:`model_step`), gaps of all contacts, kinetic and
    potential energy and the excess left before [J], largest relative error of energy
    and energy taken out so far [J]. ``links``: fields of a ``PairBounds``, poses of all
    joints (filled), joint angles where links were looked at last (written), how many
    times half a step is looked ahead. ``clock``: the time now, the time at which
    something is due, the length of a step [s], and whether links are known to be apart
    in the first step.

    Returns:
        how it ends; the number of steps; the time reached [s]; where that is, as
        ``start``; mode changes, a row each: time [s], contact, mode before and after.
    """
    at, gaps, energies, totals = start
    # Copies: their types are those of what a step returns.
    q, v, acceleration = at[0].copy(), at[1].copy(), at[2].copy()
    forces, mode, gaps = at[3].copy(), at[4].copy(), gaps.copy()
    bounds, poses, seen, ahead = links
    t, due, length, apart = clock
    worst, taken = totals
    locked = TreeTable(*tree).locked
    nc, pairs = mode.shape[0], bounds[0].shape[0]
    changes, count = np.empty((2 * nc + 64, 4)), 0
    steps, ending = 0, REACHED
    while t < due and steps < _MOST_STEPS and count + nc <= changes.shape[0]:
        left = due - t
        if left <= ROUNDING * length:
            # Two events at what is meant as one time: no step could be that short.
            t = due
            break
        h = next_length(left, length)
        if pairs and not (apart and steps == 0):
            if not none_due(tree, q, v, ahead * (0.5 * h), bounds, poses):
                ending = LINKS
                break
            for j in range(seen.shape[0]):
                seen[j] = q[7 + j]
        applied = table_torques(drives, locked, t, q, v)
        step = model_step(
            tree, geometry, (q, v, acceleration, forces, mode), applied, h, energies
        )
        if step[0] != DONE or (step[8] > HALVED and not step[11]):
            ending = ONE_STEP
            break
        steps += 1
        t += h
        q, v, gaps, forces, acceleration = step[1], step[2], step[3], step[5], step[7]
        energies = (step[6][0], step[6][1], step[10])
        worst, taken = max(worst, step[8]), taken + step[9]
        if step[12]:
            for c in range(nc):
                if step[4][c] != mode[c]:
                    changes[count, 0], changes[count, 1] = t, c
                    changes[count, 2], changes[count, 3] = mode[c], step[4][c]
                    count += 1
            mode = step[4]
        if due - t <= ROUNDING * length:
            t = due
    end = (q, v, acceleration, forces, mode), gaps, energies, (worst, taken)
    return ending, steps, t, end, changes[:count]


class ModelSteps:
    """Makes the steps of a model."""

    def __init__(self, system: ModelSystem, tree: TreeTable) -> None:
        table = system.contacts
        moving, _, _, joints = system.contact_arrays
        self._system, self._has_links = system, LINK in table.kinds
        self._far = system.own_links.far_arrays
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._tree = tuple(tree)
        self._geometry = tuple(
            StepGeometry(
                moving=moving,
                links=np.array(joints, dtype=np.int64) - 1,
                restitution=table.restitution,
                tangents=table.tangents,
                friction=table.friction,
            )
        )

    @classmethod
    def of(cls, system: System) -> ModelSteps | None:
        """For a model whose joints have one axis each; None for other systems."""
        if not isinstance(system, ModelSystem):
            return None
        tree = system.tree
        return None if tree is None else cls(system, tree)

    def serves(self, q: np.ndarray, v: np.ndarray, h: float) -> bool:
        """Whether a step has only contacts that the kernel knows: no links touch."""
        return not self._has_links or self._system.are_links_apart(q, v, 0.5 * h)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic, potential = model_energies(self._tree, q, v)
        return float(kinetic), float(potential)

    def step(
        self,
        start: tuple[np.ndarray, ...],
        applied: np.ndarray,
        h: float,
        energies: tuple[float, float, float],
    ) -> tuple[Any, ...]:
        """The result of :func:`model_step`; its arguments, as plain tuples."""
        result: tuple[Any, ...] = model_step(
            self._tree, self._geometry, start, applied, h, energies
        )
        return result

    def series(
        self, drives: DriveTable, start: tuple[Any, ...], clock: tuple[float, ...]
    ) -> tuple[Any, ...]:
        """The result of :func:`model_series`; its arguments, as plain tuples."""
        result: tuple[Any, ...] = model_series(
            self._tree, self._geometry, self._far, tuple(drives), start, clock
        )
        if result[1] and self._has_links:
            self._system.own_links.note_far()
        return result
