# SPDX-License-Identifier: Apache-2.0
"""Stance of the feet and their shares of the load, from the motion of the soles.

A point of a sole carries load while it is near the height at which it usually rests and
hardly moves over the floor. Each point has its own height of rest: a rigid sole rolls
over its toes, and markers place it a centimetre or two too high or too low. The floor
may move: on a treadmill, feet that stand go backwards with the belt, so that speeds
count relative to the *floor velocity*, the usual one of the lower foot.

While two feet stand and one of them leaves, the load passes from one to the other along
half a cosine from the landing to the lift-off (a smooth transition as in Ren, Jones and
Howard, J. Biomech. 41, 2008).

*Force plates*: which foot stepped on which. A stretch of load belongs to the foot that
stands while the centre of pressure stays within or near its outline. Where two feet are
on a plate, or none is, or a foot stands partly beside it, the load is not used, and a
note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.analysis.footfalls import stretches
from humans_sim.core.errors import ParameterError
from humans_sim.models.legs import support_tags
from humans_sim.models.model import Model
from humans_sim.observation.markers.filters import zero_phase
from humans_sim.observation.markers.force_plate import (
    LEAST_LOAD,
    ForcePlate,
    GroundReaction,
)


@dataclass(frozen=True, eq=False)
class SolePoints:
    """Support points of all soles over time, in the world.

    Attributes:
        soles: names of the soles.
        owners: of each point, the place of its sole in ``soles`` (p,).
        positions: (n, p, 3) [m].
        velocities: (n, p, 3) [m/s].
    """

    soles: tuple[str, ...]
    owners: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray

    def of(self, sole: int) -> np.ndarray:
        """Columns of the points of a sole."""
        return np.flatnonzero(self.owners == sole)

    def by_sole(
        self, values: np.ndarray, reduced: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What values of points (n, p, ...) are reduced to for each sole."""
        soles = range(len(self.soles))
        return np.stack([reduced(values[:, self.of(k)]) for k in soles], axis=1)


def sole_points(model: Model, q: np.ndarray, v: np.ndarray) -> SolePoints:
    """Support points of the soles along a motion (n, nq), (n, nv)."""
    tags = [support_tags(sole) for sole in model.soles]
    owners = np.repeat(np.arange(len(tags)), [len(own) for own in tags])
    names = tuple(tag for own in tags for tag in own)
    points, data = model.tag_points(names), model.data()
    positions = np.empty((len(q), len(names), 3))
    velocities = np.empty_like(positions)
    for row in range(len(q)):
        pin.computeJointJacobians(model.pin, data, q[row])
        positions[row] = points.positions(data)
        velocities[row] = points.jacobians(data) @ v[row]
    soles = tuple(sole.name for sole in model.soles)
    return SolePoints(soles, owners, positions, velocities)


REST_SPEED = 0.25
"""A point that is slower rests on the floor [m/s]."""
CONTACT_SPEED = 0.9
"""A point that is faster carries nothing: between those of landings and lift-offs in
walks with force plates [m/s]."""
CONTACT_HEIGHT = 0.03
"""A point that is so far above its rest carries nothing [m]."""
SLOWEST_BELT = 0.3
"""A floor that seems to move slower stands [m/s]."""
LONGEST_TRANSFER = 0.3
"""Feet that stand together for longer share the load as the moments say [s]."""
USUAL_TRANSFER = 0.13
"""Double support of a walk where the recording has no whole one [s]."""
SHORTEST_STANCE = 0.06
"""A foot that stands for less scrapes, and one that is free for less rattles [s]."""
_LOWEST = 10.0
"""Percentile of heights at which the floor is."""
_LOW = 0.03
"""Feet that are this near to the floor show how it moves [m]."""
_FEWEST = 5
"""Samples from which a height of rest is taken."""


@dataclass(frozen=True, eq=False)
class FootContacts:
    """When feet stand.

    Attributes:
        soles: names of the soles.
        down: whether each stands (n, soles).
        share: of the load that each is expected to carry (n, soles); NaN where the
            contacts suggest none: feet that keep standing together, and none at all.
        rest: height of each point where it carries load (p,) [m].
        height: of each point above its rest, zero below it (n, p) [m].
        speed: of each point over the floor (n, p) [m/s].
        floor: height of the floor [m].
        floor_velocity: of a treadmill's belt; zero of a floor (3,) [m/s].
    """

    soles: tuple[str, ...]
    down: np.ndarray
    share: np.ndarray
    rest: np.ndarray
    height: np.ndarray
    speed: np.ndarray
    floor: float
    floor_velocity: np.ndarray


