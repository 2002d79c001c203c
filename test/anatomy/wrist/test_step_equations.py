# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a step's energy, damped ligaments, gaps and their rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.anatomy import BallModel, Contacts, Ligament, Ligaments
from humans_sim.anatomy.wrist.step_equations import (
    BonePlaces,
    LigamentPull,
    NearPairs,
    StepEnergy,
    turn_rates,
)
from humans_sim.anatomy.wrist.wrist import Bone, Wrist
from humans_sim.bodies import of_sphere

COLUMNS = np.array([0, -1, 6])
H = 0.01


def places(rng):
    """Three bones anywhere, turned anyhow."""
    frames = Rotation.random(3, rng=rng).as_matrix()
    return BonePlaces(1e-2 * rng.normal(size=(3, 3)), frames)


def ties(rng, damping=4.0):
    """Ligaments between three bones, most of them taut."""
    ends = ((0, 1), (0, 2), (1, 2), (2, 0), (1, 0))
    return Ligaments(
        [
            Ligament(
                f"tie {n}",
                i,
                3e-3 * rng.normal(size=3),
                j,
                3e-3 * rng.normal(size=3),
                4e-3,
                9e-2,
                2e4,
                damping,
            )
            for n, (i, j) in enumerate(ends)
        ]
    )


def moved(start, v):
    """Bones 0 and 2 by velocities over a step."""
    x, frames = start.x.copy(), start.frames.copy()
    for k, n in enumerate((0, 2)):
        x[n] += H * v[6 * k : 6 * k + 3]
        turn = Rotation.from_rotvec(H * v[6 * k + 3 : 6 * k + 6]).as_matrix()
        frames[n] = turn @ frames[n]
    return BonePlaces(x, frames)


def rates_of(v):
    """Of the turning of bones 0 and 2."""
    return turn_rates(H * v.reshape(-1, 6)[:, 3:])


def differences(function, v, step):
    """Central differences of a function by each velocity."""
    columns = []
    for n in range(len(v)):
        shift = np.zeros_like(v)
        shift[n] = step
        columns.append((function(v + shift) - function(v - shift)) / (2 * step))
    return np.array(columns)


