# SPDX-License-Identifier: Apache-2.0
"""Time steps of models in compiled calls: one, or all up to the next command.

Between two commands nothing but drives acts on a model. Its steps then need nothing
from outside, and what a call costs is paid once for all of them.

*Rest.* Where nothing moves in a hundred steps, steps of a call are not computed as long
as the drives give the torques of the last one that was: the state stays. What moves by
less than :data:`_REST` is the rounding of the contact problem; a body that is off an
unstable equilibrium by more leaves it within the hundred steps. The first step of each
call is computed, so that whatever changes between two calls is felt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from humans_sim.core.dense_kernels import largest
from humans_sim.core.kernels import kernel, lent
from humans_sim.dynamics.actuation_interface import DriveTable, table_torques
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.impulses import HALVED, HALVINGS
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    DONE,
    StepGeometry,
    choose_at,
    model_energies,
    model_step,
    step_memory,
)
from humans_sim.dynamics.tree_kernels import TreeTable

REACHED, ONE_STEP = 0, 1
"""How a series ends: it can go on or is done; the next step is to be made by itself."""
ROUNDING = 1e-9
"""Share of a step that counts as no time at all."""
_REST, _RESTING, _SAME = 1e-10, 100, 1e-9
"""Speed below which nothing moves [m/s, rad/s], in so many steps on end; change of a
torque that is none, over the largest one."""
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
def _whole_or_halves(tree, geometry, memory, state, applied, h):
    """A step; two of half its length where the energy of one is far off.

    Returns:
        what :func:`model_step` does, of the last part; the points of pairs that it had;
        the largest error of energy, energy taken out [J], the number of parts.
    """
    tree, geometry, memory = lent(tree), lent(geometry), lent(memory)
    length, level, n = np.empty(HALVINGS + 1), np.zeros(HALVINGS + 1, np.int64), 1
    length[0], used = h, state[5]
    worst, taken, parts = 0.0, 0.0, 0
    step = model_step(tree, geometry, memory, state, applied, h)
    while step[0] == DONE:
        worst = max(worst, step[8])
        if step[8] > HALVED and not step[11] and level[n - 1] < HALVINGS:
            length[n - 1] *= 0.5
            level[n - 1] += 1
            length[n], level[n] = length[n - 1], level[n - 1]
            n += 1
        else:
            n, parts, taken, used = n - 1, parts + 1, taken + step[9], state[5]
            if n == 0:
                break
            q, v, forces, mode = step[1], step[2], step[5], step[4]
            state = (q, v, step[7], forces, mode, step[13], step[6], step[10])
        step = model_step(tree, geometry, memory, state, applied, length[n - 1])
    return step, used, worst, taken, parts


@kernel(nogil=True)
def model_series(tree, geometry, drives, start, clock):
    """Make steps until something is due, or until one needs more than this kernel.

    Other threads run meanwhile: what is written, geometry and memory of pairs, must be
    of one system alone.

    ``start``: that of a step (:func:`model_step`) and the points of pairs in the one
    before, gaps of all contacts, excess of energy of each root left before [J], kinetic
    and potential energy, largest relative error of energy and energy taken out so far
    [J], steps in halves, steps at rest on end and steps not computed. ``clock``: the
    time now, the time at which something is due, the length of a step [s].

    Returns:
        how it ends; the number of steps; the time reached [s]; where that is, as
        ``start``; kinetic and potential energy there [J]; mode changes, a row each:
        time [s], contact, mode before and after.
    """
    tree, geometry, drives = lent(tree), lent(geometry), lent(drives)
    at, gaps, carried, totals = start
    # Copies: their types are those of what a step returns.
    q, v, acceleration = at[0].copy(), at[1].copy(), at[2].copy()
    forces, mode, gaps = at[3].copy(), at[4].copy(), gaps.copy()
    carried = carried.copy()
    t, due, length = clock
    worst, taken, halved, rest, spared = totals
    locked, memory = TreeTable(*tree).locked, step_memory(tree, v.shape[0])
    nc = mode.shape[0]
    changes, count = np.empty((2 * nc + 64, 4)), 0
    steps, ending = 0, REACHED
    chosen = choose_at(tree, geometry[5], at[5], q, v, length)
    used, energies = at[6], model_energies(tree, q, v)
    before = np.full(v.shape[0], np.nan)
    while t < due and steps < _MOST_STEPS and count + nc <= changes.shape[0]:
        left = due - t
        if left <= ROUNDING * length:
            # Two events at what is meant as one time: no step could be that short.
            t = due
            break
        h = next_length(left, length)
        applied = table_torques(drives, locked, t, q, v)
        if rest >= _RESTING and largest(applied - before) <= _SAME * largest(applied):
            spared += 1
            steps += 1
            t = due if due - t - h <= ROUNDING * length else t + h
            continue
        before = applied
        state = (q, v, acceleration, forces, mode, chosen, energies, carried)
        step, last, error, lost, parts = _whole_or_halves(
            tree, geometry, memory, state, applied, h
        )
        if step[0] != DONE:
            ending = ONE_STEP
            break
        steps += 1
        t += h
        rest = rest + 1 if largest(step[2]) <= _REST else 0
        q, v, gaps, forces, acceleration = step[1], step[2], step[3], step[5], step[7]
        energies, carried = step[6], step[10]
        used, chosen = last, step[13]
        worst, taken = max(worst, error), taken + lost
        halved += parts > 1
        if step[12] or parts > 1:
            for c in range(nc):
                if step[4][c] != mode[c]:
                    changes[count, 0], changes[count, 1] = t, c
                    changes[count, 2], changes[count, 3] = mode[c], step[4][c]
                    count += 1
            mode = step[4]
        if due - t <= ROUNDING * length:
            t = due
    end = (
        (q, v, acceleration, forces, mode, chosen, used),
        gaps,
        carried,
        (worst, taken, halved, rest, spared),
    )
    total = (energies[:, 0].sum(), energies[:, 1].sum())
    return ending, steps, t, end, total, changes[:count]


@kernel(nogil=True)
def _one_step(tree, geometry, start, applied, h, known):
    """One step; ``start``: that of a step up to the points, the excess of energy.

    ``known``: whether the points are chosen already.
    """
    tree, geometry = lent(tree), lent(geometry)
    q, v, acceleration, forces, mode, chosen, carried = start
    if not known:
        chosen = choose_at(tree, geometry[5], chosen, q, v, h)
    energies, memory = model_energies(tree, q, v), step_memory(tree, v.shape[0])
    state = (q, v, acceleration, forces, mode, chosen, energies, carried)
    return chosen, model_step(tree, geometry, memory, state, applied, h)


@contextmanager
def _signals_as_they_are() -> Iterator[None]:
    """Raise what a signal raised while a kernel ran (Ctrl-C), not numba's fault."""
    try:
        yield
    except SystemError as error:
        cause: BaseException = error
        while isinstance(cause, SystemError) and cause.__cause__ is not None:
            cause = cause.__cause__
        raise cause from None