def find_contacts(
    t: np.ndarray, points: SolePoints, floor: float | None = None
) -> FootContacts:
    """When the feet of a motion stand.

    The floor has a height [m]; None: each point rests where it is slow.
    """
    heights = points.positions[:, :, 2]
    belt = floor_velocity(points)
    speed = np.linalg.norm(points.velocities - belt, axis=2)
    if floor is None:
        level = float(np.percentile(_lowest(points).min(axis=1), _LOWEST))
        rest = np.array(
            [_rest(*point) for point in zip(heights.T, speed.T, strict=True)]
        )
    else:
        level, rest = floor, np.full(heights.shape[1], floor)
    above = np.maximum(heights - rest, 0.0)
    touching = (above < CONTACT_HEIGHT) & (speed < CONTACT_SPEED)
    down = points.by_sole(touching, lambda on: _without_short(t, on.max(axis=1)))
    single = down.sum(axis=1, keepdims=True) == 1
    share: np.ndarray = np.where(single, down, np.nan)
    if down.shape[1] == 2:
        _transfer(t, down, share)
    return FootContacts(points.soles, down, share, rest, above, speed, level, belt)


def floor_velocity(points: SolePoints) -> np.ndarray:
    """Velocity of the floor under feet that stand; zero where it does not move (3,).

    The median over the lower foot of each sample, if most agree with it.
    """
    lowest = _lowest(points)
    means = points.by_sole(points.velocities, lambda v: v.mean(axis=1))
    lower = lowest.argmin(axis=1)
    rows = np.arange(len(lowest))
    near = lowest[rows, lower] < np.percentile(lowest, _LOWEST) + _LOW
    velocities = means[rows, lower][near]
    still = np.zeros(3)
    if not len(velocities):
        return still
    belt = np.median(velocities, axis=0) * (1.0, 1.0, 0.0)
    close = np.linalg.norm((velocities - belt)[:, :2], axis=1) < SLOWEST_BELT
    moves = np.linalg.norm(belt) > SLOWEST_BELT and close.mean() > 0.5
    return belt if moves else still


def _lowest(points: SolePoints) -> np.ndarray:
    """Height of the lowest point of each sole (n, soles) [m]."""
    return points.by_sole(points.positions[:, :, 2], lambda z: z.min(axis=1))


def _rest(height: np.ndarray, speed: np.ndarray) -> float:
    """Height at which a point rests [m]."""
    slow = height[speed < REST_SPEED]
    if len(slow) >= _FEWEST:
        return float(np.median(slow))
    return float(np.percentile(height, _LOWEST))


