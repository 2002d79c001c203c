# SPDX-License-Identifier: Apache-2.0
r"""The right-hand side of a model between two events, and its gaps, compiled.

Modes of the contacts are fixed. Drift off the constraints is pulled back inside the
equations: the contacts obey :math:`\ddot g + 2\omega \dot g + \omega^2 g = 0` in place
of :math:`\ddot g = 0`, which is the same motion when g is zero and forgets numerical
errors in a time :math:`1/\omega`.

Poses, mass matrix and bias come from the model's table of links, contacts and their
forces from the kernels that every system uses. Kernels take plain tuples: ``model`` has
the fields of a :class:`RatesModel`; ``closed`` the indices of the closed contacts (k,),
the fields of their :class:`~humans_sim.contact.problem.law.ModeArrays`, the rate at
which drift decays [1/s], and the speed of contacts that creep [m/s]; zero: none does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from humans_sim.contact.problem.law import (
    OPEN,
    SLIDE,
    STICK,
    ModeArrays,
    constrained_acceleration,
)
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.actuation_interface import table_torques
from humans_sim.dynamics.contact_kernels import (
    contact_rows,
    lock,
    point_gap_rates,
    point_gaps,
)
from humans_sim.dynamics.event_driven.creep_kernels import creeping_acceleration
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import (
    FreeBaseChart,
    System,
    Terms,
    free_base_configuration,
    free_base_rates,
)
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_columns,
    tree_drifts,
    tree_equations,
    tree_poses,
    tree_state,
    tree_twists,
    write_motions,
    write_poses,
)

STABILISATION = 30.0
"""Rate at which drift decays [1/s]."""
SLOW = 1e-6
"""Speed below which the direction of sliding leans to the remembered one [m/s].

