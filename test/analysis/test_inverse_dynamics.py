# SPDX-License-Identifier: Apache-2.0
"""Torques and ground reaction: momentum, equilibrium, and a real walk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.analysis.inverse_dynamics import inverse_dynamics, rates
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import read_markers
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibrate import calibrate
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import Reconstruction

GRAVITY = 9.81


def known(model: hs.Model, q: np.ndarray, rate: float = 100.0) -> Reconstruction:
    """A motion that nobody had to reconstruct."""
    n, m = len(q), len(model.tag_names)
    positions = np.array([model.tags(row)[:-1] for row in q])
    trial = MarkerTrial(
        model.tag_names, np.arange(n) / rate, positions, np.arange(1, n + 1)
    )
    return Reconstruction(
        model=model,
        trial=trial,
        q=q,
        differences=np.zeros((n, m, 3)),
        status=np.zeros((n, m), dtype=np.uint8),
        converged=np.ones(n, dtype=bool),
        iterations=np.ones(n, dtype=int),
        solve_times=np.zeros(n),
        unobservable=(),
        mode="static",
    )


def test_rates_are_derivatives(human: hs.Model, rng: np.random.Generator) -> None:
    """Of a motion of constant velocity and acceleration on the manifold."""
    q0, v, a = human.random_configuration(rng), rng.normal(size=42), rng.normal(size=42)
    t = np.array([-1e-3, 0.0, 1.5e-3])
    q = np.array([human.integrate(q0, v * s + 0.5 * a * s * s) for s in t])
    found = rates(human, t, q)
    np.testing.assert_allclose(found[0][1], v, atol=1e-5)
    np.testing.assert_allclose(found[1][1], a, atol=1e-5)


def test_standing_bears_the_weight(human: hs.Model) -> None:
    """Still: the ground carries the weight under the centre of mass."""
    q = human.neutral()
    q[7 + human.joint_names.index("r_shoulder_roll")] = 0.8
    found = inverse_dynamics(known(human, np.tile(q, (10, 1))))
    force = found.ground[5]
    np.testing.assert_allclose(force[:2], 0.0, atol=1.0)
    assert force[2] == pytest.approx(human.mass * GRAVITY, rel=2e-3)
    np.testing.assert_allclose(found.pressure_centre[5], human.com(q)[:2], atol=2e-3)
    # The raised arm is held by its shoulder alone: its weight at its lever.
    data = human.data()
    pin.computeGeneralizedGravity(human.pin, data, q)
    lifted = human.joint_names.index("r_shoulder_roll")
    assert found.torques[5, lifted] == pytest.approx(data.g[6 + lifted], abs=1e-6)


def test_forces_change_the_momentum(human: hs.Model) -> None:
    """Ground and residual together are the rate of the whole momentum."""
    q = walking(human, 60)
    found = inverse_dynamics(known(human, q), cutoff=0.0)
    data = human.data()
    momenta = np.array(
        [
            pin.computeCentroidalMomentum(human.pin, data, row, speed).vector.copy()
            for row, speed in zip(found.q, found.v, strict=True)
        ]
    )
    rate = (momenta[2:, :3] - momenta[:-2, :3]) / 0.02
    pulled = found.ground[1:-1, :3] + found.residual[1:-1, :3]
    weight = np.array([0.0, 0.0, -GRAVITY * human.mass])
    inner = slice(3, -3)
    np.testing.assert_allclose((pulled + weight)[inner], rate[inner], atol=3.0)
    assert np.ptp(rate[inner], axis=0).max() > 50.0


def test_feet_push_and_never_pull(human: hs.Model) -> None:
    """Inside the friction cone, at each foot."""
    found = inverse_dynamics(known(human, walking(human, 60)), friction=0.5)
    for foot in found.feet.values():
        assert (foot[:, 2] >= 0.0).all()
        assert (np.hypot(foot[:, 0], foot[:, 1]) <= 0.5 * foot[:, 2] + 1e-9).all()


def test_bad_arguments(human: hs.Model) -> None:
    """Short motions, odd filters."""
    q = walking(human, 30)
    with pytest.raises(ParameterError, match="frames"):
        inverse_dynamics(known(human, q[:3]))
    with pytest.raises(ParameterError, match="cut-off|cutoff"):
        inverse_dynamics(known(human, q), cutoff=80.0)
    with pytest.raises(ParameterError, match="friction"):
        inverse_dynamics(known(human, q), friction=0.0)


def test_a_real_walk(human: hs.Model, shared_data: Path) -> None:
    """The ground carries the weight, foot after foot, in two humps."""
    folder = shared_data / "mocap"
    person = calibrate(human, read_markers(folder / "static_walk.trc"), "rajagopal")
    trial = read_markers(folder / "walk.trc")
    subject = person.subject
    result = solve_postures(subject.model(), trial, subject.marker_set(), mode="smooth")
    found = inverse_dynamics(result)
    weight = subject.mass * GRAVITY
    lift = {name: foot[10:-10, 2] / weight for name, foot in found.feet.items()}
    assert sum(lift.values()).mean() == pytest.approx(1.0, abs=0.05)
    for foot in lift.values():
        assert 1.0 < foot.max() < 1.5
        assert (foot < 0.05).mean() > 0.2  # it swings
    one_foot = (lift["l_sole"] < 0.02) | (lift["r_sole"] < 0.02)
    assert 0.4 < one_foot.mean() < 0.95
    assert np.sqrt((found.residual[10:-10, :3] ** 2).mean()) < 0.05 * weight
