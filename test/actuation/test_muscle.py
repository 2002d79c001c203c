# SPDX-License-Identifier: Apache-2.0
"""Muscles alone: recruitment, command signal, geometry, (1.11), physiology."""

from __future__ import annotations

import math

import muscle_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.actuation import (
    HAMSTRINGS,
    QUADRICEPS,
    CommandSignal,
    KneeGeometry,
    MuscleError,
    MuscleParameters,
    Stimulator,
    simulate_muscle,
)
from humans_sim.actuation.muscle import (
    DECLINING,
    RELAXED,
    STIMULATED,
    STRAIGHT,
    WRAPPED,
    CommandClocks,
    ContractilePart,
    contraction,
    force_length,
    parallel_spring,
    path_length,
)

FULL = Stimulator().max_charge


def train(rate: float, end: float, share: float = 1.0) -> list[tuple[float, float]]:
    """Pulses at a rate [Hz]."""
    charge = Stimulator().charge(share)
    return [(k / rate, charge) for k in range(math.ceil(end * rate))]


def test_recruitment() -> None:
    """Nothing at zero, all at the largest pulse, half at half, and its inverse."""
    stimulator = Stimulator()
    assert stimulator.recruitment(0.0) == 0.0
    assert stimulator.recruitment(FULL) == 1.0
    assert stimulator.recruitment(0.5 * FULL) == pytest.approx(0.5, abs=1e-15)
    quarter = 0.5 - 0.5 * math.tanh(1.25) / math.tanh(2.5)
    assert stimulator.recruitment(0.25 * FULL) == pytest.approx(quarter, abs=1e-15)
    for share in (0.0, 0.01, 0.3, 0.9, 1.0):
        charge = stimulator.charge(share)
        assert stimulator.recruitment(charge) == pytest.approx(share, abs=1e-14)
    for wrong in (-1e-9, 1.001 * FULL, math.nan, math.inf):
        with pytest.raises(hs.errors.ParameterError, match="A s"):
            stimulator.recruitment(wrong)


def test_command_signal() -> None:
    """States, values and clocks of one pulse, and of one that comes in between."""
    clocks = CommandClocks(2, CommandSignal())
    assert clocks.next_time() == math.inf
    assert list(clocks.values(0.0)) == [-5.0, -5.0]
    clocks.stimulate(0, 1.0)
    assert list(clocks.calcium_states()) == [STIMULATED, RELAXED]
    assert list(clocks.next_switches()) == [1.02, math.inf]
    clocks.tick(clocks.next_time())
    assert clocks.calcium_states()[0] == DECLINING
    assert clocks.values(1.0225)[0] == pytest.approx(2.5, abs=1e-10)
    zero = clocks.next_time()
    assert zero == pytest.approx(1.025, abs=1e-15)
    assert clocks.values(zero)[0] == pytest.approx(0.0, abs=1e-10)
    clocks.tick(zero)
    assert clocks.calcium_states()[0] == DECLINING
    assert clocks.values(1.0275)[0] == pytest.approx(-2.5, abs=1e-10)
    clocks.stimulate(0, 1.028)
    assert clocks.values(1.029)[0] == 5.0
    assert clocks.next_time() == 1.028 + 0.02
    clocks.tick(2.0)
    assert list(clocks.calcium_states()) == [RELAXED, RELAXED]
    assert clocks.next_time() == math.inf


@pytest.mark.parametrize("flexion", [0.05, 0.7, 1.5, 1.9])
def test_knee_geometry(flexion: float) -> None:
    """Paths measured on a drawn knee, and their slopes by differences."""
    knee = KneeGeometry()
    top = np.array([0.0, knee.origin])
    shank = np.array([-math.sin(flexion), -math.cos(flexion)])
    behind = knee.hamstrings_insertion * shank
    length, _ = path_length(STRAIGHT, flexion, knee.path("hamstrings"))
    assert length == pytest.approx(np.linalg.norm(top - behind), abs=1e-14)

    # a string from the thigh over the front of the circle to the shank: half a hull
    angles = np.linspace(-math.pi / 2, math.pi / 2, 4001)
    circle = knee.radius * np.column_stack([np.cos(angles), np.sin(angles)])
    end = knee.quadriceps_insertion * shank
    turn = np.linspace(-math.pi / 2, -math.pi / 2 - flexion, 4001)
    more = knee.radius * np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.vstack([top, end, circle, more])
    corners = points[ConvexHull(points).vertices]
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    around = sides.sum() - sides[_side(corners, top, end)]
    length, _ = path_length(WRAPPED, flexion, knee.path("quadriceps"))
    assert length == pytest.approx(around, abs=1e-6)

    for kind, name in ((WRAPPED, "quadriceps"), (STRAIGHT, "hamstrings")):
        path, h = knee.path(name), 1e-6
        above, below = (path_length(kind, flexion + d, path)[0] for d in (h, -h))
        slope = path_length(kind, flexion, path)[1]
        assert slope == pytest.approx((above - below) / (2 * h), abs=1e-9)


