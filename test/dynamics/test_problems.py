# SPDX-License-Identifier: Apache-2.0
"""Classic problems against analytic answers; energy, complementarity, events."""

from __future__ import annotations

import math

import numpy as np
import pytest

from humans_sim.dynamics import problems
from humans_sim.dynamics.problems import GeneralSystem
from humans_sim.dynamics.simulation import Simulation, SimulationError
from humans_sim.results.records import POINT, ContactTable
from humans_sim.results.run import Run

G = problems.GRAVITY


def simulate(
    system: GeneralSystem,
    q: list[float] | np.ndarray,
    v: list[float] | None = None,
    end: float = 1.0,
    period: float = 0.01,
    **options: object,
) -> Run:
    """Run and check the physics of every sample."""
    start = np.zeros(system.nv) if v is None else np.array(v, dtype=float)
    run = Simulation(system, **options).run(
        np.array(q, dtype=float), start, t_end=end, sampling_period=period
    )
    check = run.check()
    assert check, [finding for finding in check.findings if not finding.ok]
    return run


def kinds(run: Run) -> list[str]:
    """Kinds of the events, in order."""
    return [event.kind for event in run.events]


def times(run: Run, kind: str) -> np.ndarray:
    """Times of the events of one kind."""
    return np.array([event.time for event in run.events if event.kind == kind])


def test_bouncing_ball_impact_times() -> None:
    """Impact times to 1e-9 for 20 bounces; then closed at the accumulation time."""
    e = 0.9
    run = simulate(problems.bouncing_ball(e), [1.0], end=9.0, period=0.05)
    fall = math.sqrt(2 / G)
    exact = fall * (1 + 2 * np.cumsum(np.append(0.0, e ** np.arange(1, 80))))
    impacts = times(run, "impact")
    assert len(impacts) > 80
    np.testing.assert_allclose(impacts[:20], exact[:20], atol=1e-11, rtol=0)
    np.testing.assert_allclose(impacts[:80], exact, atol=1e-9, rtol=0)
    accumulation = fall * (1 + 2 * e / (1 - e))
    (zeno,) = [event for event in run.events if event.kind == "zeno"]
    assert zeno.detail["accumulation_time [s]"] == pytest.approx(accumulation, abs=1e-9)
    assert zeno.time < accumulation < zeno.time + 2e-4
    (closed,) = times(run, "contact_closed")
    assert closed == zeno.time
    after = run.t > accumulation
    assert (run.contacts[after] == 1).all()
    np.testing.assert_allclose(run.forces[after, 0, 0], G, rtol=1e-12)
    assert np.abs(run.q[after]).max() < 1e-10


def test_ball_at_rest_stays_at_rest() -> None:
    """Contact at t = 0: closed at once, no impact, force equal to the weight."""
    run = simulate(problems.bouncing_ball(), [0.0])
    assert kinds(run) == ["contact_closed"]
    np.testing.assert_allclose(run.forces[:, 0, 0], G, rtol=1e-14)
    assert (run.q == 0).all()


def test_impact_at_the_start() -> None:
    """A ball that touches and approaches at t = 0 bounces then."""
    run = simulate(problems.bouncing_ball(0.5), [0.0], [-2.0], end=0.1)
    assert run.events[0].kind == "impact"
    assert run.events[0].time == 0.0
    np.testing.assert_allclose(run.v[0], [1.0], rtol=1e-12)


def test_block_slides_with_the_right_acceleration() -> None:
    """Steeper than the friction angle: g (sin - mu cos)."""
    angle, mu = 0.3, 0.2
    run = simulate(problems.sliding_block(angle, mu), [0.0, 0.0], end=2.0)
    a = G * (math.sin(angle) - mu * math.cos(angle))
    np.testing.assert_allclose(run.q[:, 0], 0.5 * a * run.t**2, atol=1e-12)
    np.testing.assert_allclose(run.forces[:, 0, 0], G * math.cos(angle), rtol=1e-12)
    assert (run.contacts[1:] == 2).all()


def test_block_sticks() -> None:
    """Flatter than the friction angle: it does not move, in 100 s not at all."""
    angle, mu = 0.3, 0.5
    run = simulate(problems.sliding_block(angle, mu), [0.0, 0.0], end=100.0, period=1.0)
    assert np.abs(run.q).max() == 0.0
    np.testing.assert_allclose(run.forces[:, 0, 1], -G * math.sin(angle), rtol=1e-12)
    assert (run.contacts == 1).all()


