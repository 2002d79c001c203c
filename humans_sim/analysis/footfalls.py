# SPDX-License-Identifier: Apache-2.0
"""Steps of a biped, from the loads on its soles along a run.

Feet rattle: a sole that lands may leave the ground again for some hundredths of a
second, by less than a millimetre, and a swinging one may scrape. A swing is a stretch
without load that is long enough and lifts the foot; whatever is shorter or lower
belongs to the stance around it.

Also phases of sphere feet, the depth of feet in a ground that gives way, and strides of
a reconstructed walk, from a heel strike to the next of the same foot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.analysis.run_motion import FREE, LOADED, RunMotion, SoleMotion
from humans_sim.control.walking.footsteps import Footprint, Side
from humans_sim.core.errors import ParameterError
from humans_sim.models.legs import load_tags, sole_named, support_tags, tag_of
from humans_sim.models.model import Model
from humans_sim.results.records import CONTACT_CLOSED, CONTACT_OPENED
from humans_sim.results.run import Run

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
    """A stretch of samples, from first to last, in which a sole carries load."""

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

    Of its load (n,) [N], the gap under its lowest point (n,) [m] and the weight of the
    body [N]; a swing reaches the height ``lift`` at least [m].
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


def all_stances(motion: RunMotion) -> list[list[Stance]]:
    """Stances of each sole over the whole run."""
    lift = LEAST_LIFT * abs(float(motion.base_height[0]))
    return [
        stances(motion.run.t, sole.load, sole.height, motion.weight, lift)
        for sole in motion.soles
    ]


def steps_of(
    motion: RunMotion, end: int, stood: Sequence[Sequence[Stance]]
) -> tuple[Step, ...]:
    """The steps before a sample, in the order of their landings.

    A landing is a step where the other foot was loaded in the meantime: what jumps or
    is dropped makes none. Steps end at a sample (a fall, or the last), of the stances
    of each of two soles.
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
        and any(
            s.first < later.first and s.last > before.last for s in stood[1 - which]
        )
    )
    steps: list[Step] = []
    for k, which, before, later in landings:
        sole = motion.soles[which]
        settled = int(np.searchsorted(t, t[k] + SETTLED * (1 - 1e-9)))
        place = footprint(sole, min(settled, later.last))
        landing = _touch_time(motion, sole, k)
        lift_off = float(t[before.last + 1])
        other = places[1 - which]
        turn = np.remainder(place.yaw - other.yaw + np.pi, 2 * np.pi) - np.pi
        heading = other.yaw + turn / 2
        c, s = np.cos(heading), np.sin(heading)
        dx, dy = place.x - other.x, place.y - other.y
        steps.append(
            Step(
                sole=sole.name,
                side=sole.side,
                footprint=place,
                lift_off=lift_off,
                landing=landing,
                duration=landing - (steps[-1].landing if steps else math.nan),
                length=float(c * dx + s * dy),
                width=float(sole.side * (c * dy - s * dx)),
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


AIR, HEEL, ALL, TOE = "air", "heel", "all", "toe"
_HEEL, _FORE = "_heel", ("_fore_left", "_fore_right")


class FootPhase(NamedTuple):
    """A time in which the same end of the feet stands.

    Attributes:
        start: [s].
        end: [s]; the start, where an impact closes one end and opens the other.
        word: ``air``, ``heel``, ``all`` (balls of both ends) or ``toe``.
    """

    start: float
    end: float
    word: str


def foot_phases(run: Run, sole: str | None = None) -> list[FootPhase]:
    """The phases of a run on sphere feet, at the exact times of its events.

    Args:
        run: of a simulation with ``contact_geometry="spheres"``.
        sole: one of the soles; all of them together unless given.
    """
    balls = {
        name: _end(name)
        for name in run.table.names
        if _end(name) and name.startswith("" if sole is None else f"{sole}_")
    }
    if not balls:
        of = "" if sole is None else f" of '{sole}'"
        raise ParameterError(
            f"the run has no sphere feet{of}: simulate with contact_geometry='spheres'"
        )
    shut: set[str] = set()
    changes = [(float(run.t[0]), AIR)]
    moves = [
        event
        for event in run.events
        if event.subject in balls and event.kind in (CONTACT_CLOSED, CONTACT_OPENED)
    ]
    for time, together in groupby(moves, key=lambda event: event.time):
        touched = set(shut)
        for event in together:
            if event.kind == CONTACT_CLOSED:
                shut.add(event.subject)
                touched.add(event.subject)
            else:
                shut.discard(event.subject)
        # In an impact both ends stand for a moment.
        changes += [(time, _word(touched, balls)), (time, _word(shut, balls))]
    kept = [changes[0]]
    for time, word in changes[1:]:
        if word != kept[-1][1]:
            kept.append((time, word))
    if len(kept) > 1 and kept[1][0] == kept[0][0]:
        kept = kept[1:]
    ends = [time for time, _ in kept[1:]] + [float(run.t[-1])]
    return [FootPhase(t, end, w) for (t, w), end in zip(kept, ends, strict=True)]


def _end(name: str) -> str:
    """Which end of a foot a contact belongs to; nothing for other contacts."""
    tag = tag_of(name)
    if tag.endswith(_HEEL):
        return HEEL
    return TOE if tag.endswith(_FORE) else ""


def _word(shut: set[str], balls: dict[str, str]) -> str:
    ends = {balls[name] for name in shut}
    if len(ends) > 1:
        return ALL
    return ends.pop() if ends else AIR


@dataclass(frozen=True)
class Sinkage:
    """One stance.

    Attributes:
        start: when it began to carry load [s].
        depth: of the lowest point of the sole below the ground at rest, the largest
            in the stance [m].
    """

    sole: str
    start: float
    depth: float


def sinkages(run: Run) -> tuple[Sinkage, ...]:
    """How deep the soles sank in each stance, in the order of time.

    Empty for a run on rigid ground; errors as of :meth:`RunMotion.of_run`.
    """
    surface = run.info.get("surface")
    if surface is None:
        return ()
    motion = RunMotion.of_run(run)
    rest = float(surface["origin"][2])
    sunk = []
    for sole, stood in zip(motion.soles, all_stances(motion), strict=True):
        lowest = sole.points[:, :, 2].min(axis=1)
        sunk += [
            Sinkage(
                sole.name,
                float(motion.run.t[s.first]),
                rest - float(lowest[s.first : s.last + 1].min()),
            )
            for s in stood
        ]
    return tuple(sorted(sunk, key=lambda stance: stance.start))


def sinkage_lines(run: Run) -> list[str]:
    """The same as lines for people."""
    stood = sinkages(run)
    if not stood:
        return []
    depths = ", ".join(f"{1e3 * stance.depth:.1f}" for stance in stood)
    name = run.info["surface"]["name"]
    return [f"sinkage into {name} in each stance: {depths} mm"]


SWING = 0.15
"""A heel that swings less than this against the pelvis does not walk [m]."""
SHORTEST, LONGEST = 0.4, 3.0
"""Times a stride may take [s]."""
PERCENT = np.linspace(0.0, 100.0, 101)
"""Points of a stride at which curves are compared [%]."""


@dataclass(frozen=True)
class Stride:
    """From a heel strike to the next.

    Attributes:
        side: ``l`` or ``r``.
        start: time of the first strike [s].
        end: time of the second [s].
    """

    side: str
    start: float
    end: float

    def curve(self, t: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A curve over the stride, at each of :data:`PERCENT`."""
        times = self.start + (self.end - self.start) * PERCENT / 100
        return np.asarray(np.interp(times, t, values))


def find_strides(model: Model, t: np.ndarray, q: np.ndarray) -> tuple[Stride, ...]:
    """Strides of a motion, in the order of their starts.

    A heel, the rearmost contact of its sole, strikes where it is furthest ahead of the
    pelvis (Zeni, Richards and Higginson 2008): this needs no force plate, and holds on
    treadmills too.
    """
    if len(t) < 3:
        return ()
    from scipy.signal import find_peaks  # half a second, which other runs do not need

    rate = (len(t) - 1) / float(t[-1] - t[0])
    strides = []
    for sole in model.soles:
        ahead = _ahead(model, q, _heel(model, support_tags(sole)))
        apart = max(1, math.floor(SHORTEST * rate))
        rows, _ = find_peaks(ahead, prominence=SWING, distance=apart)
        strikes = []  # by the parabola through a peak and its neighbours
        for row in rows:
            before, top, after = ahead[row - 1 : row + 2]
            bend = before - 2 * top + after
            shift = 0.0 if bend >= 0 else 0.5 * (before - after) / bend
            span = t[row + 1] - t[row] if shift > 0 else t[row] - t[row - 1]
            strikes.append(float(t[row] + shift * span))
        strides += [
            Stride(sole.name[:1], start, end)
            for start, end in zip(strikes[:-1], strikes[1:], strict=True)
            if SHORTEST <= end - start <= LONGEST
        ]
    return tuple(sorted(strides, key=lambda stride: stride.start))


def _heel(model: Model, contacts: tuple[str, ...]) -> tuple[int, np.ndarray]:
    """Joint and place on it of the rearmost of some points."""
    points = model.tag_points(contacts)
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    rear = int(np.argmin(points.positions(data)[:, 0]))
    return points.joints[points.row[rear]], points.local[rear]


def _ahead(model: Model, q: np.ndarray, heel: tuple[int, np.ndarray]) -> np.ndarray:
    """How far a heel is ahead of the pelvis, along its heading (n,) [m]."""
    joint, local = heel
    data = model.data()
    ahead = np.empty(len(q))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model.pin, data, configuration)
        base = data.oMi[1]
        forward = base.rotation[:2, 0]
        offset = data.oMi[joint].act(local)[:2] - base.translation[:2]
        ahead[row] = offset @ forward / max(float(np.linalg.norm(forward)), 1e-9)
    return ahead
