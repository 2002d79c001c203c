# SPDX-License-Identifier: Apache-2.0
r"""Reaction of a deformable ground on a biped.

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

W is the Delassus matrix of the body, m the mass of a pin, S has the products of the
weights of two points; index f is the motion without these forces. That is
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

A whole sample is one compiled call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from humans_sim.contact.problem.law import SLIDE, STICK
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import lock
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_bias,
    tree_columns,
    tree_inertias,
    tree_mass,
    tree_poses,
    tree_state,
    tree_twists,
)
from humans_sim.results.records import Sample
from humans_sim.soft.ground.press_kernels import (
    SHEAR,
    PinGrid,
    depths,
    first_beside,
    press,
)
from humans_sim.soft.ground.screen_kernels import step_rows

if TYPE_CHECKING:
    from humans_sim.soft.ground.deformable_ground import DeformableGround


DONE, BESIDE, ELSEWHERE = 0, 1, 2
"""A sample was made; a point is beside the screen; it is to be made through the
functions of the system."""


class GroundBody(NamedTuple):
    """Points of a body over a ground, and the damping of its joints (nv,) [N m s].

    Of each the link (n,), the place there (n, 3) [m], the radius of a ball round it
    (n,) [m], the velocities that move it (n, nv), and its friction (n,).
    """

    link: np.ndarray
    local: np.ndarray
    radius: np.ndarray
    support: np.ndarray
    damping: np.ndarray
    friction: np.ndarray


class SampleGround(NamedTuple):
    """A ground under a body, as plain tuples: fields of a PinGrid, height at rest [m].

    Height over the highest pin from which on a point may touch [m], residual of a
    contact problem that is accepted [m/s], stencil of the pins.
    """

    grid: tuple[float, ...]
    height: float
    near: float
    accepted: float
    stencil: tuple[float, ...]


@kernel
def point_place(body, state, p, place):
    """Put the place of a point in the world, at the lower end of its ball, there."""
    link, local = body[0][p], body[1][p]
    rotations, origins = state[:2]
    rotation, origin = rotations[link], origins[link]
    for i in range(3):
        place[i] = origin[i] + (
            rotation[i, 0] * local[0]
            + rotation[i, 1] * local[1]
            + rotation[i, 2] * local[2]
        )
    place[2] -= body[2][p]


@kernel
def ground_sample(tree, body, ground, pins, motion, known):
    """Move the pins on by a sample, and find what they do to a body.

    Args:
        tree: fields of a :class:`TreeTable`, as a plain tuple, like all others.
        body: fields of a :class:`GroundBody`.
        ground: fields of a :class:`SampleGround`.
        pins: deviations, which become those after the sample, now, and a sample
            before, with borders (n + 2, m + 2) [m]; rows that have moved, changed (2,).
        motion: configuration, velocity, and all that acts but the ground (nv,).
        known: forces of the sample before (n, 3) [N].

    Returns:
        DONE, BESIDE or ELSEWHERE; forces on all points (n, 3) [N]; generalised force
        (nv,); residual [m/s]; place of the first point beside (3,).
    """
    grid, height, near, accepted, stencil = ground
    after, now, before, moved = pins
    q, v, applied = motion
    count, nv = body[0].shape[0], v.shape[0]
    forces, held = np.zeros((count, 3)), np.zeros(nv)
    place, residual = np.zeros(3), 0.0
    top = step_rows(now, before, after, stencil, moved)
    state = tree_state(tree, nv)
    tree_poses(tree, q, state)
    which, found = np.empty(count, np.int64), 0
    for p in range(count):
        point_place(body, state, p, place)
        if place[2] - height < top + near:
            which[found] = p
            found += 1
    if found == 0:
        return DONE, forces, held, residual, place
    which = which[:found]
    places, heights = np.empty((found, 3)), np.empty(found)
    for c in range(found):
        point_place(body, state, which[c], places[c])
        heights[c] = places[c, 2] - height
    shape = (now.shape[0] - 2, now.shape[1] - 2)
    beside = first_beside(grid, shape, places)
    if beside >= 0:
        return BESIDE, forces, held, residual, places[beside]
    mass, bias = np.empty((nv, nv)).T, np.empty(nv)
    tree_columns(tree, state)
    tree_inertias(tree, state)
    tree_twists(tree, v, state)
    reach = tree_mass(tree, q, state, mass)
    if not (tree_bias(tree, q, v, state, bias) and reach):
        return ELSEWHERE, forces, held, residual, place
    rows = _rows(body[3], TreeState(*state).jacobian, which, places)
    for j in range(nv):
        mass[j, j] += grid[4] * body[4][j]
        bias[j] += body[4][j] * v[j]
    lock(TreeTable(*tree).locked, mass, bias, rows)
    own, held, residual, pressed = press(
        grid,
        (after, now, before),
        (places, heights),
        (mass, applied - bias, v, rows),
        (body[5][which], known[which]),
        accepted,
    )
    moved[0], moved[1] = min(moved[0], pressed[0]), max(moved[1], pressed[1])
    for c in range(found):
        forces[which[c]] = own[c]
    return DONE, forces, held, residual, place


@kernel
def _rows(support, jacobian, which, places):
    """Jacobians of points: upwards, along x and along y (k, 3, nv)."""
    nv = jacobian.shape[1]
    rows = np.zeros((which.shape[0], 3, nv))
    for c in range(which.shape[0]):
        x, y, z = places[c, 0], places[c, 1], places[c, 2]
        for j in range(nv):
            if not support[which[c], j]:
                continue
            w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
            rows[c, 1, j] = jacobian[0, j] + w1 * z - w2 * y
            rows[c, 2, j] = jacobian[1, j] + w2 * x - w0 * z
            rows[c, 0, j] = jacobian[2, j] + w0 * y - w1 * x
    return rows


_NEAR = 0.005
"""Height over the highest pin from which on a point may touch in a sample [m]."""
ACCEPTED = 1e-6
"""By how much points may miss the law of a contact problem that counts as solved
[m/s]."""
_CONE = 1.0 - 1e-6
"""Share of the friction cone from which on a point slides."""


class GroundReaction:
    """The forces of a ground on a biped, from sample to sample.

    Its pins are put to rest.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
        forces: on all points until the next sample: normal and tangents (n, 3) [N].
    """

    def __init__(self, ground: DeformableGround, system: ModelSystem) -> None:
        self._ground, self._system = ground, system
        solids, points = system.ground.solids, system.points
        own = next(k for k, solid in enumerate(solids) if solid.name == ground.name)
        self._rows = np.arange(len(system.contact_points)) * len(solids) + own
        friction = system.contacts.friction[self._rows]
        screen, contact = ground.screen, ground.contact
        self._grid = tuple(
            PinGrid(
                x=float(ground.origin[0]),
                y=float(ground.origin[1]),
                spacing=screen.spacing,
                patch=ground.patch / screen.spacing,
                period=ground.period,
                mass=screen.law.mass,
                stiffness=contact.stiffness,
                viscosity=contact.viscosity,
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
        height, stencil = float(ground.origin[2]), tuple(screen.stencil)
        self._numbers = tuple(
            SampleGround(self._grid, height, _NEAR, ACCEPTED, stencil)
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
        """Make a sample at a time [s] of a state, all that acts but this applied (nv,).

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
        return gaps - self._ground.thickness

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
        """Energy in pins and contacts, all points below the ground by ``deep`` [J].

        The share is of a sample that has passed since the last one.
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
