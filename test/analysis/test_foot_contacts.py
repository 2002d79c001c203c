# SPDX-License-Identifier: Apache-2.0
"""When feet stand: walks whose stances are known, on floors and on belts."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.analysis.foot_contacts import (
    LONGEST_TRANSFER,
    SolePoints,
    find_contacts,
    floor_velocity,
)

RATE = 100.0
SPEED = 1.2
STANCE, STRIDE = 0.65, 1.0
"""Times of a foot on the ground, and of a stride [s]."""
TOE, HEEL = (0.1, 0.02), (-0.1, 0.0)
"""Places of the points along the foot, and heights at which they rest [m]."""


def stepping(
    n: int, belt: float = 0.0, start: float = 0.0
) -> tuple[np.ndarray, SolePoints, np.ndarray]:
    """Two feet with two points each that step along x; times, points, stances."""
    t = start + np.arange(n) / RATE
    positions = np.zeros((n, 4, 3))
    down = np.zeros((n, 2), dtype=bool)
    swing = STRIDE - STANCE
    for foot, offset in enumerate((0.0, STRIDE / 2)):
        count, phase = np.divmod(t + offset, STRIDE)
        share = np.clip((phase - STANCE) / swing, 0.0, 1.0)
        place = SPEED * STRIDE * (count + share - np.sin(2 * np.pi * share) / 6.3)
        lift = 0.12 * np.sin(np.pi * share) ** 2
        down[:, foot] = phase <= STANCE
        for k, (along, rest) in enumerate((TOE, HEEL)):
            column = 2 * foot + k
            positions[:, column, 0] = place + along + belt * t
            positions[:, column, 1] = 0.1 * (1 - 2 * foot)
            positions[:, column, 2] = rest + lift
    velocities = np.gradient(positions, 1 / RATE, axis=0)
    owners = np.array([0, 0, 1, 1])
    return t, SolePoints(("l_sole", "r_sole"), owners, positions, velocities), down


@pytest.mark.parametrize("belt", [0.0, -SPEED])
def test_stances_on_floors_and_belts(belt: float) -> None:
    """Within four hundredths of a second, each point at its own height of rest."""
    t, points, down = stepping(290, belt)
    contacts = find_contacts(t, points)
    np.testing.assert_allclose(contacts.floor_velocity, [belt, 0.0, 0.0], atol=0.02)
    np.testing.assert_allclose(contacts.rest, [0.02, 0.0, 0.02, 0.0], atol=1e-3)
    assert (contacts.down != down).mean() < 0.08
    late = np.abs(np.diff(contacts.down.astype(int), axis=0)).sum(axis=0)
    np.testing.assert_array_equal(late, np.abs(np.diff(down, axis=0)).sum(axis=0))


def test_the_load_passes_smoothly() -> None:
    """From foot to foot: shares add up to one, move one way, and are half midway."""
    t, points, _ = stepping(300)
    contacts = find_contacts(t, points)
    share, both = contacts.share, contacts.down.all(axis=1)
    np.testing.assert_allclose(share[contacts.down.any(axis=1)].sum(axis=1), 1.0)
    np.testing.assert_array_equal(share[~both], contacts.down[~both])
    edges = np.flatnonzero(np.diff(both.astype(int)))
    firsts, lasts = edges[::2] + 1, edges[1::2]
    if both[0]:
        firsts, lasts = edges[1::2][: len(edges[2::2])] + 1, edges[2::2]
    assert len(firsts) >= 4
    for first, last in zip(firsts, lasts, strict=False):
        passed = share[first : last + 1, 0]
        assert (np.diff(passed) > 0).all() or (np.diff(passed) < 0).all()
        assert np.median(passed) == pytest.approx(0.5, abs=0.15)


def test_a_cut_double_support_is_completed() -> None:
    """A recording that begins in one gives the foot that stays its growing share."""
    t, points, _ = stepping(300, start=0.55)
    contacts = find_contacts(t, points)
    assert contacts.down[0].all()
    stays = int(contacts.down[20].argmax())
    share = contacts.share[: int(np.argmin(contacts.down.all(axis=1))), stays]
    assert share[0] > 0.2
    assert (np.diff(share) > 0).all()


def test_standing_suggests_no_share() -> None:
    """Feet that stay together share as moments say: nothing is expected of them."""
    n = 60
    positions = np.zeros((n, 4, 3))
    positions[:, :, 0] = [0.1, -0.1, 0.1, -0.1]
    still = np.zeros_like(positions)
    owners = np.array([0, 0, 1, 1])
    points = SolePoints(("l_sole", "r_sole"), owners, positions, still)
    contacts = find_contacts(np.arange(n) / RATE, points)
    assert contacts.down.all()
    assert np.isnan(contacts.share).all()
    assert not floor_velocity(points).any()
    assert LONGEST_TRANSFER < n / RATE


def test_a_flight_belongs_to_nobody() -> None:
    """Feet in the air do not stand, and nothing is expected of them."""
    n = 100
    t = np.arange(n) / RATE
    positions = np.zeros((n, 4, 3))
    rise = np.clip(t - 0.5, 0.0, None)
    positions[:, :, 2] = (3.0 * rise - 4.905 * rise**2)[:, None]
    velocities = np.gradient(positions, 1 / RATE, axis=0)
    owners = np.array([0, 0, 1, 1])
    points = SolePoints(("l_sole", "r_sole"), owners, positions, velocities)
    contacts = find_contacts(t, points)
    assert contacts.down[:49].all()
    assert not contacts.down[55:95].any()
    assert np.isnan(contacts.share[55:95]).all()