def test_turn_rates_are_derivatives_of_exponentials():
    """Also near zero, where series are summed."""
    rng = np.random.default_rng(0)
    for size in (1e-4, 9e-3, 1.1e-2, 0.8):
        theta, d = size * rng.normal(size=3), rng.normal(size=3)
        ahead = Rotation.from_rotvec(theta + 1e-6 * d)
        behind = Rotation.from_rotvec(theta - 1e-6 * d)
        spin = (ahead * behind.inv()).as_rotvec() / 2e-6
        assert turn_rates(theta[None])[0] @ d == pytest.approx(spin, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_the_energy(seed):
    """Of kinetic energy, stored energy and what damping takes, for large turns too."""
    rng = np.random.default_rng(seed)
    start, root = places(rng), rng.normal(size=(12, 12))
    mass, momenta = 1e-3 * root @ root.T, 1e-2 * rng.normal(size=12)
    energy = StepEnergy(mass, momenta, ties(rng), COLUMNS, start, H)
    v = np.tile([0.1, 0.1, 0.1, 20, 20, 20], 2) * rng.normal(size=12)

    def value(u):
        return energy.value(moved(start, u), u)

    gradient, _ = energy.about(moved(start, v), v, rates_of(v))
    expected = differences(value, v, 1e-4)
    assert gradient == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_second_derivatives_are_those_of_the_gradient():
    """Where no bone turned yet they are exact; then Newton's method is one."""
    rng = np.random.default_rng(5)
    start = places(rng)
    mass = np.eye(12)  # heavy: the second derivatives are positive as they are
    energy = StepEnergy(mass, np.zeros(12), ties(rng), COLUMNS, start, H)
    v = np.zeros(12)
    v[:3], v[6:9] = 0.3 * rng.normal(size=(2, 3))

    def gradient(u):
        return energy.about(moved(start, u), u, rates_of(u))[0]

    _, factor = energy.about(moved(start, v), v, rates_of(v))
    expected = differences(gradient, v, 1e-3)
    assert factor @ factor.T == pytest.approx(expected, abs=1e-5)
    assert np.abs(expected - mass).max() > 0.1


def test_factor_is_positive_where_the_energy_is_not_convex():
    """Ligaments that turn light bones over: the way of Newton's step leads down."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        start = places(rng)
        mass = np.diag(np.tile([1e-3] * 3 + [1e-8] * 3, 2))
        energy = StepEnergy(mass, np.zeros(12), ties(rng), COLUMNS, start, H)
        gradient, factor = energy.about(start, np.zeros(12), rates_of(np.zeros(12)))
        step = -np.linalg.solve(factor @ factor.T, gradient)
        assert np.isfinite(step).all() and gradient @ step < 0


def test_damped_ligaments_pull_by_the_slope_of_their_energy():
    """Never push, and begin without a jump."""
    rng = np.random.default_rng(1)
    strings = ties(rng, 50.0)
    before = np.array([3e-3, 5e-3, 8e-3, 12e-3, 20e-3])
    pull = LigamentPull(strings, before, H)
    for length in np.linspace(3e-3, 25e-3, 80):
        lengths = np.full(5, length)
        tension, slope = pull(lengths)
        step = 1e-8
        one, other = pull.energy(lengths + step), pull.energy(lengths - step)
        assert (one - other) / (2 * step) == pytest.approx(tension.sum(), abs=1e-3)
        assert (tension >= 0).all() and (slope >= 0).all()
        jump = pull(lengths + 1e-9)[0] - tension
        assert np.abs(jump).max() < 1e-3


def test_damping_is_the_law_of_the_ligaments():
    """A short step with a rate: the tension that the ligaments themselves report."""
    strings = ties(np.random.default_rng(1), 50.0)
    before, rate, h = np.full(5, 9e-3), 0.2, 1e-5
    tension, _ = LigamentPull(strings, before, h)(before + h * rate)
    expected = strings.tension(before) + 50.0 * rate
    assert tension == pytest.approx(expected, rel=1e-2)
    slackening, _ = LigamentPull(strings, before, h)(before - h * 100.0)
    assert (slackening == 0).all()  # shortens so fast that the sum would push
    free = LigamentPull(ties(np.random.default_rng(1), 0.0), before, h)
    assert free(before)[0] == pytest.approx(strings.tension(before))


def near_pairs(rng):
    """A few pairs of balls of three bones."""
    shapes = [4e-3 * rng.normal(size=(4, 3)) for _ in range(3)]
    bones = []
    for n, role in enumerate(("free", "fixed", "free")):
        place = 2e-2 * rng.normal(size=3)
        model = BallModel(place + shapes[n], np.full(4, 5e-3))
        mass = of_sphere(3e-3, 5e-3).moved(np.eye(3), place)
        bones.append(Bone(f"bone {n}", role, None, model, mass))
    wrist = Wrist("three", tuple(bones), Ligaments([]), (), np.zeros(3), True)
    start = BonePlaces(wrist.centres, np.tile(np.eye(3), (3, 1, 1)))
    found = wrist.detector().detect(wrist.poses(start.x, start.frames), margin=0.03)
    return NearPairs(found, wrist.balls(), start, COLUMNS), start


def test_rates_and_rows_are_derivatives_of_the_gaps():
    """At a trial that has turned; normals and gaps of all pairs."""
    rng = np.random.default_rng(4)
    pairs, start = near_pairs(rng)
    assert len(pairs.gaps) > 10
    assert pairs.end_gaps(start) == pytest.approx(pairs.gaps, abs=1e-15)
    v = np.tile([0.1, 0.1, 0.1, 20, 20, 20], 2) * rng.normal(size=12)
    trial, rates = moved(start, v), rates_of(v)
    expected = differences(lambda u: pairs.end_gaps(moved(start, u)), v, 1e-4).T
    rows = pairs.rows(np.arange(len(pairs.gaps)), trial, rates)
    assert H * rows[:, 0] == pytest.approx(expected, abs=1e-9)
    change = rng.normal(size=12)
    found = pairs.gap_rates(trial, change, rates)
    assert H * found == pytest.approx(expected @ change, abs=1e-8)


def test_turning_is_the_second_derivative_of_gaps_times_forces():
    """By turns of one bone and of the other."""
    rng = np.random.default_rng(6)
    pairs, start = near_pairs(rng)
    force = rng.uniform(1, 50, size=len(pairs.gaps))
    chosen = np.arange(len(force))
    blocks = pairs.turning(chosen, force, start)
    for k, n in enumerate((0, 2)):
        for axis in range(3):
            turn = np.zeros(12)
            turn[6 * k + 3 + axis] = 1e-3 / H
            ahead, behind = moved(start, turn), moved(start, -turn)
            second = pairs.end_gaps(ahead) + pairs.end_gaps(behind) - 2 * pairs.gaps
            expected = -force @ second / 1e-6
            assert blocks[n, axis, axis] == pytest.approx(expected, abs=1e-4)


def test_pairs_found_later_are_as_they_were_at_the_beginning():
    """Gaps and normals of the start, and no pair twice."""
    pairs, start = near_pairs(np.random.default_rng(4))
    c = pairs.contacts
    few = NearPairs(c.chosen(c.depth > -5e-3), pairs._balls, start, COLUMNS)
    shifted = Contacts(
        *(c.body_i, c.ball_i, c.body_j, c.ball_j),
        np.full(c.count, 1e-4),
        -c.normal,
        c.point,
        c.relative,
    )
    both = few.joined(shifted)
    assert len(few.gaps) < len(both.gaps) == len(pairs.gaps)
    assert len(np.unique(both.keys)) == len(both.keys)
    order, other = np.argsort(both.keys), np.argsort(pairs.keys)
    assert both.gaps[order] == pytest.approx(pairs.gaps[other], abs=1e-15)
    normals = both.contacts.normal[order]
    assert normals == pytest.approx(c.normal[other], abs=1e-12)
    assert both.contacts.point[order] == pytest.approx(c.point[other], abs=1e-15)
