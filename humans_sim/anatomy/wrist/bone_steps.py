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

*Contact rows* of one of Newton's steps. Of thousands of pairs that are near, few carry
force. Rows are taken in as the motion that the others allow violates them, a few for
each pair of bones at a time, until no pair is violated: the answer is that of all
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.wrist.step_equations import (
    BonePlaces,
    NearPairs,
    StepEnergy,
    moved_by,
    rows_through,
    solve_with,
    turn_rates,
)
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.bodies.loads import Moving
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    solve_contact,
)
from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.rotations import turn

_VIOLATED = 1e-10
"""Overlap at the end of a step from which a pair becomes a row [m]."""
_ROUNDS, _WORST = 60, 2
"""Of taking in rows, and how many a pair of bones adds in one."""
_SOFT = 1e-8
"""Share of its own mobility by which a row gives to forces other than those known:
many rows share a bone's six ways to go, and their forces would be any of many (the
proximal point method; where Newton's method ends, nothing gives)."""
_ACCEPTED, _TOLERATED = 1e-9, 1e-6
"""Residuals of the contact problem, relative: aimed at, and put up with."""


@dataclass
class RowForces:
    """Pairs that are rows (k,), and impulses along normal and tangents (k, 3) [N s].

    The residual is of the contact problem, relative; frictionless: no friction forces
    were found and none are taken.
    """

    active: np.ndarray
    impulses: np.ndarray
    residual: float = 0.0
    frictionless: bool = False

    def pressed(self) -> RowForces:
        """Those with forces."""
        acting = self.impulses[:, 0] > 0
        return RowForces(self.active[acting], self.impulses[acting])