def _side(corners: np.ndarray, one: np.ndarray, other: np.ndarray) -> int:
    """The side of a polygon that joins two of its corners directly."""
    for k in range(len(corners)):
        ends = (corners[k], corners[(k + 1) % len(corners)])
        if all(any((c == e).all() for e in ends) for c in (one, other)):
            return k
    raise AssertionError("the string touches the back of the knee")


NUMBERS = st.floats(0.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(NUMBERS, st.floats(-4.0, 4.0), NUMBERS, NUMBERS, st.floats(-5.0, 5.0), NUMBERS)
def test_equations_term_by_term(
    strain: float, strain_rate: float, k: float, f: float, u: float, share: float
) -> None:
    """What is found solves (1.11), and the power balances."""
    muscle = HAMSTRINGS
    strain, stiffness, force = strain - 0.5, 1e4 * k, 600.0 * f
    best = muscle.force * force_length(strain)
    top = muscle.series_stiffness * muscle.length * strain_rate
    top += force * abs(u) - share * best * max(u, 0.0)
    numerator, _, rate, growth, pull = contraction(
        strain,
        strain_rate,
        ContractilePart(stiffness, force, 1.0 if top > 0 else -1.0),
        abs(u),
        share * max(u, 0.0),
        muscle.row(),
    )
    assert numerator == pytest.approx(top, rel=1e-12, abs=1e-9)
    driven = share * max(u, 0.0) * force_length(strain)
    lost = abs(u) + abs(rate)
    third = muscle.series_stiffness * (
        muscle.length * strain_rate - muscle.contractile_length * rate
    )
    second = driven * muscle.force - lost * force
    second += stiffness * muscle.contractile_length * rate
    first = driven * muscle.stiffness - lost * stiffness
    assert growth == pytest.approx(first, rel=1e-12, abs=1e-6)
    assert pull == pytest.approx(second, rel=1e-12, abs=1e-7)
    assert pull == pytest.approx(third, rel=1e-10, abs=1e-7)
    given_in = force * muscle.length * strain_rate
    springs = force * pull / muscle.series_stiffness
    inside = force * muscle.contractile_length * rate
    assert given_in == pytest.approx(springs + inside, rel=1e-10, abs=1e-7)


def test_stored_energy_is_the_work_of_the_springs() -> None:
    """Its derivatives are the forces."""
    muscle = MuscleParameters(parallel_force=300.0, parallel_exponent=6.0)
    h = 1e-6
    for strain in (-0.2, 0.0, 0.3):
        above, below = (muscle.stored_energy(strain + d, 0.0) for d in (h, -h))
        slope = (above - below) / (2 * h * muscle.length)
        force = parallel_spring(strain, muscle.row())
        assert slope == pytest.approx(force, rel=1e-7, abs=1e-6)
    assert muscle.stored_energy(0.0, 200.0) == pytest.approx(200.0**2 / 2e4)


def test_against_extended_precision() -> None:
    """A moved, stimulated muscle, and when its contractile part turns round."""
    shares = [(0.01, 0.6), (0.035, 1.0), (0.09, 0.3)]
    stimulator = Stimulator()
    pulses = [(time, stimulator.charge(share)) for time, share in shares]
    end, depth, speed = 0.25, 0.06, 50.0

    def strain(t: float) -> tuple[float, float]:
        angle = speed * t
        return depth * math.sin(angle), depth * speed * math.cos(angle)

    def length(t: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
        angle = reference.Real(speed) * t
        depth_ = reference.Real(depth)
        return depth_ * np.sin(angle), depth_ * speed * np.cos(angle)

    def both(t: np.longdouble, y: np.ndarray, middle: np.longdouble) -> tuple:
        u, share = reference.signal(t, shares, middle)
        return reference.contract(QUADRICEPS, *length(t), u, share, y[0], y[1])

    state, turned = reference.integrate(
        lambda t, y, middle: np.array(both(t, y, middle)[1:]),
        lambda t, y, middle: np.array(both(t, y, middle)[:1]),
        (0.0, 0.0),
        reference.kinks(shares),
        end,
        1e-4,
    )
    history = simulate_muscle(QUADRICEPS, pulses, strain, end, rtol=1e-12)
    final = (history.contractile_stiffness[-1], history.contractile_force[-1])
    np.testing.assert_allclose(final, state.astype(float), rtol=2e-9)
    assert len(turned) >= 3
    times = np.array([time for time, _ in turned], dtype=float)
    np.testing.assert_allclose(history.switches, times, rtol=0, atol=1e-9)


def test_twitch() -> None:
    """One pulse: the force rises while the signal is above zero, then relaxes."""
    history = simulate_muscle(QUADRICEPS, [(0.05, FULL)], t_end=1.5)
    force, t = history.force, history.t
    assert not force[t <= 0.05].any()
    assert t[force.argmax()] == pytest.approx(0.075, abs=1.5e-3)
    assert 30.0 < force.max() < 100.0
    assert (np.diff(force[force.argmax() :]) < 0).all()
    assert force[-1] < 2e-3 * force.max()


@pytest.mark.study
def test_tetanus() -> None:
    """The faster the pulses the larger the force and the smaller its ripple."""
    ripples, means = [], []
    for rate in (5.0, 10.0, 25.0, 50.0):
        force = simulate_muscle(QUADRICEPS, train(rate, 5.0), t_end=5.0).force[-201:]
        means.append(force.mean())
        ripples.append((force.max() - force.min()) / force.mean())
    assert (np.diff(means) > 0).all() and (np.diff(ripples) < 0).all()
    assert ripples[0] > 0.5 and ripples[-1] < 1e-4


@pytest.mark.parametrize(("strain", "share"), [(0.0, 1.0), (-0.2, 0.4), (0.3, 0.8)])
def test_steady_isometric_force(strain: float, share: float) -> None:
    """Held stimulated by pulse after pulse, the force is alpha F_0 (1.10)."""
    expected = share * 500.0 * (1 - (strain / 0.4) ** 2)
    history = simulate_muscle(QUADRICEPS, train(60.0, 7.0, share), strain, 7.0)
    assert history.force[-1] == pytest.approx(expected, rel=1e-6)
    assert history.contractile_stiffness[-1] == pytest.approx(20 * expected, rel=1e-6)


@pytest.mark.parametrize("speed", [-3.0, -1.0, 0.5, 3.0])
def test_force_at_constant_speed(speed: float) -> None:
    """On a ramp through rest length, k_c and F_c are those at which (1.11) rests."""
    quick, hold = CommandSignal(upper=100.0, hold=9.0), 0.3
    end = hold + 0.35 / abs(speed)

    def strain(t: float) -> tuple[float, float]:
        return (speed * (t - end), speed) if t >= hold else (speed * (hold - end), 0.0)

    history = simulate_muscle(
        QUADRICEPS, [(0.0, FULL)], strain, end, breaks=[hold], signal=quick
    )
    rate = speed * QUADRICEPS.length / QUADRICEPS.contractile_length
    share = 100.0 / (100.0 + abs(rate))
    stiffness = 1e4 * share
    force = 500.0 * share + stiffness * 0.082 * rate / (100.0 + abs(rate))
    # the muscle lags: it still feels where it was a few milliseconds before
    assert history.contractile_stiffness[-1] == pytest.approx(stiffness, rel=0.03)
    assert history.force[-1] == pytest.approx(force, rel=0.03)


def test_no_force_beyond_the_widest_strain() -> None:
    """Outside a strain of 0.4 a muscle cannot pull; its parallel spring can."""
    muscle = MuscleParameters(parallel_force=100.0, parallel_exponent=5.0)
    for strain in (-0.5, 0.41):
        history = simulate_muscle(muscle, train(50.0, 0.3), strain, 0.3)
        assert not history.contractile_force.any()
        passive = 20.0 * (math.exp(5.0 * strain) - 1.0)
        np.testing.assert_allclose(history.force, passive, rtol=1e-14)


def test_a_muscle_at_rest_has_no_events() -> None:
    """Its numerator is zero for good: nothing turns round."""
    history = simulate_muscle(QUADRICEPS, [], 0.1, 1.0)
    assert history.switches == () and not history.force.any()


def test_bad_muscles() -> None:
    """Numbers without meaning are refused; so is a state without a solution."""
    for wrong in ({"force": 0.0}, {"length": math.nan}, {"parallel_force": -1.0}):
        with pytest.raises(hs.errors.ParameterError, match=next(iter(wrong))):
            MuscleParameters(**wrong)
    with pytest.raises(hs.errors.ParameterError, match="scale"):
        QUADRICEPS.scaled(0.0)
    with pytest.raises(hs.errors.ParameterError, match="radius"):
        KneeGeometry(radius=0.06)
    with pytest.raises(hs.errors.ParameterError, match="fall"):
        CommandSignal(fall=0.0)
    with pytest.raises(hs.errors.ParameterError, match="max_width"):
        Stimulator(max_width=-1.0)
    with pytest.raises(hs.errors.ParameterError, match="t_end"):
        simulate_muscle(QUADRICEPS, [], t_end=0.0)
    with pytest.raises(hs.errors.ParameterError, match="pulses"):
        simulate_muscle(QUADRICEPS, [(-0.1, FULL)])
    with pytest.raises(MuscleError, match="series_stiffness"):
        simulate_muscle(QUADRICEPS, [], start=(0.0, 1000.0))
