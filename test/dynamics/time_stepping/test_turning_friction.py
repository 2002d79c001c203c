# SPDX-License-Identifier: Apache-2.0
"""Rolling and torsional friction of balls, against analytic motions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.resources import resource
from humans_sim.results.run import Run

G = 9.81
RADIUS = 0.1
LENGTH = 2e-3


@pytest.fixture(scope="module")
def ball() -> hs.Model:
    """A solid ball."""
    return hs.load_model(resource("urdf", "ball.urdf"))


def rolled(
    ball: hs.Model, ground: hs.Ground, v: list[float], t_end: float, h: float = 1e-3
) -> Run:
    """A run of the ball on a ground."""
    sim = hs.Simulation(
        ball,
        ground=ground,
        contacts=hs.Contacts(radii={"centre": RADIUS}),
        method="time_stepping",
        time_step=h,
    )
    q = ball.neutral()
    q[:3] = RADIUS * np.array(ground.solids[0].normal)
    stepper = sim.start(q, np.array(v, float))
    stepper.advance(t_end)
    assert stepper.steps.rough_steps == 0
    run = sim.run(q, np.array(v, float), t_end=t_end)
    check = run.check()
    assert check["least gap"].ok and check["largest force outside its cone"].ok
    return run


def inertia_ratio(ball: hs.Model) -> float:
    """I / (m r^2); 2/5 of a solid ball."""
    return float(ball.pin.inertias[1].inertia[0, 0] / (ball.mass * RADIUS**2))


@pytest.mark.study
def test_rolls_to_a_stop(ball: hs.Model) -> None:
    """The ball slows by g l / (r (1 + k)) and stops: the moment l N against inertia."""
    ground = hs.Ground(friction=0.5, rolling=LENGTH)
    slow = G * LENGTH / (RADIUS * (1 + inertia_ratio(ball)))
    speed = 0.2
    stop = speed / slow
    run = rolled(ball, ground, [speed, 0, 0, 0, speed / RADIUS, 0], 1.3 * stop)
    speeds = np.diff(run.q[:, 0]) / np.diff(run.t)
    middle = 0.5 * (run.t[1:] + run.t[:-1])
    along = run.t[1:] < stop - 0.02
    np.testing.assert_allclose(speeds[along], speed - slow * middle[along], atol=2e-4)
    assert run.q[-1, 0] == pytest.approx(0.5 * speed**2 / slow, rel=2e-3)
    assert np.abs(run.v[run.t > stop + 0.02]).max() < 1e-9


@pytest.mark.parametrize(("share", "rests"), [(0.98, True), (1.02, False)])
def test_stays_on_a_slope(ball: hs.Model, share: float, rests: bool) -> None:
    """It stays where tan of the slope is below l / r, and rolls where it is above."""
    angle = math.atan(share * LENGTH / RADIUS)
    ground = hs.Ground.slope(angle, friction=0.5, rolling=LENGTH)
    run = rolled(ball, ground, [0.0] * 6, 1.0)
    if rests:
        assert np.abs(run.q[-1, :3] - run.q[0, :3]).max() < 1e-9
        return
    pull = G * (math.sin(angle) - LENGTH / RADIUS * math.cos(angle))
    path = 0.5 * pull / (1 + inertia_ratio(ball))
    moved = float(np.linalg.norm(run.q[-1, :3] - run.q[0, :3]))
    assert moved == pytest.approx(path, rel=5e-3)


def test_spin_slows(ball: hs.Model) -> None:
    """A ball that spins on the spot slows by l m g / I and stops."""
    ground = hs.Ground(friction=0.5, torsional=LENGTH)
    slow = LENGTH * G / (inertia_ratio(ball) * RADIUS**2)
    spin = 2.0
    stop = spin / slow
    run = rolled(ball, ground, [0, 0, 0, 0, 0, spin], 1.3 * stop)
    moving = run.t < stop
    np.testing.assert_allclose(run.v[moving, 5], spin - slow * run.t[moving], atol=1e-8)
    assert np.abs(run.v[run.t > stop + 2e-3]).max() < 1e-9
    assert np.abs(run.q[:, :2]).max() < 1e-9


def test_torsion_does_not_slow_rolling(ball: hs.Model) -> None:
    """Rolling has no part about the normal: torsional friction leaves it alone."""
    v = [0.2, 0, 0, 0, 0.2 / RADIUS, 0]
    run = rolled(ball, hs.Ground(friction=0.5, torsional=LENGTH), v, 0.5)
    free = rolled(ball, hs.Ground(friction=0.5), v, 0.5)
    np.testing.assert_allclose(run.q[-1], free.q[-1], atol=1e-9)


def test_refusals(ball: hs.Model) -> None:
    """Negative lengths, and the method that does not know these laws."""
    for word in ("rolling", "torsional"):
        with pytest.raises(hs.errors.ParameterError, match=word):
            hs.Ground(**{word: -1.0})
        with pytest.raises(hs.errors.ParameterError, match="time_stepping"):
            hs.Simulation(
                ball,
                ground=hs.Ground(**{word: LENGTH}),
                contacts=hs.Contacts(radii={"centre": RADIUS}),
            )
    # A point does not roll: without a ball there is nothing to refuse.
    alone = hs.Contacts(whole_body=False)
    hs.Simulation(ball, ground=hs.Ground(rolling=LENGTH), contacts=alone)


def test_a_run_keeps_the_lengths(ball: hs.Model) -> None:
    """The scene of a run file has them again."""
    from humans_sim.results.record import recorded_ground

    run = rolled(ball, hs.Ground(rolling=LENGTH, torsional=1e-3), [0.0] * 6, 0.02)
    again = recorded_ground(run.info)
    assert (again.rolling, again.torsional) == (LENGTH, 1e-3)
