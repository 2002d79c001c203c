# SPDX-License-Identifier: Apache-2.0
"""The controller of a robot among free bodies."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import (
    SceneActuation,
    SceneController,
    SceneSystem,
)


def test_it_sees_the_robot_alone(khr1: hs.Model) -> None:
    """Its configuration and velocity, every period, and no contacts of others."""
    seen: list[tuple[float, hs.ControlState]] = []

    class Hold(hs.Controller):
        period = 0.004

        def __call__(self, t: float, state: hs.ControlState) -> np.ndarray:
            seen.append((t, state))
            return 4.0 * (q[7:24] - state.q[7:]) - 0.02 * state.v[6:]

    box = SceneBody.box("box", 1.0, (0.2, 0.2, 0.1))
    scene = SceneSystem([box], hs.Ground(friction=0.5), robot=khr1)
    q = np.concatenate([khr1.standing(np.zeros(17)), [1.0, 0, 0.06, 0, 0, 0, 1]])
    actuation = SceneActuation(scene, hs.IdealTorque(khr1))
    sim = hs.Simulation(
        scene, actuation, SceneController(scene, Hold()), method="time_stepping"
    )
    run = sim.run(q, t_end=0.012)
    np.testing.assert_array_equal([t for t, _ in seen], run.t)
    np.testing.assert_array_equal([s.q for _, s in seen], run.q[:, :24])
    np.testing.assert_array_equal([s.v for _, s in seen], run.v[:, :23])
    assert np.abs(run.torques[1:, 6:23]).max() > 1e-3
    with pytest.raises(hs.errors.ParameterError, match="no contacts and forces"):
        _ = seen[0][1].sample


def test_a_robot_with_its_servos_among_bodies() -> None:
    """Servos of the robot alone serve the scene: it stands, the box lies beside it."""
    robot = hs.load_model("khr1")
    scene = SceneSystem([SceneBody.box("box", 0.2, (0.05, 0.05, 0.05))], robot=robot)
    q = scene.configuration({"box": (0.3, 0.0, 0.025)}, robot.neutral())
    sim = hs.Simulation(scene, hs.Servo(robot))
    assert sim.method == "time_stepping"
    assert scene.armature[6 : robot.nv].min() > 0.0
    run = sim.run(q, t_end=0.1)
    assert run.check().ok
    np.testing.assert_allclose(run.q[-1, : robot.nq], run.q[0, : robot.nq], atol=2e-3)
    alone = SceneSystem([SceneBody.box("box", 0.2, (0.05, 0.05, 0.05))])
    with pytest.raises(hs.errors.ParameterError, match="nothing to actuate"):
        hs.Simulation(alone, hs.Servo(robot))
