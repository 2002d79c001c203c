# SPDX-License-Identifier: Apache-2.0
"""Foot plan of a robot: places and times of its steps, as a person's.

The sequence of feet and the share of each phase in a step are the person's. Step
lengths and turns are scaled by the length of the leg and cut to the robot's longest;
steps that would be too quick slow the whole motion down. The robot begins and ends at
rest: before the first step the weight is shifted onto one foot, and a last step closes
the feet where the recording ends between two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from humans_sim.control.retargeting.person_motion import PersonMotion
from humans_sim.control.walking.footsteps import ORIGIN, Footprint, Side, resting, swing
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import HIP_YAW
from humans_sim.control.walking.whole_body_ik import FootMotion

_SIDES = (Side.LEFT, Side.RIGHT)
_LEAST_MOVE = 0.12
"""A foot that lands nearer than this to where it stood has not stepped, in legs."""
_SWING, _USUAL, _REST = 0.8, 0.9, 0.5
"""Shortest swing over that of the walk; over the usual one of the person; what is left
of one that another foot or the recording's end cuts."""


@dataclass(frozen=True, eq=False)
class PlannedPhase:
    """A stretch in which the same feet stand [s].

    The feet are where they stand, or stood before one of them swings to its target.
    """

    start: float
    end: float
    feet: dict[Side, Footprint]
    swing: Side | None = None
    target: Footprint = ORIGIN


@dataclass(frozen=True, eq=False)
class FootPlan:
    """The feet of a motion.

    Attributes:
        phases: in the order of time, without gaps.
        knots: times of the robot and of the person that belong together (2, k) [s].
        slowdown: time of the robot over that of the person.
        shortened: smallest step of the robot over the person's scaled one; 1: none.
    """

    phases: tuple[PlannedPhase, ...]
    knots: np.ndarray
    slowdown: float
    shortened: float

    @property
    def duration(self) -> float:
        """Of the whole motion [s]."""
        return self.phases[-1].end

    @property
    def steps(self) -> int:
        """How many."""
        return sum(phase.swing is not None for phase in self.phases)

    def person_time(self, t: np.ndarray) -> np.ndarray:
        """Times of the person that belong to times of the robot [s]."""
        return np.interp(t, *self.knots)

    def phase(self, t: float) -> PlannedPhase:
        """The phase at a time."""
        for phase in self.phases:
            if t < phase.end:
                return phase
        return self.phases[-1]


@dataclass(frozen=True)
class _Swing:
    """A step of the person: which foot, when, and what it did to the feet."""

    side: Side
    start: float
    end: float
    ahead: float
    turn: float


