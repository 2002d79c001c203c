# SPDX-License-Identifier: Apache-2.0
"""Phases of a walk on a grid of knots: which foot stands, which goes where, and when.

A phase that has begun stays as it is; everything later is planned anew when the command
changes or a phase begins.

*Heading.* The command says how far each step turns the body. What is measured, or else
planned, says how far it turned. The difference is made good by the steps to come.

Hips with a yaw joint turn a little in each step, and take in a share of the difference.
Legs that slip pivot on both feet, which takes time, and turn worse where the pivot is
small: they wait until a turn is worth it, and then make all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.footsteps import (
    Footprint,
    FootstepPlanner,
    Side,
    SolePair,
    Velocity,
    resting,
)
from humans_sim.control.walking.listed_footsteps import (
    ListedFootsteps,
    ListedStep,
    TreadPlanner,
    Treads,
)
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP
from humans_sim.control.walking.whole_body_ik import FootMotion
from humans_sim.core.convex_polygon import HalfPlanes, inside
from humans_sim.core.errors import ParameterError

_MOST_TRIM = 0.5
"""Largest correction of a step that turns in the hips, in largest steps."""


class StepTurn(NamedTuple):
    """How a step is made so that the heading is held: the velocity of its plan.

    How far the command turns the body during it, and the step by plan [rad].
    """

    velocity: Velocity
    asked: float
    made: float


class Heading:
    """Counts turns of one walk.

    Attributes:
        asked: how far the body should have turned since the walk began [rad].
        measured: how far it has; None where nobody measures it [rad].
    """

    def __init__(self, settings: WalkSettings, planner: FootstepPlanner) -> None:
        self._settings, self._planner = settings, planner
        self.asked = self._made = self._start = 0.0
        self.measured: float | None = None

    def begin(self) -> None:
        """A walk begins: the heading of now is right."""
        self.asked = self._made = 0.0
        self._start = 0.0 if self.measured is None else self.measured

    def count(self, asked: float = 0.0, made: float = 0.0) -> None:
        """A step asked for a turn; the body made one, by plan [rad]."""
        self.asked += asked
        self._made += made

    def missing(self, pending: float) -> float:
        """The missing angle when a turn not yet counted is over [rad]."""
        turned = self._made
        if self.measured is not None:
            turned = self.measured - self._start
        return self.asked - turned - pending

    def step(self, velocity: Velocity, missing: float) -> StepTurn:
        """A step of a velocity in reach, where some of the heading is missing [rad]."""
        if self._settings.turns == SLIP:
            return self._pivoted(velocity, missing)
        period = self._planner.period(velocity)
        turned = velocity
        if abs(missing) > self._settings.heading_tolerance:
            most = _MOST_TRIM * 0.5 * self._settings.max_turn
            trim = min(max(self._settings.heading_gain * missing, -most), most)
            turned = self._planner.limited(
                velocity._replace(wz=velocity.wz + trim / period)
            )
        return StepTurn(turned, velocity.wz * period, turned.wz * period)

    def _pivoted(self, velocity: Velocity, missing: float) -> StepTurn:
        """A step that pivots, where that is worth it."""
        straight = velocity._replace(wz=0.0)
        period = self._planner.period(straight)
        asked = velocity.wz * period
        most, least = self._settings.max_turn, self._settings.least_pivot
        if abs(missing + asked) < least or most == 0.0:
            return StepTurn(straight, asked, 0.0)
        period += self._settings.pivot_duration
        asked = velocity.wz * period
        wz = min(max(missing + asked, -most), most) / period
        room = max(self._planner.turn_room(velocity._replace(wz=wz)), abs(velocity.wz))
        pivot = velocity._replace(wz=min(max(wz, -room), room))
        return StepTurn(pivot, asked, pivot.wz * period)


Feet = dict[Side, Footprint]
STILL = Velocity()
_IN_PLACE = 2
"""Steps in place after a push."""


class WalkPhase(IntEnum):
    """The phase of a walk; the numbers are those of the message WalkStatus."""

    STANDING = 1
    STARTING = 2
    WALKING = 3
    STOPPING = 4


class Footstep(NamedTuple):
    """A step of the plan: which foot lands where, when it leaves and lands [s].

    The body turns on both feet after it [rad].
    """

    side: Side
    place: Footprint
    leaves: float
    lands: float
    turn: float = 0.0


@dataclass(frozen=True)
class SupportPhase:
    """A time with the same feet on the ground.

    Attributes:
        first: knot at which it begins.
        last: knot at which it ends, None where no end is planned.
        feet: footprints when it begins.
        soles: of the biped.
        zmp: preferred zero-moment points (n, 2) [m].
        knots: when they hold (n,); linear between them, then the last one stays.
        step: the step that is made, None with both feet on the ground.
        turn: how far the body turns on both feet [rad].
        turn_knots: between which it does.
        asked: how far the command turns the body in this step [rad].
        made: how far this phase turns the body by plan [rad].
    """

    first: int
    last: int | None
    feet: Feet
    soles: SolePair
    zmp: np.ndarray
    knots: np.ndarray
    step: Footstep | None = None
    turn: float = 0.0
    turn_knots: tuple[int, int] = (0, 0)
    asked: float = 0.0
    made: float = 0.0

    @property
    def support(self) -> ContactPhase:
        """The feet on the ground."""
        if self.step is None:
            return ContactPhase.DOUBLE
        left = self.step.side is Side.RIGHT
        return ContactPhase.LEFT_FOOT if left else ContactPhase.RIGHT_FOOT

    @cached_property
    def polygon(self) -> np.ndarray:
        """Corners of the support, counter-clockwise (n, 2) [m]."""
        stepping = None if self.step is None else self.step.side
        feet = self.soles.turned(self.feet, 0.5 * self.turn)
        return self.soles.polygon(feet, [s for s in Side if s is not stepping])

    @cached_property
    def room(self) -> HalfPlanes:
        """Where the zero-moment point may be: the support without its margin."""
        return inside(self.polygon, self.soles.margin)

    def zmp_at(self, knots: np.ndarray) -> np.ndarray:
        """Preferred zero-moment points at knots (n, 2) [m]."""
        return np.column_stack([np.interp(knots, self.knots, x) for x in self.zmp.T])

    @cached_property
    def zmp_table(self) -> np.ndarray:
        """The same at each knot from the first one to where they stay (n, 2) [m]."""
        return self.zmp_at(np.arange(self.first, int(self.knots[-1]) + 1))

    @cached_property
    def resting(self) -> dict[Side, FootMotion]:
        """The feet where they stand when it begins."""
        return {side: resting(place) for side, place in self.feet.items()}

    def key(self) -> tuple[object, ...]:
        """The key that two equal phases of one biped share."""
        times, turns = (self.first, self.last), (self.turn, self.asked, self.made)
        return *times, *turns, self.step, *self.feet.values(), self.zmp.tobytes()

    def feet_after(self) -> Feet:
        """Footprints when it ends."""
        if self.step is None:
            return self.soles.turned(self.feet, self.turn)
        return {**self.feet, self.step.side: self.step.place}


class Timeline:
    """The plan of a walk: the present phase, then those to come.

    Attributes:
        velocity: what is followed, within the reach of the legs.
        steps: begun since the walk began.
        heading: how far it should turn, and has.
    """

    def __init__(
        self,
        settings: WalkSettings,
        soles: SolePair,
        feet: Feet,
        t_start: float,
        treads: Treads | None = None,
    ) -> None:
        """A biped that stands, from knot 0 on, which is at t_start [s]."""
        self._settings, self._soles, self._start = settings, soles, t_start
        self._treads = treads
        self._planner = self._by_velocity()
        self.heading = Heading(settings, self._planner)
        self.velocity, self.steps = STILL, 0
        self._to_begin: int | None = 0
        self._next, self._stale = Side.LEFT, False
        self._in_place, self._resumes = 0, False
        self.phases = [self._standing(feet)]
        self._conditions: tuple[int, np.ndarray, np.ndarray, np.ndarray] | None = None

    def follow(self, velocity: Velocity) -> None:
        """Walk with a velocity until the next command; stop where none is left."""
        noticed = self._planner.noticed(velocity)
        if self._planner.limited(noticed) == STILL:
            self.stop()
        else:
            self.walk(velocity, None)

    def make(self, steps: Sequence[ListedStep]) -> None:
        """Make listed steps from where the feet stand, then stand.

        Raises:
            ParameterError: it walks, or a step is beyond the legs.
        """
        if self.phases[0].last is not None:
            raise ParameterError("listed footsteps begin from standing")
        steps = self._on_ground(steps)
        planner = ListedFootsteps(self._settings, self.phases[0].feet, steps)
        self.walk(STILL, len(steps))
        self._planner, self._next = planner, steps[0].side

    def _by_velocity(self) -> FootstepPlanner:
        """A planner of steps that follow a velocity."""
        if self._treads is None:
            return FootstepPlanner(self._settings)
        return TreadPlanner(self._settings, self._treads)

    def _on_ground(self, steps: Sequence[ListedStep]) -> Sequence[ListedStep]:
        """Listed steps at the height of the ground, where that is known."""
        if self._treads is None:
            return steps
        placed = []
        for n, step in enumerate(steps):
            place = self._treads.onto(step.side, step.place)
            if place is None:
                raise ParameterError(f"footstep {n + 1}: the ground is not flat there")
            placed.append(step._replace(place=place))
        return placed

    def walk(self, velocity: Velocity, steps: int | None) -> None:
        """Make a number of steps, the closing one included; None: no end."""
        self._planner = self._by_velocity()
        noticed = self._planner.noticed(velocity)
        self.velocity = self._planner.limited(noticed)
        aside = self.velocity.vy or self.velocity.wz
        if self.phases[0].last is None and aside:
            self._next = Side.LEFT if aside > 0 else Side.RIGHT
        self._to_begin, self._stale = steps, True

    def stop(self) -> None:
        """Bring the feet side by side with the next step that begins."""
        self._planner = self._by_velocity()
        if self.phases[0].last is None:
            self._to_begin = 0
        elif self._to_begin != 0:
            self._to_begin = 1
        self.velocity, self._stale = STILL, True

    @property
    def activity(self) -> WalkPhase:
        """The phase of the plan; a walk that has landed its last foot stands."""
        if self.phases[0].last is None:
            return WalkPhase.STANDING
        if self._to_begin is not None and self._to_begin < 2:
            return WalkPhase.STOPPING
        if self.steps == 0 or (self.steps == 1 and self.phases[0].step):
            return WalkPhase.STARTING
        return WalkPhase.WALKING

    def advance(self, knot: int) -> None:
        """Go to a knot, and plan as far ahead of it as is looked at."""
        if self._stale:
            self._plan(knot)
        now = self.phases[0]
        if now.last is None or now.last > knot:
            return
        self.phases.pop(0)
        step = self.phases[0].step
        self.heading.count(self.phases[0].asked, now.made)
        if step is not None:
            self.steps += 1
            self._in_place = max(self._in_place - 1, 0)
            self._next = step.side.other
            if self._to_begin is not None:
                self._to_begin -= 1
        self._plan(knot)

    def stand(self, feet: Feet, t_start: float, lifted: Side) -> None:
        """Stand on feet that are elsewhere, then go on, at first in place.

        The grid of knots begins anew [s]; the next step is of the foot to be lifted.
        """
        self._start, self._next, self._in_place = t_start, lifted, _IN_PLACE
        if self._to_begin == 0:
            self._to_begin = 1
        self.phases = [self._standing(feet)]
        self._stale = self._resumes = True

    def _standing(self, feet: Feet) -> SupportPhase:
        """Both feet on the ground for good, from knot 0 on."""
        zmp = self._soles.middle(feet)[None]
        return SupportPhase(0, None, feet, self._soles, zmp, np.zeros(1))

    @property
    def side_by_side(self) -> bool:
        """Whether the feet have come together after :meth:`stand`."""
        return self._in_place < _IN_PLACE

    @property
    def goes_by_velocity(self) -> bool:
        """Whether no list says where the feet go."""
        return not isinstance(self._planner, ListedFootsteps)

    def ahead(self, knot: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Conditions of the n knots of the horizon after a given one.

        Returns:
            Preferred zero-moment points (2 n, 2) [m], as far again beyond the horizon;
            normals (n, edges, 2) and bounds (n, edges) [m] of the support. At a knot
            between two phases the smaller support holds.
        """
        if self._conditions is None:
            self._conditions = knot, *self._conditions_after(knot)
        first, zmp, normals, bounds = self._conditions
        count = self._settings.horizon_knots
        # The plan is made anew before its conditions end, but where it stands for good.
        begin = min(knot - first, len(zmp) - 2 * count)
        rows = slice(begin, begin + count)
        return zmp[begin : begin + 2 * count], normals[rows], bounds[rows]

    def _conditions_after(self, knot: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Conditions of knots after a given one, for all horizons of this plan."""
        now, edges = self.phases[0], self._soles.edges
        last = int(now.knots[-1]) if now.last is None else now.last
        count = 2 * self._settings.horizon_knots + max(last - knot - 1, 0)
        zmp = np.zeros((count, 2))
        normals = np.zeros((count, edges, 2))
        bounds = np.full((count, edges), np.inf)
        # Single supports last: they overwrite the knots that they share.
        for phase in sorted(self.phases, key=lambda phase: phase.step is not None):
            start = max(phase.first - knot, 1)
            end = count if phase.last is None else min(phase.last - knot, count)
            if end < start:
                continue
            room, rows = phase.room, slice(start - 1, end)
            size = len(room.bounds)
            later = phase.zmp_table[start + knot - phase.first :][: end - start + 1]
            zmp[rows] = phase.zmp[-1]
            zmp[start - 1 : start - 1 + len(later)] = later
            normals[rows, :size], normals[rows, size:] = room.normals, 0.0
            bounds[rows, :size], bounds[rows, size:] = room.bounds, np.inf
        return zmp, normals, bounds

    def footsteps(self) -> tuple[Footstep, ...]:
        """The step under way and those to come."""
        return tuple(phase.step for phase in self.phases if phase.step is not None)

    def _plan(self, knot: int) -> None:
        """Keep the present phase; plan those after it."""
        self._stale, self._conditions = False, None
        # Phases that are planned again as they were keep what was computed of them.
        known = {phase.key(): phase for phase in self.phases}
        now, to_begin, side = self.phases[0], self._to_begin, self._next
        if now.last is None and to_begin != 0:
            start = now.zmp_at(np.array([knot]))[0]
            now = self._double(now.feet, knot, start, side.other)
            if not self._resumes:
                self.steps = 0
                self.heading.begin()
            self._resumes = False
        self.phases = [now]
        # The next plan is made when this phase ends: see that far beyond the horizon.
        settings = self._settings
        longest = max(settings.swing_knots, settings.shift_knots, settings.pivot_knots)
        end = knot + 2 * settings.horizon_knots + longest + settings.double_knots
        missing = self.heading.missing(self._pending(knot))
        in_place = self._in_place
        while now.last is not None and now.last <= end:
            feet, first = now.feet_after(), now.last
            if now.step is None:
                closing = to_begin == 1 or in_place > 0
                in_place -= 1
                velocity = STILL if closing else self.velocity
                # Listed steps say themselves where they go.
                held = not (closing or isinstance(self._planner, ListedFootsteps))
                turn = self.heading.step(velocity, missing if held else 0.0)
                missing += turn.asked - turn.made
                now = self._single(feet, first, side, turn)
                to_begin = None if to_begin is None else to_begin - 1
                side = side.other
            else:
                onto = None if to_begin == 0 else side.other
                now = self._double(feet, first, now.zmp[-1], onto, now.step.turn)
            now = known.get(now.key(), now)
            self.phases.append(now)

    def _single(
        self, feet: Feet, first: int, side: Side, turn: StepTurn
    ) -> SupportPhase:
        """A step of one foot."""
        velocity = turn.velocity
        target = self._planner.next(feet[side.other], side, velocity)
        last = first + self._settings.swing_knots
        start, period = self._start, self._settings.mpc_period
        times = (start + first * period, start + last * period)
        step = Footstep(side, target, *times, self._planner.pivot(velocity))
        return SupportPhase(
            first,
            last,
            feet,
            self._soles,
            self._soles.place(feet, side.other)[None],
            np.array([first]),
            step,
            asked=turn.asked,
            # With pivots the body turns after the step, else in it.
            made=0.0 if step.turn else turn.made,
        )

    def _pending(self, knot: int) -> float:
        """Turn of the body that the present phase has still to make by plan [rad]."""
        now, share = self.phases[0], self._settings.pivot_share
        if now.step is not None:
            return now.made + share * now.step.turn
        if not now.turn:
            return 0.0
        first, last = now.turn_knots
        return now.made * min(max((last - knot) / (last - first), 0.0), 1.0)

    def _double(
        self,
        feet: Feet,
        first: int,
        start: np.ndarray,
        onto: Side | None,
        turn: float = 0.0,
    ) -> SupportPhase:
        """Weight from a place onto one foot, or onto both for good.

        A turn is made in double support, half of the shift before it, half after.
        """
        settings, soles = self._settings, self._soles
        turned = soles.turned(feet, turn)
        end = soles.middle(turned) if onto is None else soles.place(turned, onto)
        knots = settings.double_knots
        if onto is None or self.phases[0].last is None:
            knots = settings.shift_knots
        last = first + knots
        if not turn:
            zmp, times, between = [start, end], [first, last], (0, 0)
        else:
            last += settings.pivot_knots
            between = (first + knots // 2, last - (knots - knots // 2))
            middle = soles.middle(soles.turned(feet, 0.5 * turn))
            zmp, times = [start, middle, middle, end], [first, *between, last]
        return SupportPhase(
            first,
            None if onto is None else last,
            feet,
            soles,
            np.array(zmp),
            np.array(times),
            turn=turn,
            turn_knots=between,
            made=settings.pivot_share * turn,
        )