def _without_short(t: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Short gaps closed, then short stances left out; those at the ends stay."""
    state = state.copy()
    for value in (False, True):
        for first, last in stretches(state if value else ~state):
            end = last + 1
            inner = first > 0 and end < len(t)
            if inner and t[end] - t[first] < SHORTEST_STANCE:
                state[first:end] = not value
    return state


def _transfer(t: np.ndarray, down: np.ndarray, share: np.ndarray) -> None:
    """Let the load pass from foot to foot in short double supports."""
    n = len(t)
    step = (t[-1] - t[0]) / max(n - 1, 1)
    together = down[:, 0] & down[:, 1]
    both = [(first, last + 1) for first, last in stretches(together)]
    whole = [t[end] - t[first] for first, end in both if first > 0 and end < n]
    whole = [length for length in whole if length <= LONGEST_TRANSFER]
    transfer_time = float(np.median(whole)) if whole else USUAL_TRANSFER
    for first, end in both:
        old = _single(down[first - 1]) if first > 0 else None
        new = _single(down[end]) if end < n else None
        start = t[first] - step if old is not None else -np.inf
        stop = t[end] if new is not None else np.inf
        # Of a stretch that the recording cuts, the end that is seen counts.
        if first == 0 and new is not None:
            old, start = 1 - new, stop - max(transfer_time, stop - t[0] + step)
        elif end == n and old is not None:
            new, stop = 1 - old, start + max(transfer_time, t[-1] + step - start)
        if old is None or new is None or old == new:
            continue  # they stand throughout, land or leap together, or one taps
        if stop - start > LONGEST_TRANSFER + 2 * step:
            continue
        rows = slice(first, end)
        phase = np.clip((t[rows] - start) / (stop - start), 0.0, 1.0)
        share[rows, new] = 0.5 - 0.5 * np.cos(np.pi * phase)
        share[rows, old] = 1.0 - share[rows, new]


def _single(down: np.ndarray) -> int | None:
    """The one foot that stands; None where two do, or none."""
    return int(down.argmax()) if down.sum() == 1 else None


NEAR = 0.08
"""A centre of pressure this near to a foot's outline is under that foot [m]."""
MOSTLY = 0.7
"""Part of the load that is under a foot which carries it."""
BESIDE = 0.05
"""A sole that sticks out of a plate by more stands beside it, too [m]."""
TOUCHES = 0.1
"""Part of a load's time for which another foot stands on the plate, too."""
TIMING = 0.1
"""By which contacts from the motion and from the plate may differ in time [s]."""
SHORTEST_PAUSE = 0.06
"""A plate that is free for less is still under the same foot [s]."""
LEAST_PEAK = 60.0
"""A load that never exceeds this is noise [N]."""

BOTH, NOBODY, PARTLY = "both feet are on it", "no foot is on it", "partly beside it"


@dataclass(frozen=True)
class PlateStretch:
    """A stretch of samples in which a plate carries load.

    Attributes:
        first: first sample of the motion.
        last: last sample.
        sole: the one that stands on it; empty if it is not used.
        reason: why it is not used.
    """

    plate: str
    first: int
    last: int
    sole: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class PlateLoads:
    """Loads of plates on the feet of a motion.

    Attributes:
        wrenches: force, and moment about the world's origin, on each sole at the times
            of the motion (n, soles, 6) [N, N m].
        known: whether it is all that acts on the sole: it stands on a plate, or does
            not stand (n, soles).
        covered: samples in which all is known (n,).
        steps: the stretches of load.
        notes: what is not as it should be.
    """

    wrenches: np.ndarray
    known: np.ndarray
    covered: np.ndarray
    steps: tuple[PlateStretch, ...]
    notes: tuple[str, ...]


def plate_loads(
    plates: Sequence[ForcePlate | GroundReaction],
    t: np.ndarray,
    points: SolePoints,
    contacts: FootContacts,
    cutoff: float,
) -> PlateLoads:
    """Assign the loads of plates, in the frame of the motion, to feet.

    The loads are low-passed at the cut-off [Hz]; 0: not.
    """
    n, feet = len(t), len(points.soles)
    wrenches, on_plate = np.zeros((n, feet, 6)), np.zeros((n, feet), dtype=bool)
    steps: list[PlateStretch] = []
    notes: list[str] = []
    recorded = np.ones(n, dtype=bool)
    foreign = np.zeros(n, dtype=bool)
    near = int(np.ceil(TIMING * (n - 1) / (t[-1] - t[0])))
    used = 0
    for plate in plates:
        reaction = plate.reaction if isinstance(plate, ForcePlate) else plate
        if isinstance(plate, ForcePlate) and np.isnan(plate.moment).any():
            notes.append(f"{plate.name} is not used: its moments are missing")
            continue
        used += 1
        recorded &= (t >= reaction.times[0]) & (t <= reaction.times[-1])
        raw = _sampled(reaction.wrench(np.zeros(3)), reaction.times, t)
        smooth = _smooth(reaction, t, cutoff)
        spans = _load_stretches(t, raw[:, 2])
        ends = [-near - 1, *(last for _, last in spans)]
        starts = [*(first for first, _ in spans[1:]), n + near]
        for (first, last), before, after in zip(spans, ends, starts, strict=False):
            rows = first + np.flatnonzero(raw[first : last + 1, 2] > LEAST_LOAD)
            sole, reason = _foot(plate, raw[rows], rows, points, contacts)
            name = "" if sole is None else points.soles[sole]
            steps.append(PlateStretch(reaction.name, first, last, name, reason))
            if sole is None:
                notes.append(
                    f"{reaction.name} is not used from {t[first]:.2f} to "
                    f"{t[last]:.2f} s: {reason}"
                )
                foreign[first : last + 1] = True
                continue
            # What the low pass spreads belongs to the step that is nearer.
            start = max(first - near, (before + first) // 2 + 1, 0)
            part = slice(start, min(last + near, (last + after) // 2) + 1)
            wrenches[part, sole] += smooth[part]
            on_plate[part, sole] = True
    known = on_plate | ~contacts.down
    covered = known.all(axis=1) & recorded & ~foreign & (used > 0)
    return PlateLoads(wrenches, known, covered, tuple(steps), tuple(notes))


def outline_distance(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distance of points (n, 2) from convex outlines (n, k, 2); zero within (n,)."""
    centre = corners.mean(axis=1, keepdims=True)
    offset = corners - centre
    order = np.argsort(np.arctan2(offset[..., 1], offset[..., 0]), axis=1)
    ring = np.take_along_axis(corners, order[..., None], axis=1)
    side = np.roll(ring, -1, axis=1) - ring
    from_corner = points[:, None] - ring
    length = np.maximum((side**2).sum(axis=2), 1e-12)
    along = np.clip((from_corner * side).sum(axis=2) / length, 0.0, 1.0)
    gap = np.linalg.norm(from_corner - along[..., None] * side, axis=2).min(axis=1)
    cross = side[..., 0] * from_corner[..., 1] - side[..., 1] * from_corner[..., 0]
    return np.where((cross >= 0.0).all(axis=1), 0.0, gap)


def _sampled(values: np.ndarray, times: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Columns at other times; zero beyond the ends."""
    columns = [np.interp(t, times, v, left=0.0, right=0.0) for v in values.T]
    return np.stack(columns, axis=1)


def _smooth(reaction: GroundReaction, t: np.ndarray, cutoff: float) -> np.ndarray:
    """The wrench about the origin, low-passed and at the times of the motion."""
    wrench, times = reaction.wrench(np.zeros(3)), reaction.times
    rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
    if cutoff and rate <= 2 * cutoff:
        raise ParameterError(
            f"{reaction.name} is sampled at {rate:g} Hz: its low pass must be below "
            f"{rate / 2:g} Hz, not {cutoff:g} Hz"
        )
    if cutoff:
        wrench = zero_phase(wrench, rate, cutoff)
    return _sampled(wrench, times, t)


def _load_stretches(t: np.ndarray, load: np.ndarray) -> list[tuple[int, int]]:
    """First and last sample of each load; short pauses belong to it."""
    loaded = load > LEAST_LOAD
    for first, last in stretches(~loaded):
        inner = first > 0 and last < len(t) - 1
        if inner and t[last + 1] - t[first - 1] < SHORTEST_PAUSE:
            loaded[first : last + 1] = True
    spans = stretches(loaded)
    return [(a, b) for a, b in spans if load[a : b + 1].max() >= LEAST_PEAK]


def _foot(
    plate: ForcePlate | GroundReaction,
    wrench: np.ndarray,
    rows: np.ndarray,
    points: SolePoints,
    contacts: FootContacts,
) -> tuple[int | None, str]:
    """The sole that carries a stretch of load, or None and why there is none."""
    level = contacts.floor
    if isinstance(plate, ForcePlate):
        level = float(plate.centre[2])
    elif np.isfinite(plate.point).any():
        level = float(np.nanmedian(plate.point[:, 2]))
    load = wrench[:, 2]
    # The point of the plane z = level about which no moment tilts.
    x = (level * wrench[:, 0] - wrench[:, 4]) / load
    y = (level * wrench[:, 1] + wrench[:, 3]) / load
    pressure = np.stack([x, y], axis=1)
    feet = range(len(points.soles))
    outlines = [points.positions[rows][:, points.of(k)] for k in feet]
    near = [outline_distance(outline[..., :2], pressure) < NEAR for outline in outlines]
    under = np.stack(near, axis=1) & contacts.down[rows]
    parts = load @ under / load.sum()
    best = int(parts.argmax())
    if parts[best] < MOSTLY:
        either = float(load @ under.any(axis=1) / load.sum())
        return None, BOTH if either >= MOSTLY else NOBODY
    others = [k for k in feet if k != best]
    if isinstance(plate, ForcePlate):
        centres = [outline.mean(axis=1) for outline in outlines]
        for k in others:
            there = plate.contains(centres[k]) & contacts.down[rows, k]
            if there.mean() > TOUCHES:
                return None, BOTH
        flat = outlines[best].reshape(-1, 3)
        inside = plate.contains(flat, BESIDE).reshape(len(load), -1).all(axis=1)
        if load @ inside / load.sum() < MOSTLY:
            return None, PARTLY
    elif any(parts[k] > MOSTLY for k in others):
        return None, BOTH
    return best, ""