def plan_feet(
    person: PersonMotion,
    settings: WalkSettings,
    leg: float,
    slowdown: float = 1.0,
    shorter: float = 1.0,
    least_step: float = 1.0,
) -> FootPlan:
    """The feet of a robot with a leg of some length [m].

    The time of the robot is the person's times ``slowdown``, at least. Of the walk's
    settings its longest step counts times ``shorter``, its quickest times
    ``least_step``.
    """
    half = 0.5 * settings.stance_width
    feet = {side: ORIGIN.moved(0.0, side * half) for side in Side}
    swings = _swings(person)
    shift = settings.shift_duration
    first, last = float(person.t[0]), float(person.t[-1])
    if not swings:
        end = 2.0 * shift + slowdown * (last - first)
        knots = np.array([[shift, end - shift], [first, last]])
        return FootPlan((PlannedPhase(0.0, end, feet),), knots, slowdown, 1.0)
    step = settings.step_duration * least_step
    ends = [flight.end for flight in swings]
    usual = np.median(np.diff(ends)) if len(ends) > 1 else ends[0] - swings[0].start
    slowdown = max(slowdown, step / float(usual))
    swing_least = (1.0 - settings.double_support) * step * _SWING
    double_least = settings.double_support * step
    air_time = _USUAL * float(
        np.median([flight.end - flight.start for flight in swings])
    )
    scale = leg / person.leg
    most = shorter * settings.max_forward
    phases: list[PlannedPhase] = []
    times: list[tuple[float, float]] = []
    now, stretched = 0.0, 1.0
    before = first
    for number, flight in enumerate(swings):
        rest = slowdown * max(flight.start - before, 0.0)
        rest = max(rest, double_least if number else 2.0 * shift)
        phases.append(PlannedPhase(now, now + rest, dict(feet)))
        times.append((now if number else now + 0.5 * rest, before))
        now += rest
        times.append((now, max(flight.start, before)))
        scaled_length = scale * flight.ahead
        # From side by side to side by side: half a step at first.
        ahead = float(np.clip(scaled_length, -settings.max_backward * shorter, most))
        stretched = min(stretched, ahead / scaled_length if scaled_length else 1.0)
        other = feet[flight.side.other]
        closing = number == len(swings) - 1
        turn = flight.turn if settings.turns == HIP_YAW else 0.0
        turn = float(np.clip(turn, -settings.max_turn, settings.max_turn))
        target = other.moved(
            0.0 if closing else ahead, flight.side * settings.stance_width, turn
        )
        # Swings that the recording cuts take the usual time.
        lasts = max(slowdown * max(flight.end - flight.start, air_time), swing_least)
        phases.append(PlannedPhase(now, now + lasts, dict(feet), flight.side, target))
        now += lasts
        feet[flight.side] = target
        before = flight.end
    times.append((now, before))
    end = now + max(slowdown * (last - before), 0.0) + 2.0 * shift
    times.append((end - shift, last))
    phases.append(PlannedPhase(now, end, dict(feet)))
    return FootPlan(tuple(phases), np.array(times).T, slowdown, float(stretched))


def _swings(person: PersonMotion) -> list[_Swing]:
    """Steps of the person, in the order of time; the last one closes the feet."""
    t = person.t
    swings = []
    for column, side in enumerate(_SIDES):
        for first, last in _stretches(~person.down[:, column]):
            begin, end = max(first - 1, 0), min(last + 1, len(t) - 1)
            moved = person.feet[end, column] - person.feet[begin, column]
            if np.linalg.norm(moved) < _LEAST_MOVE * person.leg:
                continue
            yaw = float(person.heading[end])
            apart = person.feet[end, column] - person.feet[end, 1 - column]
            ahead = float(apart @ (np.cos(yaw), np.sin(yaw)))
            turn = float(person.heading[end] - person.heading[begin])
            swings.append(_Swing(side, float(t[begin]), float(t[end]), ahead, turn))
    swings.sort(key=lambda flight: flight.start)
    kept: list[_Swing] = []
    for flight in swings:
        if kept and flight.start < kept[-1].end:
            # No foot of a robot leaves the ground before the other has landed.
            length, start = flight.end - flight.start, kept[-1].end
            landed = max(flight.end, start + _REST * length)
            flight = replace(flight, start=start, end=landed)
        kept.append(flight)
    apart = _LEAST_MOVE * person.leg
    if kept and kept[-1].end < t[-1] - 1e-9 and abs(kept[-1].ahead) > apart:
        # The feet are apart at the end: a step closes them.
        length = kept[-1].end - kept[-1].start
        start = max(float(t[-1]) - _REST * length, kept[-1].end)
        kept.append(_Swing(kept[-1].side.other, start, float(t[-1]), 0.0, 0.0))
    return kept


def _stretches(on: np.ndarray) -> list[tuple[int, int]]:
    """First and last sample of each stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


Feet = tuple[FootMotion, FootMotion]
"""Left and right."""


def feet_at(phase: PlannedPhase, t: float, lift: float) -> Feet:
    """Motions of both feet at a time [s], lifted half way of a swing [m]."""
    motions = []
    for side in (Side.LEFT, Side.RIGHT):
        place = phase.feet[side]
        if side is phase.swing:
            duration = phase.end - phase.start
            motions.append(swing(place, phase.target, lift, duration, t - phase.start))
        else:
            motions.append(resting(place))
    return motions[0], motions[1]


def feet_down(phase: PlannedPhase) -> tuple[bool, bool]:
    """Whether the left and the right foot stand."""
    return phase.swing is not Side.LEFT, phase.swing is not Side.RIGHT