class ContactRows:
    """Contact rows about a trial.

    Args:
        pairs: near each other.
        trial: bones at the end of the step, by the trial velocity.
        rates: of the bones' turning by their spins (f, 3, 3).
        h: length of the step [s].
        friction: coefficient.

    Attributes:
        gaps: at the trial (c,) [m].
        predicted: gaps at the velocity found, to first order (c,) [m].
        normal_impulse, friction_impulse: of all rows on the free bones (6 f,).
    """

    def __init__(
        self,
        pairs: NearPairs,
        trial: BonePlaces,
        rates: np.ndarray,
        h: float,
        friction: float,
    ) -> None:
        self._pairs, self._trial, self._rates = pairs, trial, rates
        self._h, self._friction = h, friction
        self.gaps = self.predicted = pairs.end_gaps(trial)
        self.normal_impulse = self.friction_impulse = np.zeros(6 * len(rates))

    def solve(
        self,
        factor: np.ndarray,
        velocities: tuple[np.ndarray, np.ndarray],
        known: RowForces,
    ) -> tuple[np.ndarray, RowForces]:
        """Velocity at the end, and forces of the rows, from known ones on.

        By a factor of the energy's second derivatives, the velocity of the trial and
        that of Newton's step without contact.

        Raises:
            ContactProblemError: no forces were found, or rows never came to an end.
        """
        trial, free = velocities
        v, found = free, known
        solved = len(known.active) == 0
        for _ in range(_ROUNDS):
            if not solved:
                v, found = self._with_rows(factor, (trial, free), found)
            change = self._pairs.gap_rates(self._trial, v - trial, self._rates)
            self.predicted = self.gaps + self._h * change
            more = self._violated(self.predicted, found.active)
            if len(more) == 0:
                return v, found
            none = np.zeros((len(more), 3))
            active = np.concatenate([found.active, more])
            found = RowForces(active, np.concatenate([found.impulses, none]))
            solved = False
        raise ContactProblemError("contact rows of bones came to no end", np.inf)

    def _with_rows(
        self,
        factor: np.ndarray,
        velocities: tuple[np.ndarray, np.ndarray],
        known: RowForces,
    ) -> tuple[np.ndarray, RowForces]:
        trial, free = velocities
        active, h = known.active, self._h
        k = len(active)
        rows = self._pairs.rows(active, self._trial, self._rates)
        flat = rows.reshape(3 * k, -1)
        half, delassus = rows_through(factor, flat)
        give = _SOFT * np.diag(delassus)
        delassus[np.diag_indices(3 * k)] += give
        motion = self._pairs.slides(active, self._trial) / h
        motion += (flat @ free).reshape(k, 3)
        motion[:, 0] = self.gaps[active] / h + rows[:, 0] @ (free - trial)
        motion -= give.reshape(k, 3) * known.impulses
        forces, residual, frictionless = _solved(
            delassus, motion, self._friction, known.impulses
        )
        self.normal_impulse = rows[:, 0].T @ forces[:, 0]
        tangents = rows[:, 1:].reshape(2 * k, -1)
        self.friction_impulse = tangents.T @ forces[:, 1:].ravel()
        v = free + moved_by(factor, half, forces.ravel())
        return v, RowForces(active, forces, residual, frictionless)

    def _violated(self, gaps: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The worst pairs of each pair of bones that are no rows yet."""
        over = gaps < -_VIOLATED
        over[active] = False
        found = np.flatnonzero(over)
        found = found[np.argsort(gaps[found], kind="stable")]
        groups = self._pairs.group[found]
        chosen: list[int] = []
        for group in np.unique(groups):
            chosen.extend(found[groups == group][:_WORST].tolist())
        return np.array(sorted(chosen), dtype=np.int64)


def _solved(
    delassus: np.ndarray, motion: np.ndarray, mu: float, start: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Impulses, residual, and whether they are without friction.

    Newton's method from the impulses known; where it fails, the slower ones. Where no
    friction forces are found at all (they need not exist) the rows are taken without
    friction, which always has an answer.
    """
    k = len(motion)
    tangents, friction = np.full(k, 2), np.full(k, mu)
    forces, residual = solve_near(
        delassus, motion, tangents, friction, start, _ACCEPTED
    )
    if residual <= _TOLERATED:
        return forces, residual, False
    try:
        found = solve_contact(delassus, motion, tangents, friction, patient=False)
        return found.forces, found.residual, False
    except ContactProblemError:
        none = np.zeros(k, dtype=np.int64)
        found = solve_contact(delassus, motion, none, friction, patient=False)
        return found.forces, found.residual, True


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
    """Coulomb's coefficient of cartilage on cartilage, and viscosity [1/s].

    The viscosity is losses of free bones over their momenta.
    """

    friction: float = 0.02
    viscosity: float = 5.0

    def __post_init__(self) -> None:
        for name in ("friction", "viscosity"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise AnatomyError(f"{name} must not be negative, not {value}")


@dataclass
class StepRecord:
    """The result of a step.

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

    Attributes:
        state: of all bones; steps change it.
        record: of the last step; None before the first.
    """

    def __init__(self, wrist: Wrist, numbers: StepNumbers | None = None) -> None:
        self.wrist = wrist
        self.numbers = StepNumbers() if numbers is None else numbers
        self.bodies, self.state = wrist.bodies(), wrist.rest()
        self.record: StepRecord | None = None
        self._detector = wrist.detector()
        self._balls = wrist.balls()
        self._free = wrist.free
        self._columns = np.full(len(wrist.bones), -1)
        self._columns[self._free] = 6 * np.arange(len(self._free))
        self._v = np.zeros(6 * len(self._free))
        self._known: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros((0, 3)))
        self._near: Contacts | None = None

    def step(self, h: float, ends: BonePlaces) -> StepRecord:
        """One step of a length [s], to where driven bones are at its end.

        Raises:
            AnatomyError: the step is not positive.
            ContactProblemError: no contact forces were found.
        """
        if not h > 0:
            raise AnatomyError(f"a step must be positive, not {h} s")
        state = self.state
        start = BonePlaces(state.x.copy(), state.R.copy())
        near = self._near or self._detected(state.x, state.R, _MARGIN)
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
            # As far as they came closer.
            closed = float((pairs.gaps - pairs.end_gaps(moved)).max(initial=0.0))
            margin = min(max(_MARGIN, 1.5 * closed), _FARTHEST)
            near = self._detected(moved.x, moved.frames, margin)
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
        near = self._near
        if near is None:
            return self._detected(self.state.x, self.state.R, gap)
        return near.chosen(near.depth > -gap)

    def _detected(self, x: np.ndarray, frames: np.ndarray, margin: float) -> Contacts:
        return self._detector.detect(self.wrist.poses(x, frames), margin=margin)

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

    The columns are the first of each bone, -1 where it is not free (n,).

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
