# SPDX-License-Identifier: Apache-2.0
r"""Free rigid bodies, many at once: their state and what changes it.

The state is :math:`X = (x, R, P, L)`: places of the centres of mass, rotations, linear
and angular momenta, all in the world's frame. With forces F at the centres and torques
:math:`\tau` about them

.. math::
    \dot x = P / m, \quad \dot R = \omega^* R, \quad \dot P = F, \quad \dot L = \tau,
    \quad \omega = R\, I^{-1} R^T L .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.bodies.mass_properties import BodyError, MassProperties
from humans_sim.core.arrays import finite_array
from humans_sim.core.rotations import spin

_ROUND = 1e-6
"""Error of a matrix that is still taken for a rotation."""


@dataclass
class BodyState:
    """Where bodies are and how they move.

    Attributes:
        x: centres of mass (n, 3) [m].
        R: rotations, from the bodies' frames to the world's (n, 3, 3).
        P: momenta (n, 3) [kg m/s].
        L: angular momenta about the centres (n, 3) [kg m^2/s].
    """

    x: np.ndarray
    R: np.ndarray
    P: np.ndarray
    L: np.ndarray

    def copy(self) -> BodyState:
        """The same state in memory of its own."""
        return BodyState(self.x.copy(), self.R.copy(), self.P.copy(), self.L.copy())


class RigidBodies:
    """The bodies of a scene.

    Attributes:
        masses: (n,) [kg].
        centers: of mass, in the bodies' frames (n, 3) [m].
        inertias: about the centres, in the bodies' frames (n, 3, 3) [kg m^2].
        inverses: of the inertias.
    """

    def __init__(self, properties: Sequence[MassProperties]) -> None:
        """Stack bodies of these mass properties, at least one."""
        if not properties:
            raise BodyError("a scene needs a body")
        self.masses = np.array([body.mass for body in properties])
        self.centers = np.array([body.center for body in properties])
        self.inertias = np.array([body.inertia for body in properties])
        self.inverses = np.linalg.inv(self.inertias)

    def __len__(self) -> int:
        return len(self.masses)

    def state(
        self,
        positions: np.ndarray,
        rotations: np.ndarray | None = None,
        velocities: np.ndarray | None = None,
        spins: np.ndarray | None = None,
    ) -> BodyState:
        """A state from what is usually known.

        Args:
            positions: of the centres of mass (n, 3) [m].
            rotations: (n, 3, 3); none unless given.
            velocities: of the centres (n, 3) [m/s]; at rest unless given.
            spins: angular velocities in the world's frame (n, 3) [rad/s].

        Raises:
            BodyError: an array has a wrong shape, or a matrix is no rotation.
        """
        n = len(self)
        places = _rows(positions, (n, 3), "positions")
        frames = np.broadcast_to(np.eye(3), (n, 3, 3))
        frames = _rows(
            frames if rotations is None else rotations, (n, 3, 3), "rotations"
        )
        error = np.abs(np.swapaxes(frames, 1, 2) @ frames - np.eye(3)).max(axis=(1, 2))
        wrong = (error > _ROUND) | (np.linalg.det(frames) < 0)
        if np.any(wrong):
            bad = int(np.flatnonzero(wrong)[0])
            raise BodyError(f"the matrix of body {bad} is no rotation")
        zero = np.zeros((n, 3))
        v = _rows(zero if velocities is None else velocities, (n, 3), "velocities")
        w = _rows(zero if spins is None else spins, (n, 3), "spins")
        angular = np.einsum("nij,njk,nlk,nl->ni", frames, self.inertias, frames, w)
        return BodyState(places, frames, self.masses[:, None] * v, angular)

    def velocities(self, state: BodyState) -> np.ndarray:
        """Of the centres of mass (n, 3) [m/s]."""
        return state.P / self.masses[:, None]

    def spins(self, state: BodyState) -> np.ndarray:
        """Angular velocities in the world's frame (n, 3) [rad/s]."""
        return spin(state.R, state.L, self.inverses, np.empty_like(state.L))

    def points(self, state: BodyState, body: int, local: np.ndarray) -> np.ndarray:
        """Where points of a body are: R r + x, r from its centre of mass (k, 3) [m]."""
        return local @ state.R[body].T + state.x[body]

    def kinetic_energy(self, state: BodyState) -> np.ndarray:
        """Of each body (n,) [J]."""
        linear = np.einsum("ni,ni->n", state.P, state.P) / (2 * self.masses)
        return linear + np.einsum("ni,ni->n", state.L, self.spins(state)) / 2

    def momentum(self, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
        """Of all bodies together, linear and about the origin (3,) each."""
        about = state.L + np.cross(state.x, state.P)
        return state.P.sum(axis=0), about.sum(axis=0)

    def accelerations(
        self, state: BodyState, force: np.ndarray, torque: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the centres, and angular ones, in the world's frame (n, 3) each."""
        w = self.spins(state)
        free = torque - np.cross(w, state.L)
        angular = spin(state.R, free, self.inverses, np.empty_like(free))
        return force / self.masses[:, None], angular


def _rows(values: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    return finite_array(values, shape, what, BodyError).copy()