At the onset and at the end of sliding the velocity is zero and has no direction of its
own; without a memory its direction would turn infinitely fast there.
"""


@kernel
def acceleration_in_modes(mass, force, velocity, contacts, modes, rate):
    """Acceleration, forces, residual, contact velocities, directions, least margin.

    The direction of sliding given is that of the beginning of the step. Past the end
    of the sliding, where the velocity has turned around, the old direction stays: the
    right-hand side stays smooth there, and the event is found between.
    ``contacts`` are gaps, Jacobians and drifts of the closed ones, ``modes`` fields of
    a :class:`~humans_sim.contact.problem.law.ModeArrays`; drift decays at ``rate``
    [1/s], zero gives the forces of the bare equations.
    """
    gap, rows, drift = contacts
    mode, tangents, friction, remembered, reference, idle = modes
    k, nv = mode.shape[0], force.shape[0]
    direction = np.zeros((k, 2))
    motion = np.zeros((k, 3))
    held = drift.copy()
    for c in range(k):
        for i in range(1 + tangents[c]):
            total = 0.0
            for j in range(nv):
                total += rows[c, i, j] * velocity[j]
            motion[c, i] = total
        held[c, 0] += rate * (2.0 * motion[c, 0] + rate * gap[c])
        if mode[c] == STICK:
            for i in range(tangents[c]):
                held[c, 1 + i] += 2.0 * rate * motion[c, 1 + i]
        elif mode[c] == SLIDE and tangents[c] > 0:
            d1, d2 = motion[c, 1], motion[c, 2]
            if d1 * remembered[c, 0] + d2 * remembered[c, 1] < 0.0:
                d1, d2 = -d1, -d2
            d1, d2 = d1 + SLOW * remembered[c, 0], d2 + SLOW * remembered[c, 1]
            length = np.sqrt(d1 * d1 + d2 * d2)
            if length > 0.0:
                direction[c, 0] = d1 / length
                direction[c, 1] = d2 / length
    acceleration, forces, residual = constrained_acceleration(
        mass,
        force,
        rows,
        held,
        ModeArrays(mode, tangents, friction, direction, reference, idle),
    )
    least = np.inf
    for c in range(k):
        if mode[c] == OPEN:
            continue
        least = min(least, forces[c, 0])
        if mode[c] == STICK and tangents[c] > 0 and np.isfinite(friction[c]):
            along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
            least = min(least, friction[c] * forces[c, 0] - along)
    return acceleration, forces, residual, motion, direction, least


class RatesModel(NamedTuple):
    """A model as the kernels see it.

    Attributes:
        tree: fields of a :class:`~humans_sim.dynamics.tree_kernels.TreeTable`.
        moving: fields of a :class:`~humans_sim.dynamics.contact_kernels.MovingGeometry`
            as a plain tuple; its arrays of poses and motions are the next two.
        poses: of the links with contact points (m, 3, 4); written.
        motions: of these links (m, 2, 6); written.
        damping: of the velocities (nv,).
    """

    tree: tuple[np.ndarray, ...]
    moving: tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray, np.ndarray]
    poses: np.ndarray
    motions: np.ndarray
    links: np.ndarray
    damping: np.ndarray


@kernel
def model_terms(model, q, v, which):
    """Fields of ``Terms`` with some contacts (k,), and whether the rotors reach."""
    tree, moving, poses, motions, links, damping = model
    mass, bias, state, reach = tree_equations(tree, q, v)
    for j in range(v.shape[0]):
        bias[j] += damping[j] * v[j]
    if which.shape[0]:
        write_poses(links, state, poses)
        write_motions(links, state, TreeState(*state).twist, motions, 0)
        write_motions(links, state, tree_drifts(tree, v, state), motions, 1)
    jacobian, drift = TreeState(*state).jacobian, np.zeros((which.shape[0], 3))
    gap, rows = contact_rows(which, jacobian, moving, q, drift)
    lock(TreeTable(*tree).locked, mass, bias, rows)
    return (mass, bias, gap, rows, drift), reach


@kernel
def smooth_rates(model, closed, centre, y, applied):
    """The right-hand side between two events, at coordinates around ``centre``.

    Returns:
        rates of y, those of the actuation zero (n,); the configuration; fields of a
        :class:`~humans_sim.dynamics.system.Terms`; acceleration, forces, velocities
        and directions of the contacts; the residual, infinite where the mass matrix is
        singular, and -1 beyond the reach of the model's rotors; the least margin.
    """
    which, mode, tangents, friction, direction, reference, idle = closed[:7]
    rate, creep_speed = closed[7], closed[8]
    nv = applied.shape[0]
    x, v = y[:nv], y[nv : 2 * nv]
    q = free_base_configuration(centre, x)
    terms, reach = model_terms(model, q, v, which)
    force = applied - terms[1]
    contacts = terms[2], terms[3], terms[4]
    if creep_speed > 0.0:
        creep = mode, tangents, friction, idle, rate, creep_speed
        acceleration, forces, residual, motion, along = creeping_acceleration(
            terms[0], force, v, contacts, creep
        )
        least = np.inf
    else:
        modes = mode, tangents, friction, direction, reference, idle
        acceleration, forces, residual, motion, along, least = acceleration_in_modes(
            terms[0], force, v, contacts, modes, rate
        )
    if not reach:
        residual = -1.0
    rates = np.zeros(y.shape[0])
    rates[:nv] = free_base_rates(centre, x, v)
    rates[nv : 2 * nv] = acceleration
    return rates, q, terms, (acceleration, forces, motion, along), residual, least


@kernel
def applied_torques(model, drives, t, q, v):
    """Torques of drives (nv,); what acts along a locked velocity is left out."""
    tree, _, _, _, _, _ = model
    return table_torques(drives, TreeTable(*tree).locked, t, q, v)


@kernel
def model_gaps(model, q):
    """Gaps of all contacts; arguments as of :func:`model_terms`."""
    tree, moving, poses, _, links, _ = model
    state = tree_state(tree, TreeTable(*tree).armature.shape[0])
    tree_poses(tree, q, state)
    write_poses(links, state, poses)
    return point_gaps(moving[0], q)


@kernel
def model_gap_rates(model, q, v):
    """Gaps of all contacts and their rates; arguments as of :func:`model_terms`."""
    tree, moving, poses, motions, links, _ = model
    state = tree_state(tree, v.shape[0])
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    tree_twists(tree, v, state)
    write_poses(links, state, poses)
    write_motions(links, state, TreeState(*state).twist, motions, 0)
    return point_gap_rates(moving[0], moving[1], q, v)


class CompiledModel:
    """A model in its scene, as the kernels take it.

    Attributes:
        arrays: fields of a :class:`RatesModel`, as a plain tuple.
    """

    def __init__(self, system: ModelSystem, tree: TreeTable) -> None:
        moving, poses, motions, joints = system.contact_arrays
        self._model, self.nv, self.contacts = system.model, system.nv, system.contacts
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self.arrays = tuple(
            RatesModel(
                tree=tuple(tree),
                moving=moving,
                poses=poses,
                motions=motions,
                links=np.array(joints, dtype=np.int64) - 1,
                damping=np.array(system.dissipation.damping, dtype=float),
            )
        )

    @classmethod
    def of(cls, system: System) -> CompiledModel | None:
        """For a model whose joints have one axis each; None for other systems."""
        if not isinstance(system, ModelSystem):
            return None
        tree = system.tree
        return None if tree is None else cls(system, tree)

    def rates(
        self,
        closed: tuple[Any, ...],
        centre: np.ndarray,
        y: np.ndarray,
        applied: np.ndarray,
    ) -> tuple[Any, ...]:
        """The result of :func:`smooth_rates`; its arguments, as plain tuples."""
        result: tuple[Any, ...] = smooth_rates(self.arrays, closed, centre, y, applied)
        self._model.check_reach(result[4] != -1.0)
        return result

    def chart(self, q: np.ndarray) -> FreeBaseChart:
        """Coordinates around a configuration."""
        return FreeBaseChart(q)

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        fields, reach = model_terms(self.arrays, q, v, which)
        self._model.check_reach(reach)
        return Terms(*fields)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        return model_gaps(self.arrays, q)

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates [m, m/s; rad, rad/s]."""
        rates: tuple[np.ndarray, np.ndarray] = model_gap_rates(self.arrays, q, v)
        return rates