class ModelSteps:
    """Makes the steps of a model.

    Attributes:
        roots: how many robots and free bodies there are.
    """

    def __init__(
        self, system: ModelSystem, tree: TreeTable, bounded: np.ndarray
    ) -> None:
        table = system.contacts
        moving, _, _, joints = system.contact_arrays
        self._pairs = system.pairs
        self._last: tuple[Any, ...] = (None, None, None, 0.0)
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._tree = tuple(tree)
        self.roots = int(tree.root.max()) + 1
        self._geometry = tuple(
            StepGeometry(
                moving=moving,
                links=np.array(joints, dtype=np.int64) - 1,
                restitution=system.step_restitution,
                tangents=table.tangents,
                friction=table.friction,
                pairs=system.pairs.arrays,
                dissipation=(
                    system.dissipation.damping,
                    tuple(system.dry_groups),
                    bounded,
                ),
            )
        )

    @classmethod
    def of(cls, system: System, bounded: np.ndarray | None = None) -> ModelSteps | None:
        """For a model whose joints have one axis each; None for other systems.

        Contacts of the model may have no rolling or torsional friction. Forces of
        bounded size in the last step are written to ``bounded``, first those of all
        velocities (at least nv,) [N m].
        """
        if not isinstance(system, ModelSystem) or system.turning_friction:
            return None
        tree = system.tree
        if bounded is None:
            bounded = np.zeros(system.nv)
        return None if tree is None else cls(system, tree, bounded)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic, potential = model_energies(self._tree, q, v).sum(axis=0)
        return float(kinetic), float(potential)

    def step(
        self,
        start: tuple[np.ndarray, ...],
        applied: np.ndarray,
        h: float,
        carried: np.ndarray,
    ) -> tuple[Any, ...]:
        """The result of :func:`model_step`; its arguments, as plain tuples."""
        last, chosen = self._last, self._pairs.chosen
        goes_on = last[0] is start[0] and last[1] is start[1] and last[2] is chosen
        # The step before has chosen points already.
        known = goes_on and h <= last[3]
        every = (*start, chosen, carried)
        with _signals_as_they_are():
            chosen, result = _one_step(
                self._tree, self._geometry, every, applied, h, known
            )
        self._pairs.take_chosen(result[13], chosen)
        self._last = (result[1], result[2], result[13], h)
        kinetic, potential = result[6].sum(axis=0)
        energies = (float(kinetic), float(potential))
        return (*result[:6], energies, *result[7:13])

    def series(
        self, drives: DriveTable, start: tuple[Any, ...], clock: tuple[float, ...]
    ) -> tuple[Any, ...]:
        """The result of :func:`model_series`; its arguments, as plain tuples."""
        start = ((*start[0], self._pairs.chosen, self._pairs.used), *start[1:])
        with _signals_as_they_are():
            ending, steps, t, end, energies, changes = model_series(
                self._tree, self._geometry, tuple(drives), start, clock
            )
        self._pairs.take_chosen(*end[0][5:])
        return ending, steps, t, (end[0][:5], *end[1:]), energies, changes
