# SPDX-License-Identifier: Apache-2.0
r"""Steps of a wrist in the project's own contact problem.

Bones are rigid; balls of two bones that come near are rows of the contact problem with
Coulomb friction (:mod:`humans_sim.contact.problem.contact_problem`), with

.. math:: 0 \le g_1 \perp f_n \ge 0

of the gap at the end of the step along the normal of its beginning, which is never
above the true gap. Ligaments act with their forces at the end of the step, too.
Without friction such a step makes an energy least
(:mod:`~humans_sim.anatomy.wrist.step_equations`) among motions that no contact forbids.
Newton's method finds it, with contact rows and their friction in each of its steps: a
sequence of quadratic programs. Each step is shortened until it lowers the energy, less
the work of friction, plus overlaps times a force above those of the contacts (the
exact penalty function, which is least at the solution itself).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.wrist.contact_rows import ContactRows, RowForces
from humans_sim.anatomy.wrist.near_pairs import NearPairs
from humans_sim.anatomy.wrist.step_equations import (
    BonePlaces,
    StepEnergy,
    turn_rates,
)
from humans_sim.anatomy.wrist.step_kernels import solve_with
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.bodies.loads import Moving
from humans_sim.core.rotations import turn

_NEWTON = 60
_CLOSE = 1e-8
"""Change of a bone's place between Newton's steps that ends them [m]."""
_REACH = 0.02
"""Arm at which rotations are judged [m]."""
_SURE = 1e-6
"""Change below which steps that become shorter are taken whole: of the energy there,
rounding leaves little [m]."""
_HALVINGS = 12
"""Of one of Newton's steps."""
_ARMIJO = 1e-4
"""Share of the fall that the slope promises with which a search ends."""
_ROUNDING = 1e-11
"""Of energies in the search [J, 1]."""
_MARGIN = 1e-4
"""Gap up to which pairs are looked at, at least [m]."""
_FARTHEST = 3e-4
"""Gap up to which pairs are looked at, at most [m]; overlaps beyond are found later."""
_DEPTH = 5e-7
"""Overlap with which a step is made again, with more pairs [m]."""
_JOINS = 12
"""How often that is done."""


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
        contacts: pairs of balls near each other, as they were at its beginning.
        rows: numbers of those that were rows (k,).
        forces: normal and tangents of the rows, means over the step (k, 3) [N].
        tensions: of the ligaments at its end (l,) [N].
        residual: of the contact problem, relative.
        newton: steps of Newton's method.
        settled: whether these came to an end.
        frictionless: whether no friction forces were found and rows had none.
        depth: greatest overlap of balls at its end [m].
    """

    contacts: Contacts
    rows: np.ndarray
    forces: np.ndarray
    tensions: np.ndarray
    residual: float
    newton: int
    settled: bool
    frictionless: bool = False
    depth: float = 0.0


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
        self._balls = wrist.balls()
        self._free = np.flatnonzero([role == "free" for role in wrist.roles])
        self._columns = np.full(len(wrist.bones), -1)
        self._columns[self._free] = 6 * np.arange(len(self._free))
        self._v = np.zeros(6 * len(self._free))
        self._known: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros((0, 3)))
        self._near: Contacts | None = None

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
        state = self.state
        start = BonePlaces(state.x.copy(), state.R.copy())
        near = self._near
        if near is None:
            poses = self.wrist.poses(state.x, state.R)
            near = self._detector.detect(poses, margin=_MARGIN)
        pairs = NearPairs(near, self._balls, start, self._columns)
        mass = self._mass()
        energy = StepEnergy(
            (1 + h * self.numbers.viscosity) * mass,
            np.hstack([state.P[self._free], state.L[self._free]]).ravel(),
            self.wrist.ligaments,
            self._columns,
            start,
            h,
        )
        search = StepSearch(energy, start, ends, h, self._columns)
        v, known = self._v, self._begun(pairs, h)
        for _ in range(_JOINS):
            v, known = search.run(v, pairs, known, self.numbers.friction)
            moved = search.moved(v)
            near = self._near_at(moved, pairs)
            depth = float(near.depth.max(initial=0.0))
            if depth <= _DEPTH:
                break
            pairs = pairs.joined(near)
        self._keep(v, mass, moved)
        self._near = near
        pressed = known.impulses[:, 0] > 0
        order = np.argsort(pairs.keys[known.active[pressed]])
        keys = pairs.keys[known.active[pressed]][order]
        self._known = (keys, known.impulses[pressed][order] / h)
        self.record = StepRecord(
            pairs.contacts,
            known.active,
            known.impulses / h,
            energy.tensions,
            known.residual,
            search.count,
            search.settled,
            known.frictionless,
            depth,
        )
        return self.record

    def moving(self) -> Moving:
        """All bones and their velocities; driven ones with none."""
        v = np.zeros((len(self._columns), 2, 3))
        v[self._free] = self._v.reshape(-1, 2, 3)
        return Moving(self.state.x, self.state.R, v[:, 0], v[:, 1])

    def touching(self, gap: float) -> Contacts:
        """Pairs of balls with at most a gap, less than 0.1 mm, as the bones are now."""
        state = self.state
        near = self._near
        if near is None:
            poses = self.wrist.poses(state.x, state.R)
            return self._detector.detect(poses, margin=gap)
        return near.chosen(near.depth > -gap)

    def _near_at(self, moved: BonePlaces, pairs: NearPairs) -> Contacts:
        """Pairs near each other at the end of a step, as far as they came closer."""
        closed = float((pairs.gaps - pairs.end_gaps(moved)).max(initial=0.0))
        margin = min(max(_MARGIN, 1.5 * closed), _FARTHEST)
        poses = self.wrist.poses(moved.x, moved.frames)
        return self._detector.detect(poses, margin=margin)

    def _mass(self) -> np.ndarray:
        """Mass matrix of the free bones at the beginning (6 f, 6 f)."""
        size = 6 * len(self._free)
        mass = np.zeros((size, size))
        for k, bone in enumerate(self._free):
            frame, at = self.state.R[bone], 6 * k
            mass[at : at + 3, at : at + 3] = self.bodies.masses[bone] * np.eye(3)
            own = frame @ self.bodies.inertias[bone] @ frame.T
            mass[at + 3 : at + 6, at + 3 : at + 6] = own
        return mass

    def _begun(self, pairs: NearPairs, h: float) -> RowForces:
        """Rows that pressed in the last step and are near still, with their forces."""
        keys, forces = self._known
        active = np.flatnonzero(np.isin(pairs.keys, keys))
        known = h * forces[np.searchsorted(keys, pairs.keys[active])]
        return RowForces(active, known.reshape(-1, 3))

    def _keep(self, v: np.ndarray, mass: np.ndarray, moved: BonePlaces) -> None:
        """Make the end of the step the state."""
        impulse = (mass @ v).reshape(-1, 6)
        state, f = self.state.copy(), self._free
        state.x, state.R = moved.x, moved.frames
        state.P[f], state.L[f] = impulse[:, :3], impulse[:, 3:]
        self.state, self._v = state, v


class StepSearch:
    """Newton's method on the energy of a step with contact rows.

    Args:
        energy: of the step.
        start: all bones at the beginning.
        ends: where driven bones are at the end.
        h: length of the step [s].
        columns: first column of each bone, -1 where it is not free (n,).

    Attributes:
        count: Newton's steps so far.
        settled: whether the last of them changed next to nothing.
    """

    def __init__(
        self,
        energy: StepEnergy,
        start: BonePlaces,
        ends: BonePlaces,
        h: float,
        columns: np.ndarray,
    ) -> None:
        """No step yet."""
        self._energy, self._start, self._ends, self._h = energy, start, ends, h
        self._free = np.flatnonzero(columns >= 0)
        self.count, self.settled = 0, False

    def run(
        self, v: np.ndarray, pairs: NearPairs, known: RowForces, friction: float
    ) -> tuple[np.ndarray, RowForces]:
        """Velocities of the free bones and forces of the rows, from trial ones."""
        self.settled, last = False, 0.0
        for _ in range(_NEWTON):
            trial = self.moved(v)
            rates = turn_rates(self._h * v.reshape(-1, 6)[:, 3:])
            known = known.pressed()
            turning = pairs.turning(known.active, known.impulses[:, 0] / self._h, trial)
            gradient, factor = self._energy.about(trial, v, rates, turning)
            rows = ContactRows(pairs, trial, rates, self._h, friction)
            free = v - solve_with(factor, gradient)
            new, known = rows.solve(factor, (v, free), known)
            self.count += 1
            shift = self._h * np.abs(new - v).reshape(-1, 2, 3)
            shift[:, 1] *= _REACH
            if shift.max() < _CLOSE:
                self.settled = True
                return new, known
            if shift.max() < min(_SURE, 0.5 * last):
                v = new
            else:
                v = self._searched((v, new), gradient, rows, pairs, known)
            last = shift.max()
        return v, known

    def _searched(
        self,
        velocities: tuple[np.ndarray, np.ndarray],
        gradient: np.ndarray,
        rows: ContactRows,
        pairs: NearPairs,
        known: RowForces,
    ) -> np.ndarray:
        """The end of one of Newton's steps, halved until the merit falls enough."""
        v, new = velocities
        weight = 2.0 * float(known.impulses[:, 0].max(initial=0.0)) / self._h
        pull = rows.friction_impulse

        def merit(trial: np.ndarray, places: BonePlaces) -> float:
            over = np.minimum(pairs.end_gaps(places), 0.0).sum()
            return self._energy.value(places, trial) - pull @ trial - weight * over

        before = merit(v, self.moved(v))
        slope = (gradient - pull) @ (new - v)
        slope += weight * float(np.minimum(rows.gaps, 0.0).sum())
        slope -= weight * float(np.minimum(rows.predicted, 0.0).sum())
        rounding = _ROUNDING * (1 + abs(before))
        share = 1.0
        for _ in range(_HALVINGS):
            trial = v + share * (new - v)
            value = merit(trial, self.moved(trial))
            if value <= before + _ARMIJO * share * min(slope, 0.0) + rounding:
                break
            share *= 0.5
        return np.asarray(trial)

    def moved(self, v: np.ndarray) -> BonePlaces:
        """All bones at the end of the step, by velocities of the free ones."""
        spins = v.reshape(-1, 6)
        x, frames = self._ends.x.copy(), self._ends.frames.copy()
        f, h = self._free, self._h
        x[f] = self._start.x[f] + h * spins[:, :3]
        theta = np.ascontiguousarray(h * spins[:, 3:])
        begin = np.ascontiguousarray(self._start.frames[f])
        frames[f] = turn(theta, begin, np.empty_like(begin))
        return BonePlaces(x, frames)
