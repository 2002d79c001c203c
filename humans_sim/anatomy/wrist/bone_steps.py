# SPDX-License-Identifier: Apache-2.0
r"""Steps of a wrist in the project's own contact problem.

Bones are rigid; balls of two bones that come near are rows of the contact problem with
Coulomb friction (:mod:`humans_sim.contact.problem.contact_problem`), with

.. math:: 0 \le g / h + u_n \perp f_n \ge 0

of the gap g at the beginning of the step. The gap along the old normal is never above
the true gap of two balls, so that they do not overlap at the end. Ligaments act
with their forces at the end of the step, found by Newton's method with contacts in each
of its steps: nothing grows, however stiff they are.

Of the thousands of pairs of balls that are near, few carry force: rows are taken in as
the motion found violates them, until none does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.wrist.near_pairs import BallCentres, ContactRows, NearPairs
from humans_sim.anatomy.wrist.step_equations import BonePlaces, StepMatrix
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.bodies.loads import Moving
from humans_sim.bodies.rigid_bodies import BodyState
from humans_sim.core.rotations import turn

_NEWTON = 20
_CLOSE = 1e-7
"""Change of a bone's place between Newton's steps that ends them [m]."""
_REACH = 0.02
"""Arm at which rotations are judged [m]."""
_SHARES = (0.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03)
"""Of a Newton step, tried in turn; the first is where it begins."""
_ROUNDING = 1e-12
"""Of energies in the search [J, 1]."""
_MARGIN = 1e-4
"""Gap up to which pairs are looked at, at least [m]."""
_DEPTH = 5e-7
"""Overlap with which a step is made again, with more pairs [m]."""


@dataclass(frozen=True)
class StepNumbers:
    """Numbers of the steps.

    Attributes:
        friction: Coulomb's coefficient of cartilage on cartilage.
        viscosity: losses of free bones, over their momenta [1/s].
    """

    friction: float = 0.02
    viscosity: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            AnatomyError: a number is negative or not finite.
        """
        for name in ("friction", "viscosity"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise AnatomyError(f"{name} must not be negative, not {value}")


@dataclass
class StepRecord:
    """What a step found.

    Attributes:
        contacts: pairs of balls near each other at its beginning.
        rows: numbers of those that were rows (k,).
        forces: normal and tangents of the rows, means over the step (k, 3) [N].
        tensions: of the ligaments at its end (l,) [N].
        residual: of the contact problem, relative.
        newton: steps of Newton's method.
        settled: whether these came to an end.
        depth: greatest overlap of balls at its end [m].
    """

    contacts: Contacts
    rows: np.ndarray
    forces: np.ndarray
    tensions: np.ndarray
    residual: float
    newton: int
    settled: bool
    depth: float = field(default=0.0)


class BoneSteps:
    """Takes a wrist through steps of any length.

    Args:
        wrist: its bones and ligaments.
        numbers: friction and viscosity.

    Attributes:
        state: of all bones; steps change it.
        record: of the last step; None before the first.
    """

    def __init__(self, wrist: Wrist, numbers: StepNumbers | None = None) -> None:
        """Begin at rest."""
        self.wrist = wrist
        self.numbers = StepNumbers() if numbers is None else numbers
        self.bodies, self.state = wrist.bodies(), wrist.rest()
        self.record: StepRecord | None = None
        self._detector = wrist.detector()
        self._balls = BallCentres(wrist)
        self._free = np.flatnonzero([role == "free" for role in wrist.roles])
        self._columns = np.full(len(wrist.bones), -1)
        self._columns[self._free] = 6 * np.arange(len(self._free))
        self._v = np.zeros(6 * len(self._free))
        self._active: set[tuple[int, ...]] = set()
        self._approach = 0.0

    def step(self, h: float, ends: BonePlaces) -> StepRecord:
        """One step.

        Args:
            h: its length [s].
            ends: where driven bones are at its end; others are not looked at.

        Raises:
            AnatomyError: the step is not positive.
            ContactProblemError: no contact forces were found.
        """
        if not h > 0:
            raise AnatomyError(f"a step must be positive, not {h} s")
        margin = max(_MARGIN, 1.5 * self._approach)
        while True:
            record, new = self._tried(h, ends, margin)
            depth = self._detector.detect(self.wrist.poses(new.x, new.R)).depth
            record.depth = float(depth.max()) if len(depth) else 0.0
            if record.depth <= _DEPTH or margin > 2e-3:
                break
            margin *= 4
        self.state, self.record = new, record
        return record

    def moving(self) -> Moving:
        """All bones and their velocities; driven ones with none."""
        v = np.zeros((len(self._columns), 2, 3))
        v[self._free] = self._v.reshape(-1, 2, 3)
        return Moving(self.state.x, self.state.R, v[:, 0], v[:, 1])

    def _tried(
        self, h: float, ends: BonePlaces, margin: float
    ) -> tuple[StepRecord, BodyState]:
        state, f = self.state, self._free
        near = self._detector.detect(self.wrist.poses(state.x, state.R), margin=margin)
        start = BonePlaces(state.x, state.R)
        pairs = NearPairs(near, self._balls, start, self._columns)
        inertias = np.einsum(
            "nij,njk,nlk->nil", state.R, self.bodies.inertias, state.R
        )[f]
        mass = np.zeros((6 * len(f), 6 * len(f)))
        for k, bone in enumerate(f):
            at = 6 * k
            mass[at : at + 3, at : at + 3] = self.bodies.masses[bone] * np.eye(3)
            mass[at + 3 : at + 6, at + 3 : at + 6] = inertias[k]
        momenta = np.hstack([state.P[f], state.L[f]]).ravel()
        matrix = StepMatrix(
            (1 + h * self.numbers.viscosity) * mass,
            momenta,
            self.wrist.ligaments,
            self._columns,
            h,
        )
        v, settled, count = self._v, False, 0
        active = pairs.numbers_of(self._active)
        while not settled and count < _NEWTON:
            trial = self._moved(v, h, ends)
            factor, right = matrix.about(trial, v)
            rows = ContactRows(pairs, factor, trial, v, h)
            new, forces, residual = rows.solve(right, active, self.numbers.friction)
            active = rows.active
            shift = h * np.abs(new - v).reshape(-1, 2, 3)
            shift[:, 1] *= _REACH
            settled = bool(shift.max() < _CLOSE)
            if not settled:
                new = self._searched(matrix, (v, new), rows.impulse, (h, ends))
            v, count = new, count + 1
        self._v = v
        pressed = forces[:, 0] > 0
        self._active = {pairs.key(row) for row in active[pressed]}
        moved = self._moved(v, h, ends)
        closed = pairs.gaps - pairs.end_gaps(moved)
        self._approach = float(closed.max(initial=0.0))
        impulse = (mass @ v).reshape(-1, 6)
        new_state = state.copy()
        new_state.x, new_state.R = moved.x, moved.frames
        new_state.P[f], new_state.L[f] = impulse[:, :3], impulse[:, 3:]
        record = StepRecord(
            near, active, forces / h, matrix.tensions, residual, count, settled
        )
        return record, new_state

    def _searched(
        self,
        matrix: StepMatrix,
        velocities: tuple[np.ndarray, np.ndarray],
        impulse: np.ndarray,
        step: tuple[float, BonePlaces],
    ) -> np.ndarray:
        """The end of a Newton step, shortened until it lowers the Lagrangian.

        With the contacts' new impulses held, that is the energy less their work: the
        step leads down from any trial, also from one that contacts do not allow.
        """
        v, new = velocities
        least = np.inf
        for share in _SHARES:
            trial = v + share * (new - v)
            value = matrix.energy(self._moved(trial, *step), trial) - impulse @ trial
            if share == 0.0:
                least = value + _ROUNDING * (1 + abs(value))
            elif value <= least:
                break
        return np.asarray(trial)

    def _moved(self, v: np.ndarray, h: float, ends: BonePlaces) -> BonePlaces:
        """All bones at the end of the step."""
        rates = v.reshape(-1, 6)
        x, frames = ends.x.copy(), ends.frames.copy()
        f = self._free
        x[f] = self.state.x[f] + h * rates[:, :3]
        start = np.ascontiguousarray(self.state.R[f])
        theta = np.ascontiguousarray(h * rates[:, 3:])
        frames[f] = turn(theta, start, np.empty_like(start))
        return BonePlaces(x, frames)
