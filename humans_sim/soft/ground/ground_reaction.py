# SPDX-License-Identifier: Apache-2.0
r"""What a deformable ground does to a biped that stands on it.

At every sample of the ground (period T) the forces f of all points near it are found
together, as those of one contact problem, and held until the next sample. Pins have
positions at samples and velocities w between them; a point touches them where they are
half a sample before. With the normal velocity u of a point, its depth p, and the
impulses P = T f,

.. math::
   u_1 = u_f + W P, \qquad
   w_1 = w_f - \tfrac{1}{m} S P, \qquad
   p_1 = p_0 + \tfrac T2 (w_0 + w_1 - u_0 - u_1), \qquad
   f = \max\bigl(0,\; k p_1 + z (p_1 - p_0^+) / T\bigr)

W is the Delassus matrix of the body, m the mass of a pin, S has the products of what
two points press on; index f is the motion without these forces. That is
complementarity with

.. math:: W' = W + \tfrac{1}{m} S + \tfrac{2}{T (T k + z)} I

in the normal rows; friction is Coulomb's between the end velocities, as on rigid
ground, so feet stick without creeping. Springs are taken at the end of the sample, so
forces are bounded for any stiffness and any light foot; their work on the body,
:math:`\tfrac T2 f (u_0 + u_1)`, and on the pins, :math:`-\tfrac T2 f (w_0 + w_1)`, is
never more than the energy that they lose, and it is just what both sides gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.contact.problem.modes import SLIDE, STICK
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.results.sample import Sample
from humans_sim.soft.ground.ground_kernels import PinGrid, press

if TYPE_CHECKING:
    from humans_sim.soft.ground.deformable_ground import DeformableGround

_NEAR = 0.005
"""Height over the highest pin from which on a point may touch in a sample [m]."""
ACCEPTED = 1e-6
"""Residual of a contact problem that counts as solved, relative: 1 um/s at most."""
_CONE = 1.0 - 1e-6
"""Share of the friction cone from which on a point slides."""


class GroundReaction:
    """The forces of a ground on a biped, from sample to sample.

    Args:
        ground: its pins are put to rest.
        system: the biped in the ground's scene.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
        forces: on all points until the next sample: normal and tangents (n, 3) [N].
        worst_residual: of all contact problems so far, relative.
    """

    def __init__(self, ground: DeformableGround, system: ModelSystem) -> None:
        """No force yet."""
        self._ground, self._system = ground, system
        solids = system.ground.solids
        own = next(k for k, solid in enumerate(solids) if solid.name == ground.name)
        count = len(system.contact_points)
        self._rows = np.arange(count) * len(solids) + own
        self._friction = system.contacts.friction[self._rows]
        self._grid = tuple(
            PinGrid(
                float(ground.origin[0]),
                float(ground.origin[1]),
                ground.screen.spacing,
                ground.patch / ground.screen.spacing,
                ground.period,
                ground.screen.law.mass,
                ground.contact.stiffness,
                ground.contact.viscosity,
            )
        )
        self.worst_residual = 0.0
        self.held = np.zeros(system.nv)
        self.forces = self._ended = np.zeros((count, 3))
        self._start = self._sampled = self.due = 0.0
        self._count = 0

    def start(self, t: float) -> None:
        """Begin at a time [s], the ground at rest."""
        self._ground.reset()
        self.held = np.zeros(self._system.nv)
        self.forces = self._ended = np.zeros_like(self.forces)
        self._start = self._sampled = self.due = t
        self._count = 0

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample.

        Args:
            t: its time [s].
            q: configuration then.
            v: velocity then.
            applied: all that acts but this (nv,) [N m, N].
        """
        screen = self._ground.screen
        heights = self._heights(q)
        top = screen.highest()
        near = np.flatnonzero(heights < top + _NEAR)
        self._ended, self.forces = self.forces, np.zeros_like(self.forces)
        self.held = np.zeros(self._system.nv)
        screen.step()
        if len(near):
            self._press(near, heights[near], q, v, applied)
        self._count += 1
        self._sampled, self.due = t, self._start + self._count * self._ground.period

    def _heights(self, q: np.ndarray) -> np.ndarray:
        """Of all points over the ground at rest (n,) [m]."""
        gaps = self._system.gaps(q)[self._rows]
        height: np.ndarray = gaps - self._ground.thickness
        return height

    def _places(self) -> np.ndarray:
        """Of all points in the world, where heights were asked for last (n, 3) [m]."""
        points, poses = self._system.points, self._system.contact_arrays[1]
        pose = poses[points.row]
        place: np.ndarray = np.einsum("nij,nj->ni", pose[:, :, :3], points.local)
        return place + pose[:, :, 3]

    def _press(
        self,
        near: np.ndarray,
        heights: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        applied: np.ndarray,
    ) -> None:
        """Forces of the points near the ground, on them and on the pins."""
        ground, system = self._ground, self._system
        places = self._places()[near]
        ground.check_on(places)
        terms = system.terms(q, v, self._rows[near])
        mass = terms.mass
        if system.damped:
            mass = mass + ground.period * np.diag(system.dissipation.damping)
        forces, self.held, residual = press(
            self._grid,
            ground.screen.bordered(),
            (places, heights),
            (mass, applied - terms.bias, v, terms.jacobian),
            (self._friction[near], self._ended[near]),
            ACCEPTED,
        )
        self.worst_residual = max(self.worst_residual, float(residual))
        self.forces[near] = forces

    def complete(self, sample: Sample) -> Sample:
        """A sample with these contacts: gaps to the deformed ground, its energy.

        At the time of a ground's sample the forces are those that led there, as with
        contacts of the time-stepping method.
        """
        ground, screen, rows = self._ground, self._ground.screen, self._rows
        heights = self._heights(sample.q)
        places = self._places()
        share = min(1.0, max(0.0, (sample.t - self._sampled) / ground.period))
        deep = -heights
        on = np.flatnonzero(~ground.is_beside(places))
        if len(on):
            pins, weights = ground.patches(places[on])
            now, later = screen.middle(1).ravel()[pins], screen.middle().ravel()[pins]
            deep[on] += (weights * (now + share * (later - now))).sum(axis=1)
        forces, mode = sample.forces.copy(), sample.contacts.copy()
        gaps, own = sample.gaps.copy(), self.forces if share else self._ended
        forces[rows] += own
        along = np.hypot(own[:, 1], own[:, 2])
        slides = along >= _CONE * self._friction * own[:, 0]
        touch = own[:, 0] > 0.0
        mode[rows] = np.where(touch, np.where(slides, SLIDE, STICK), mode[rows])
        gaps[rows] = -deep
        return sample._replace(
            contacts=mode,
            forces=forces,
            gaps=gaps,
            potential=sample.potential + self.energy(deep, share),
        )

    def energy(self, depths: np.ndarray, share: float = 0.0) -> float:
        """Energy in pins and contacts [J].

        Args:
            depths: of all points below the ground (n,) [m].
            share: of a sample that has passed since the last one.
        """
        pressed = np.maximum(depths, 0.0)
        stored = 0.5 * self._ground.contact.stiffness * float(pressed @ pressed)
        first = self._ground.screen.energy(1)
        if not share:
            return stored + first
        return stored + (1.0 - share) * first + share * self._ground.screen.energy()
