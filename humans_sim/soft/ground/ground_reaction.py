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

in the normal rows. Along the ground a point hangs on a much stiffer spring of
:math:`k_t`, whose force is kept inside Coulomb's cone and which is let out where it
slides,

.. math::
   f_{t,1} = \operatorname{proj}_{|\cdot| \le \mu f}
   \bigl(f_{t,0} - T k_t u_{t,1}\bigr)

so feet stick without creeping, and the forces of many points are single-valued. All are
taken at the end of the sample, so forces are bounded for any stiffness and any light
foot; their work on the body, :math:`\tfrac T2 f (u_0 + u_1)`, and on the pins,
:math:`-\tfrac T2 f (w_0 + w_1)`, is never more than the energy that they lose, and it
is just what both sides gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.contact.problem.modes import SLIDE, STICK
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.results.sample import Sample
from humans_sim.soft.ground.ground_kernels import PinGrid, depths
from humans_sim.soft.ground.press_kernels import SHEAR, press
from humans_sim.soft.ground.sample_kernels import (
    BESIDE,
    ELSEWHERE,
    GroundBody,
    SampleGround,
    ground_sample,
)
from humans_sim.soft.screens.screen_kernels import step_rows

if TYPE_CHECKING:
    from humans_sim.soft.ground.deformable_ground import DeformableGround

_NEAR = 0.005
"""Height over the highest pin from which on a point may touch in a sample [m]."""
ACCEPTED = 1e-6
"""By how much points may miss the law of a contact problem that counts as solved
[m/s]."""
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
    """

    def __init__(self, ground: DeformableGround, system: ModelSystem) -> None:
        """No force yet."""
        self._ground, self._system = ground, system
        solids, points = system.ground.solids, system.points
        own = next(k for k, solid in enumerate(solids) if solid.name == ground.name)
        self._rows = np.arange(len(system.contact_points)) * len(solids) + own
        friction = system.contacts.friction[self._rows]
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
        moving, _, _, joints = system.contact_arrays
        damping = system.dissipation.damping
        self._body = tuple(
            GroundBody(
                link=(np.array(joints, dtype=np.int64) - 1)[points.row],
                local=np.array(points.local, dtype=float),
                radius=np.array(system.radii, dtype=float),
                support=np.array(moving[2]),
                damping=np.array(damping, dtype=float) * np.ones(system.nv),
                friction=friction,
            )
        )
        self._numbers = tuple(
            SampleGround(
                self._grid,
                float(ground.origin[2]),
                _NEAR,
                ACCEPTED,
                tuple(ground.screen.stencil),
            )
        )
        self._tree = None if system.tree is None else tuple(system.tree)
        self._friction = friction
        self.due = 0.0
        self.start(0.0)

    def start(self, t: float) -> None:
        """Begin at a time [s], the ground at rest."""
        self._ground.reset()
        count = len(self._rows)
        self.held = np.zeros(self._system.nv)
        self.forces = self._ended = np.zeros((count, 3))
        self._start = self._sampled = self.due = t
        self._count = 0
        self._moved = np.array([self._ground.screen.shape[0] + 2, -1])

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample.

        Args:
            t: its time [s].
            q: configuration then.
            v: velocity then.
            applied: all that acts but this (nv,) [N m, N].

        Raises:
            SoftError: a point is beside the ground.
        """
        self._ended = self.forces
        pins = (*self._ground.screen.turn_buffers(), self._moved)
        if self._tree is None:
            result = self._general_sample(pins, q, v, applied)
        else:
            motion = (q, v, applied)
            status, *result = ground_sample(
                self._tree, self._body, self._numbers, pins, motion, self._ended
            )
            if status == BESIDE:
                self._ground.check_on(result[-1][None])
            if status == ELSEWHERE:  # beyond the reach of a rotor: it says so
                self._system.terms(q, v, self._rows)
        self.forces, self.held, residual = result[:3]
        ground = self._ground
        ground.worst_residual = max(ground.worst_residual, float(residual))
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

    def _general_sample(
        self,
        pins: tuple[np.ndarray, ...],
        q: np.ndarray,
        v: np.ndarray,
        applied: np.ndarray,
    ) -> tuple[Any, ...]:
        """The same through the functions of the system: joints of several axes."""
        ground, system = self._ground, self._system
        after, now, before, moved = pins
        top = step_rows(now, before, after, self._numbers[4], moved)
        forces = np.zeros_like(self.forces)
        heights = self._heights(q)
        near = np.flatnonzero(heights < top + _NEAR)
        if not len(near):
            return forces, np.zeros(system.nv), 0.0
        places = self._places()[near]
        ground.check_on(places)
        terms = system.terms(q, v, self._rows[near])
        mass = terms.mass + ground.period * np.diag(self._body[4])
        own, held, residual, (low, high) = press(
            self._grid,
            (after, now, before),
            (places, heights[near]),
            (mass, applied - terms.bias, v, terms.jacobian),
            (self._friction[near], self._ended[near]),
            ACCEPTED,
        )
        moved[:] = min(moved[0], low), max(moved[1], high)
        forces[near] = own
        return forces, held, residual

    def complete(self, sample: Sample) -> Sample:
        """A sample with these contacts: gaps to the deformed ground, its energy.

        At the time of a ground's sample the forces are those that led there, as with
        contacts of the time-stepping method.
        """
        ground, screen, rows = self._ground, self._ground.screen, self._rows
        pins = screen.bordered()
        heights = self._heights(sample.q)
        places = self._places()
        ground.history.note(sample.t, pins[1][1:-1, 1:-1])
        share = min(1.0, max(0.0, (sample.t - self._sampled) / ground.period))
        deep = depths(pins, self._grid, screen.shape, places, heights, share)
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
            potential=sample.potential + self._energy(deep, share),
        )

    def _energy(self, deep: np.ndarray, share: float) -> float:
        """Energy in pins and contacts [J].

        Args:
            deep: all points below the ground (n,) [m].
            share: of a sample that has passed since the last one.
        """
        pressed = np.maximum(deep, 0.0)
        screen, stiffness = self._ground.screen, self._ground.contact.stiffness
        stored = 0.5 * stiffness * float(pressed @ pressed)
        for part, forces, ago in (
            (1.0 - share, self._ended, 1),
            (share, self.forces, 0),
        ):
            if part > 0.0:
                along = forces[:, 1:]
                bent = 0.5 * float(np.vdot(along, along)) / (SHEAR * stiffness)
                stored += part * (bent + screen.energy(ago))
        return stored
