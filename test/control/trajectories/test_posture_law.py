# SPDX-License-Identifier: Apache-2.0
"""A torque law inside the right-hand side: the manual's NoDynamics and SpaceWalk."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation.ideal_torque import TorqueLaw
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.trajectories.motion import Curve, PostureLaw
from humans_sim.dynamics.controller import ControlState


def test_the_space_walk_pushes_off(human: hs.Model) -> None:
    """Feet press, lift off, and from then on momentum stays whatever the arms do."""
    scenario = read_scenario("space-walk").with_changes(end=0.5)
    run = scenario.run(progress=False)
    assert run.check()
    lifted = max(e.time for e in run.events if e.kind == "contact_opened")
    assert 0.2 < lifted < 0.4
    pressing = run.t < lifted - 0.08
    assert (run.forces[pressing, :, 0].sum(axis=1) > 50.0).all()
    free = run.t > lifted
    assert not run.contacts[free].any()
    data, momenta = human.data(), []
    for q, v in zip(run.q[free], run.v[free], strict=True):
        pin.computeCentroidalMomentum(human.pin, data, q, v)
        momenta.append(data.hg.vector.copy())
    assert momenta[0][2] > 30.0
    assert np.ptp(momenta, axis=0).max() < 1e-5


def test_torques_are_the_law_at_every_sample(khr1: hs.Model) -> None:
    """Nothing is held: the torque at a sample is that of the time and state there."""
    law = PostureLaw(khr1, {"l_knee": Curve([(0.0, 0.0), (0.2, 1.0)])}, 20.0)
    simulation = hs.Simulation(
        khr1, TorqueLaw(khr1, law), contacts=hs.Contacts(points=[]), gravity=(0, 0, 0)
    )
    run = simulation.run(khr1.neutral(), t_end=0.06, sampling_period=0.007)
    for t, q, v, torques in zip(run.t, run.q, run.v, run.torques, strict=True):
        expected = law(t, ControlState(q, v))
        np.testing.assert_allclose(torques[6:], expected, atol=1e-12)
    assert run.joint("l_knee")[-1] > 0.02


def test_a_law_is_refused_commands_and_other_joints(khr1: hs.Model) -> None:
    """A controller beside a law, unknown joints and frequencies get typed errors."""
    law = PostureLaw(khr1, {})
    with pytest.raises(hs.errors.ConfigurationError, match="takes no commands"):
        TorqueLaw(khr1, law).command(0.0, np.zeros(17))
    with pytest.raises(hs.errors.ParameterError, match="no joint called 'tail'"):
        PostureLaw(khr1, {"tail": Curve([(0.0, 0.0)])})
    with pytest.raises(hs.errors.ParameterError, match="frequency"):
        PostureLaw(khr1, {}, 0.0)