def test_block_slides_until_it_sticks() -> None:
    """The stick event comes at v / (g (mu cos + sin)), to round-off."""
    angle, mu, speed = 0.3, 0.5, 1.0
    run = simulate(problems.sliding_block(angle, mu), [0.0, 0.0], [-speed, 0.0])
    a = G * (mu * math.cos(angle) + math.sin(angle))
    (stop,) = times(run, "stick")
    assert stop == pytest.approx(speed / a, abs=1e-8)
    assert run.q[-1, 0] == pytest.approx(-(speed**2) / 2 / a, abs=1e-14)


def test_block_slides_up_and_back() -> None:
    """Too little friction to stay: it turns round at the top."""
    angle, mu, speed = 0.3, 0.2, 1.0
    run = simulate(problems.sliding_block(angle, mu), [0.0, 0.0], [-speed, 0.0])
    up = G * (math.sin(angle) + mu * math.cos(angle))
    down = G * (math.sin(angle) - mu * math.cos(angle))
    top = speed / up
    exact = -(speed**2) / 2 / up + 0.5 * down * (1.0 - top) ** 2
    assert run.q[-1, 0] == pytest.approx(exact, abs=1e-8)
    (turn,) = times(run, "slip")
    assert turn == pytest.approx(top, abs=1e-8)


def test_sticking_law_never_slides() -> None:
    """The manual's law holds a block on any slope."""
    run = simulate(
        problems.sliding_block(1.2, 0.1, law="sticking"), [0.0, 0.0], end=5.0
    )
    assert np.abs(run.q).max() == 0.0


def test_pendulum_into_its_limit() -> None:
    """Speed at the stop by energy, reversed by e; the bounces die out."""
    e, limit, start = 0.5, 0.0, 1.0
    run = simulate(problems.pendulum(limit, e), [start], end=10.0)
    impacts = [event for event in run.events if event.kind == "impact"]
    energy = G * (math.cos(limit) - math.cos(start))
    for k in range(8):
        before = impacts[k].detail["energy_before [J]"]
        assert before == pytest.approx(energy * e ** (2 * k), rel=1e-8)
    # From the stop at the lowest point, each swing has the period of its amplitude.
    quarter = _swing(start) / 4
    assert impacts[0].time == pytest.approx(quarter, abs=1e-9)


def _swing(amplitude: float) -> float:
    from scipy.special import ellipk

    return 4 * math.sqrt(1 / G) * float(ellipk(math.sin(amplitude / 2) ** 2))


