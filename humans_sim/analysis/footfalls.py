# SPDX-License-Identifier: Apache-2.0
"""Steps of a biped, from the loads on its soles along a run.

Feet rattle: a sole that lands may leave the ground again for some hundredths of a
second, by less than a millimetre, and a swinging one may scrape. A swing is a stretch
without load that is long enough and lifts the foot; whatever is shorter or lower
belongs to the stance around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.analysis.run_motion import FREE, LOADED, RunMotion, SoleMotion
from humans_sim.control.walking.footsteps import Footprint, Side
from humans_sim.models.soles import load_tags, sole_named, tag_of
from humans_sim.results.events import CONTACT_CLOSED

SHORTEST_SWING = 0.1
"""A sole that is free for less than this rattles [s]."""
SHORTEST_STANCE = 0.06
"""A sole that carries load for less than this scrapes [s]."""
LEAST_LIFT = 0.003
"""A swing lifts the whole sole by this at least, in heights of the base."""
SETTLED = 0.06
"""Time after the landing at which the footprint is read [s]."""


@dataclass(frozen=True)
class Stance:
    """A stretch of samples in which a sole carries load.

    Attributes:
        first: first sample.
        last: last sample.
    """

    first: int
    last: int


@dataclass(frozen=True)
class Step:
    """One step: a sole left the ground, came down elsewhere, and stood.

    Attributes:
        sole: frame of the sole.
        side: left or right.
        footprint: where it stood, shortly after the landing.
        lift_off: when it left the ground [s].
        landing: when it first touched again [s].
        duration: since the landing before, of either foot [s]; NaN of the first step.
        length: forwards, from where the other foot stood, along the mean heading of
            both [m].
        width: sideways, from the other foot, positive where feet do not cross [m].
        clearance: largest gap under the lowest point of the sole in the swing [m].
        slip: path of the contact point that slid farthest in the stance that began with
            the landing [m].
    """

    sole: str
    side: Side
    footprint: Footprint
    lift_off: float
    landing: float
    duration: float
    length: float
    width: float
    clearance: float
    slip: float


def stances(
    t: np.ndarray, load: np.ndarray, height: np.ndarray, weight: float, lift: float
) -> list[Stance]:
    """Stretches in which a sole carries load, rattling and scraping left out.

    Args:
        t: times (n,) [s].
        load: on the sole (n,) [N].
        height: gap under its lowest point (n,) [m].
        weight: of the body [N].
        lift: height that a swing reaches at least [m].
    """
    loaded = np.zeros(len(t), dtype=bool)
    state = False
    for k, force in enumerate(load):
        state = force > (FREE if state else LOADED) * weight
        loaded[k] = state
    for first, last in stretches(~loaded):
        if first == 0 or last == len(t) - 1:
            continue  # it may have begun before, or end after the run
        short = t[last + 1] - t[first - 1] < SHORTEST_SWING
        if short or height[first : last + 1].max() < lift:
            loaded[first : last + 1] = True
    loaded_spans = []
    for first, last in stretches(loaded):
        until = t[min(last + 1, len(t) - 1)]
        inner = first > 0 and last < len(t) - 1
        if not inner or until - t[first] >= SHORTEST_STANCE:
            loaded_spans.append(Stance(first, last))
    return loaded_spans


def steps_of(
    motion: RunMotion, end: int, stood: Sequence[Sequence[Stance]]
) -> tuple[Step, ...]:
    """The steps before a sample, in the order of their landings.

    A landing is a step where the other foot was loaded in the meantime: what jumps or
    is dropped makes none.

    Args:
        motion: a biped with two soles.
        end: sample at which it ends (a fall), or the number of samples.
        stood: stances of each sole.
    """
    if len(motion.soles) != 2:
        return ()
    t = motion.run.t
    places = [
        first_footprint(sole, own)
        for sole, own in zip(motion.soles, stood, strict=True)
    ]
    landings = sorted(
        (later.first, which, before, later)
        for which, own in enumerate(stood)
        for before, later in zip(own, own[1:], strict=False)
        if later.first < end
        and any(_overlap(before.last, later.first, s) for s in stood[1 - which])
    )
    steps: list[Step] = []
    for k, which, before, later in landings:
        sole = motion.soles[which]
        settled = int(np.searchsorted(t, t[k] + SETTLED * (1 - 1e-9)))
        place = footprint(sole, min(settled, later.last))
        landing = _touch_time(motion, sole, k)
        lift_off = float(t[before.last + 1])
        length, width = _from_other(place, places[1 - which], sole.side)
        steps.append(
            Step(
                sole=sole.name,
                side=sole.side,
                footprint=place,
                lift_off=lift_off,
                landing=landing,
                duration=landing - (steps[-1].landing if steps else math.nan),
                length=length,
                width=width,
                clearance=float(sole.height[before.last + 1 : k].max()),
                slip=slip(sole, Stance(k, min(later.last, end - 1))),
            )
        )
        places[which] = place
    return tuple(steps)


def footprint(sole: SoleMotion, k: int) -> Footprint:
    """Where a sole is at a sample."""
    return Footprint(*sole.pose[k].tolist())


def first_footprint(sole: SoleMotion, stood: Sequence[Stance]) -> Footprint:
    """Where a sole stands first; where it is at the start if it never stands."""
    return footprint(sole, stood[0].first if stood else 0)


def slip(sole: SoleMotion, stance: Stance) -> float:
    """How far the contact point that slid farthest went in a stance [m].

    A point counts from sample to sample where it touches at both. Of a ball it is the
    centre, so that its path has rolling in it, too.
    """
    rows = slice(stance.first, stance.last + 1)
    closed, points = sole.closed[rows], sole.points[rows]
    if len(points) < 2:
        return 0.0
    distances = np.linalg.norm(np.diff(points, axis=0), axis=2)
    both = closed[1:] & closed[:-1]
    return float(np.where(both, distances, 0.0).sum(axis=0).max())


def _overlap(first: int, last: int, stance: Stance) -> bool:
    return stance.first < last and stance.last > first


def _from_other(new: Footprint, other: Footprint, side: Side) -> tuple[float, float]:
    """Length and width of a step."""
    turn = np.remainder(new.yaw - other.yaw + np.pi, 2 * np.pi) - np.pi
    heading = other.yaw + turn / 2
    c, s = np.cos(heading), np.sin(heading)
    dx, dy = new.x - other.x, new.y - other.y
    return float(c * dx + s * dy), float(side * (c * dy - s * dx))


def _touch_time(motion: RunMotion, sole: SoleMotion, k: int) -> float:
    """When a sole touched that is loaded at a sample, but not at the one before [s].

    An event says it exactly where the run has one; else it is the time of the sample.
    """
    t = motion.run.t
    tags = load_tags(sole_named(motion.model, sole.name))
    times = [
        event.time
        for event in motion.run.events
        if event.kind == CONTACT_CLOSED
        and t[k - 1] < event.time <= t[k]
        and tag_of(event.subject) in tags
    ]
    return float(min(times, default=t[k]))


def stretches(on: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each stretch of true values."""
    edges = np.diff(np.concatenate([[False], on, [False]]).astype(int))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b) - 1) for a, b in zip(firsts, ends, strict=True)]
