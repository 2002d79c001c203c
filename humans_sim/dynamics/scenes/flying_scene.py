# SPDX-License-Identifier: Apache-2.0
"""Scenes whose bodies fly by an integrator of :mod:`humans_sim.bodies`.

Time steps are of the order of their length where something touches, and of the second
order where nothing does. A body that touches nothing in a step, and comes to nothing,
is a free body: it is taken through the step by ``rk4`` or the Lie-group method, of
fourth order, with the loads at each of their stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.bodies.motion import STEPS
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.contact.geometry.convex_pairs import SLOTS
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.system import State

_INSIDE = 1e-9
"""Depth from which on a flight has met something [m]."""


class Flight(NamedTuple):
    """The end of a step, with the bodies that fly where their integrator takes them.

    Attributes:
        gaps: of all contacts [m, rad].
        flying: velocities of the bodies that fly (nv,).
        velocity: of these alone, zero elsewhere (nv,).
        kinetic: their kinetic energy [J].
        gained: their energy at the end less that at the beginning [J].
    """

    q: np.ndarray
    v: np.ndarray
    gaps: np.ndarray
    flying: np.ndarray
    velocity: np.ndarray
    kinetic: float
    gained: float


class FlyingScene(SceneSystem):
    """A scene in which bodies that touch nothing fly by an integrator of their own.

    Args:
        flight: name of the integrator, of :data:`humans_sim.bodies.motion.STEPS`.
    """

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        ground: Ground | None = None,
        *,
        flight: str = "lie",
        **options: Any,
    ) -> None:
        super().__init__(bodies, ground, **options)
        if self.others:
            raise ParameterError("bodies fly by themselves in scenes of one robot")
        if flight not in STEPS:
            raise ParameterError(
                f"flight is one of {', '.join(STEPS)}, not '{flight[:40]}'"
            )
        self.flight = flight
        self._free: dict[tuple[int, ...], RigidBodies] = {}

    def record(self) -> dict[str, Any]:
        """The record of the scene in a run."""
        return {**super().record(), "flight": self.flight}

    def fly(
        self,
        state: State,
        loads: AppliedLoads,
        end: tuple[np.ndarray, np.ndarray],
        h: float,
        which: np.ndarray,
    ) -> Flight | None:
        """Take the bodies that fly through a step; None: nothing, or into something."""
        first, pairs = len(self.contacts) - len(self.pairs), self.pairs.pairs
        near = {(c - first) // SLOTS for c in which.tolist() if c >= first}
        touched = {m.joint for p in near for m in pairs[p][:2]}
        free = tuple(
            k for k in range(len(self.bodies)) if self.first_body + k not in touched
        )
        if not free:
            return None
        bodies = self._free.get(free)
        if bodies is None:
            chosen = [self.bodies[k].properties for k in free]
            bodies = self._free[free] = RigidBodies(chosen)
        start = (state.q, state.v)
        places = state.q[self.robot_nq :].reshape(-1, 7)[list(free)]
        speeds = state.v[self.robot_nv :].reshape(-1, 6)[list(free)]
        turns = np.array([pin.Quaternion(row[3:7]).matrix() for row in places])
        spins = np.einsum("nij,njk,nk->ni", turns, bodies.inertias, speeds[:, 3:])
        momenta = bodies.masses[:, None] * speeds[:, :3]
        before = BodyState(places[:, :3].copy(), turns, momenta, spins)

        def forces(t: float, now: BodyState) -> tuple[np.ndarray, np.ndarray]:
            q, v = _between(start, end, (t - state.t) / h, self._quaternions())
            self._put(bodies, free, now, q, v)
            every = loads.at(t, q, v, state.z).applied
            applied = every[self.robot_nv :].reshape(-1, 6)[list(free)]
            weight = bodies.masses[:, None] * self.gravity
            return applied[:, :3] + weight, np.einsum(
                "nij,nj->ni", now.R, applied[:, 3:]
            )

        after = STEPS[self.flight](bodies, before, forces, state.t, h)
        q, v = end[0].copy(), end[1].copy()
        self._put(bodies, free, after, q, v)
        gaps = self.gaps(q)
        if gaps.min(initial=0.0) < -_INSIDE:
            return None
        flying = np.zeros(self.nv, dtype=bool)
        for k in free:
            flying[self.robot_nv + 6 * k : self.robot_nv + 6 * k + 6] = True
        kinetic = float(bodies.kinetic_energy(after).sum())
        raised = bodies.masses @ ((before.x - after.x) @ self.gravity)
        gained = kinetic - float(bodies.kinetic_energy(before).sum()) + float(raised)
        return Flight(q, v, gaps, flying, np.where(flying, v, 0.0), kinetic, gained)

    def _put(
        self,
        bodies: RigidBodies,
        free: tuple[int, ...],
        state: BodyState,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Write bodies into a configuration and a velocity."""
        spins = bodies.spins(state)
        for row, k in enumerate(free):
            place = q[self.robot_nq + 7 * k : self.robot_nq + 7 * k + 7]
            speed = v[self.robot_nv + 6 * k : self.robot_nv + 6 * k + 6]
            place[:3] = state.x[row]
            place[3:] = pin.Quaternion(state.R[row]).normalized().coeffs()
            speed[:3] = state.P[row] / bodies.masses[row]
            speed[3:] = state.R[row].T @ spins[row]


def _between(
    start: tuple[np.ndarray, np.ndarray],
    end: tuple[np.ndarray, np.ndarray],
    share: float,
    quaternions: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Configuration and velocity inside a step, along a straight line."""
    q = start[0] + share * (end[0] - start[0])
    for first in quaternions:
        part = slice(first, first + 4)
        near = 1.0 if start[0][part] @ end[0][part] >= 0.0 else -1.0
        mixed = (1.0 - share) * start[0][part] + share * near * end[0][part]
        q[part] = mixed / np.linalg.norm(mixed)
    return q, start[1] + share * (end[1] - start[1])