def test_rod_falls_on_its_tip() -> None:
    """Plastic, frictionless: the analytic velocity after the impact, then sliding."""
    angle, length, drop = math.pi / 6, 1.0, 0.1
    rod = problems.falling_rod(0.0)
    height = length / 2 * math.cos(angle) + drop
    run = simulate(rod, [0.0, height, angle], end=1.0)
    hit = next(event for event in run.events if event.kind == "impact")
    speed = math.sqrt(2 * G * drop)
    assert hit.time == pytest.approx(speed / G, abs=1e-12)
    arm = length / 2 * math.sin(angle)
    inertia = length**2 / 12
    impulse = speed / (1 + arm**2 / inertia)
    assert hit.detail["normal_impulse corner_0 [N s]"] == pytest.approx(
        impulse, rel=1e-12
    )
    # No horizontal force: the centre falls straight down, and it ends lying flat.
    assert np.abs(run.q[:, 0]).max() < 1e-12
    assert run.q[-1, 2] == pytest.approx(math.pi / 2, abs=1e-9)
    assert run.q[-1, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_rod_with_friction(friction: float) -> None:
    """It hits, sticks or slips, and ends lying flat and at rest."""
    height = 0.5 * math.cos(math.pi / 6) + 0.1
    run = simulate(problems.falling_rod(friction), [0.0, height, math.pi / 6], end=1.5)
    assert np.abs(run.v[-1]).max() < 1e-8
    assert run.q[-1, 2] == pytest.approx(math.pi / 2, abs=1e-9)
    assert run.forces[-1, :, 0].sum() == pytest.approx(G, rel=1e-9)


@pytest.mark.parametrize("angle, mu", [(-1.0, 2.5), (-0.9, 2.0), (-1.2, 5.0)])
def test_painleve_jumps_without_collision(angle: float, mu: float) -> None:
    """A rod that slides into its own friction sticks at once (Genot and Brogliato).

    Where there is no acceleration, friction brakes the tip until it sticks: the
    velocity after the jump is the nearest one, in the mass metric, with a tip at rest.
    """
    rod = problems.falling_rod(mu)
    q, v = np.array([0.0, 0.5 * math.cos(angle), angle]), np.array([-1.0, 0.0, 0.0])
    run = simulate(rod, q, list(v), end=0.5)
    rows, mass = rod.terms(q, v, np.array([0])).jacobian[0, :2], rod.terms(q, v, [0])[0]
    mobility = np.linalg.solve(mass, rows.T)
    impulse = np.linalg.solve(rows @ mobility, -rows @ v)
    assert impulse[0] > 0 and abs(impulse[1]) < mu * impulse[0]
    np.testing.assert_allclose(run.v[0], v + mobility @ impulse, atol=1e-9)
    jump = run.events[0]
    assert jump.kind == "impact" and "Painleve" in str(jump.detail["reason"])
    assert jump.detail["normal_impulse corner_0 [N s]"] == pytest.approx(
        impulse[0], rel=1e-8
    )
    assert jump.detail["energy_after [J]"] < jump.detail["energy_before [J]"]
    assert run.contacts[0, 0] == 1
    assert "hand_over" not in kinds(run)


def test_painleve_with_two_answers_takes_the_stable_one() -> None:
    """Spinning fast, the same rod could stay or lift: it lifts, as its motion wants."""
    angle, spin = -1.0, 8.0
    arm = 0.5 * np.array([math.sin(angle), -math.cos(angle)])
    run = simulate(
        problems.falling_rod(2.5),
        [0.0, 0.5 * math.cos(angle), angle],
        [-1.0 + arm[1] * spin, -arm[0] * spin, spin],
        end=0.02,
        period=0.001,
    )
    assert not run.forces[0].any()
    assert run.gaps[1, 0] > 0
    # Free flight: the centre falls on its parabola, the spin stays.
    fall = run.q[0, 1] + run.v[0, 1] * run.t - 0.5 * G * run.t**2
    np.testing.assert_allclose(run.q[:, 1], fall, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 2], spin, rtol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("restitution", [0.0, 0.9])
def test_rocking_block(friction: float, restitution: float) -> None:
    """Energy never grows, nothing penetrates; the block never flies off."""
    block = problems.rocking_block(friction, restitution)
    run = simulate(block, problems.rocking_block_start(), end=4.0)
    assert run.q[:, 1].max() <= 0.5 * math.hypot(1.0, 0.5) + 1e-9
    if restitution == 0.0:
        assert np.abs(run.v[-1]).max() < 1e-8
        assert run.q[-1, 2] == pytest.approx(0.0, abs=1e-9)
        assert run.forces[-1, :, 0].sum() == pytest.approx(G, rel=1e-8)
    if friction == 0.0:
        assert np.abs(run.v[:, 0]).max() < 1e-12


def test_frictional_restitution_would_grow() -> None:
    """Newton's coefficient with friction asks for energy; it is lowered, and said."""
    block = problems.rocking_block(2.0, 0.95)
    start = problems.rocking_block_start(0.3)
    run = simulate(block, start, [2.0, 0.0, -3.0], end=1.0)
    for event in run.events:
        if event.kind == "impact":
            before = event.detail["energy_before [J]"]
            assert event.detail["energy_after [J]"] <= before * (1 + 1e-12)


def test_woodpecker_is_periodic() -> None:
    """The same events come again, one period later, one step lower."""
    system = problems.woodpecker()
    q, v = problems.WOODPECKER_START
    run = simulate(system, q, v, end=0.6, period=0.001)
    sticks = times(run, "stick")
    assert len(sticks) >= 3
    periods = np.diff(sticks)
    np.testing.assert_allclose(periods, periods[-1], rtol=5e-3)
    # Energy of one period goes from height into friction and impacts.
    assert run.q[-1, 0] < -0.05


def test_cradle_and_column() -> None:
    """Beads: momentum of the cradle stays; the column comes to rest, stacked."""
    run = simulate(
        problems.beads(3, 0.1, 1.0, cradle=True), [0.0, 0.31, 0.62], [1.0, 0.0, 0.0]
    )
    np.testing.assert_allclose(run.v.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(run.v[-1], [0.0, 0.0, 1.0], atol=1e-9)
    column = simulate(problems.beads(3, 0.1, 0.5), [1.0, 1.3, 1.6], end=4.0)
    np.testing.assert_allclose(column.q[-1], [0.1, 0.3, 0.5], atol=1e-9)
    np.testing.assert_allclose(column.forces[-1, :, 0], [3 * G, 2 * G, G], rtol=1e-6)


def test_slider_hits_both_walls() -> None:
    """Without a spring, the n-th flight takes clearance / (v e^n)."""
    clearance, e, speed = 0.1, 0.8, 1.0
    run = simulate(problems.slider_in_clearance(clearance, e), [0.0], [speed], end=1.0)
    hits = times(run, "impact")
    exact = clearance / 2 / speed + np.cumsum(
        np.append(0.0, clearance / speed * e ** -np.arange(1.0, 5.0))
    )
    np.testing.assert_allclose(hits[:5], exact, atol=1e-12)


def test_chain_with_a_limit() -> None:
    """A double pendulum whose elbow stops: limit reached and left, energy never up."""
    run = simulate(problems.chain(-0.2, 0.3), [1.0, 0.5], end=5.0)
    assert "limit_reached" in kinds(run)
    assert "limit_left" in kinds(run)
    assert run.gaps.min() > -1e-9


def test_grazing_contact() -> None:
    """A ball that just touches at the bottom of its path, or just does not."""
    for depth, hits in ((1e-6, 1), (-1e-6, 0)):
        system = _thrown_over_a_bump(depth)
        run = simulate(system, [-1.0, 1.0], [1.0, 0.0], end=2.0, period=0.5)
        assert len(times(run, "impact")) == hits, depth


def _thrown_over_a_bump(depth: float) -> GeneralSystem:
    """Straight flight at height 1 over a parabolic bump whose top is 1 + depth high."""
    table = ContactTable.of(("bump",), (POINT,), 0, 0.0, 0.0)

    def gap(q: np.ndarray) -> np.ndarray:
        return np.array([q[1] - 1.0 - depth + q[0] ** 2])

    return GeneralSystem(
        name="grazing",
        position_names=("x", "z"),
        mass=lambda q: np.eye(2),
        force=lambda q, v: np.zeros(2),
        potential=lambda q: 0.0,
        contacts=table,
        gap=gap,
        jacobian=lambda q: np.array([[[2 * q[0], 1.0], [0.0, 0.0], [0.0, 0.0]]]),
        drift=lambda q, v: np.array([[2 * v[0] ** 2, 0.0, 0.0]]),
    )


def test_simultaneous_impacts() -> None:
    """Both corners of a flat block land at once: one impact, two contacts."""
    run = simulate(problems.rocking_block(), [0.0, 0.35, 0.0], end=0.5)
    impacts = [event for event in run.events if event.kind == "impact"]
    assert len(impacts) == 1
    assert impacts[0].subject == "corner_0,corner_1"
    assert impacts[0].time == pytest.approx(math.sqrt(2 * 0.1 / G), abs=1e-12)
    np.testing.assert_allclose(run.forces[-1, :, 0], G / 2, rtol=1e-9)


def test_drift_is_pulled_back() -> None:
    """A contact that starts off its surface by rounding ends on it."""
    run = simulate(problems.rocking_block(), [0.0, 0.25 - 5e-7, 0.0], end=1.0)
    assert np.abs(run.gaps[0]).max() < 1e-12
    assert np.abs(run.gaps[-1]).max() < 1e-12


def test_lift_off_by_the_problem() -> None:
    """On a table that drops away faster than g: lift-off when the force ends."""
    amplitude, rate = 0.2, 9.0
    top = math.asin(G / amplitude / rate**2) / rate
    table = ContactTable.of(("table",), (POINT,), 0, 0.0, 0.0)
    # In the table's frame the weight is g - amplitude rate^2 sin(rate t): q0 is time.
    system = GeneralSystem(
        name="shaken block",
        position_names=("time", "height"),
        mass=lambda q: np.eye(2),
        force=lambda q, v: np.array(
            [0.0, -G + amplitude * rate**2 * math.sin(rate * q[0])]
        ),
        potential=lambda q: 0.0,
        contacts=table,
        gap=lambda q: q[1:].copy(),
        jacobian=lambda q: np.array([[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]]),
    )
    run = Simulation(system, passive=False).run(
        np.zeros(2), np.array([1.0, 0.0]), t_end=0.3
    )
    assert run.check()
    (opened,) = times(run, "contact_opened")[:1]
    assert opened == pytest.approx(top, abs=1e-9)


def test_failure_keeps_what_was_computed() -> None:
    """A force that blows up ends the run with time, state and all samples before."""
    system = problems.bouncing_ball()

    def blows_up(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([-G if q[0] > 0.5 else math.nan])

    from dataclasses import replace

    with pytest.raises(SimulationError) as info:
        Simulation(replace(system, force=blows_up)).run(np.array([1.0]), t_end=1.0)
    error = info.value
    assert 0.2 < error.time < math.sqrt(1 / G) + 1e-6
    assert len(error.run.t) > 20
    assert error.q[0] >= 0.5 - 1e-6
    assert error.run.events[-1].kind == "failure"


def test_a_run_that_takes_for_ever_ends() -> None:
    """A budget of work for each 10 ms; the error says what to try."""
    ball = problems.bouncing_ball(0.9999999)
    few = {"max_work": 500, "hand_over": False}
    with pytest.raises(SimulationError, match="too much work.*time_stepping") as info:
        simulate(ball, [1e-6], end=1.0, period=1.0, **few)
    assert 0.0 < info.value.time < 1.0
    assert len(info.value.run.events) > 3
