# SPDX-License-Identifier: Apache-2.0
r"""When feet stand, and how they share the load, from the motion of the soles alone.

A point of a sole carries load while it is near the height at which it usually rests and
hardly moves over the floor. Each point has its own height of rest: a rigid sole rolls
over its toes, and markers place it a centimetre or two too high or too low. The floor
may move: on a treadmill, feet that stand go backwards with the belt, so that speeds
count relative to the *floor velocity*, the usual one of the lower foot.

While two feet stand and one of them leaves, the load passes from one to the other along
half a cosine from the landing to the lift-off (a smooth transition as in Ren, Jones and
Howard, J. Biomech. 41, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.analysis.footfalls import stretches
from humans_sim.analysis.sole_points import SolePoints

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

    Args:
        t: times (n,) [s].
        points: of the soles.
        floor: its height [m]; None: each point rests where it is slow.
    """
    heights = points.positions[:, :, 2]
    lowest = _lowest(points)
    level = floor
    if level is None:
        level = float(np.percentile(lowest.min(axis=1), _LOWEST))
    belt = floor_velocity(points)
    speed = np.linalg.norm(points.velocities - belt, axis=2)
    if floor is None:
        rest = np.array(
            [_rest(heights[:, k], speed[:, k]) for k in range(heights.shape[1])]
        )
    else:
        rest = np.full(heights.shape[1], floor)
    above = np.maximum(heights - rest, 0.0)
    touching = (above < CONTACT_HEIGHT) & (speed < CONTACT_SPEED)
    down = np.stack(
        [
            _without_short(t, touching[:, points.of(k)].any(axis=1))
            for k in range(len(points.soles))
        ],
        axis=1,
    )
    share = _shares(t, down)
    return FootContacts(points.soles, down, share, rest, above, speed, level, belt)


def floor_velocity(points: SolePoints) -> np.ndarray:
    """Velocity of the floor under feet that stand; zero where it does not move (3,).

    The median over the lower foot of each sample, if most agree with it.
    """
    lowest = _lowest(points)
    means = np.stack(
        [
            points.velocities[:, points.of(k)].mean(axis=1)
            for k in range(len(points.soles))
        ],
        axis=1,
    )
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
    heights = points.positions[:, :, 2]
    return np.stack(
        [heights[:, points.of(k)].min(axis=1) for k in range(len(points.soles))],
        axis=1,
    )


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


def _shares(t: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Expected shares of the load (n, soles)."""
    single = down.sum(axis=1, keepdims=True) == 1
    share: np.ndarray = np.where(single, down, np.nan)
    if down.shape[1] == 2:
        _transfer(t, down, share)
    return share


def _transfer(t: np.ndarray, down: np.ndarray, share: np.ndarray) -> None:
    """Let the load pass from foot to foot in short double supports."""
    n = len(t)
    step = (t[-1] - t[0]) / max(n - 1, 1)
    together = down[:, 0] & down[:, 1]
    both = [(first, last + 1) for first, last in stretches(together)]
    whole = [t[end] - t[first] for first, end in both if first > 0 and end < n]
    whole = [length for length in whole if length <= LONGEST_TRANSFER]
    usual = float(np.median(whole)) if whole else USUAL_TRANSFER
    for first, end in both:
        old = _single(down[first - 1]) if first > 0 else None
        new = _single(down[end]) if end < n else None
        start = t[first] - step if old is not None else -np.inf
        stop = t[end] if new is not None else np.inf
        # Of a stretch that the recording cuts, the end that is seen counts.
        if first == 0 and new is not None:
            old, start = 1 - new, stop - max(usual, stop - t[0] + step)
        elif end == n and old is not None:
            new, stop = 1 - old, start + max(usual, t[-1] + step - start)
        if old is None or new is None or old == new:
            continue  # they stand throughout, land or leap together, or one taps
        if stop - start > LONGEST_TRANSFER + 2 * step:
            continue
        rows = slice(first, end)
        share[rows, new] = _half_cosine((t[rows] - start) / (stop - start))
        share[rows, old] = 1.0 - share[rows, new]


def _single(down: np.ndarray) -> int | None:
    """The one foot that stands; None where two do, or none."""
    return int(down.argmax()) if down.sum() == 1 else None


def _half_cosine(phase: np.ndarray) -> np.ndarray:
    """From 0 to 1 while the phase does."""
    smooth: np.ndarray = 0.5 - 0.5 * np.cos(np.pi * np.clip(phase, 0.0, 1.0))
    return smooth
