# SPDX-License-Identifier: Apache-2.0
"""Loads of force plates on the feet of a motion: which foot stepped on which plate.

A stretch of load belongs to the foot that stands while the centre of pressure stays
within or near its outline. Where two feet are on a plate, or none is, or a foot stands
partly beside it, the load is not used, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.analysis.foot_contacts import FootContacts
from humans_sim.analysis.footfalls import stretches
from humans_sim.analysis.sole_points import SolePoints
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.filters import zero_phase
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.ground_reaction import LEAST_LOAD, GroundReaction

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
        plate: its name.
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
    """What plates do to the feet of a motion.

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
    """Assign the loads of plates to feet.

    Args:
        plates: in the frame of the motion.
        t: times of the motion (n,) [s].
        points: of the soles.
        contacts: when they stand.
        cutoff: low pass of the loads [Hz], 0 for none.
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
    """Distance of points from outlines, seen from above; zero within (n,) [m].

    Args:
        corners: of a convex outline at each time (n, k, 2) [m].
        points: (n, 2) [m].
    """
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
    pressure = np.stack(
        [
            (level * wrench[:, 0] - wrench[:, 4]) / load,
            (level * wrench[:, 1] + wrench[:, 3]) / load,
        ],
        axis=1,
    )
    feet = range(len(points.soles))
    outlines = [points.positions[rows][:, points.of(k)] for k in feet]
    under = np.stack(
        [
            (outline_distance(outline[..., :2], pressure) < NEAR)
            & contacts.down[rows, k]
            for k, outline in enumerate(outlines)
        ],
        axis=1,
    )
    parts = load @ under / load.sum()
    best = int(parts.argmax())
    either = float(load @ under.any(axis=1) / load.sum())
    if parts[best] < MOSTLY:
        several = either >= MOSTLY
        return None, BOTH if several else NOBODY
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
