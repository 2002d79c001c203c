# SPDX-License-Identifier: Apache-2.0
"""Tests of gaps that bounces explain: no alarm where a contact only bounced."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.results.bounces import explained_gaps

NAME = "largest gap x force"
STEP = 1e-3


def thrown(body: SceneBody, restitution: float) -> hs.Run:
    """A body that falls and bounces, with every time step a sample."""
    scene = SceneSystem([body], hs.Ground(restitution=restitution))
    turn = {body.name: pin.rpy.rpyToMatrix(0.4, 0.3, 0.0)}
    q = scene.configuration({body.name: (0, 0, 0.35)}, rotations=turn)
    sim = hs.Simulation(scene, method="time_stepping", time_step=STEP)
    v = np.array([0.3, 0.0, 0.0, 1.0, 5.0, 0.0])
    return sim.run(q, v, t_end=0.8, sampling_period=STEP)


def dropped(restitution: float) -> hs.Run:
    """The KHR-1 in one piece falls and bounces."""
    robot = hs.load_model("khr1")
    q = robot.neutral()
    q[2] += 0.08
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.3, 0.4, 0.0)).coeffs()
    ground = hs.Ground(restitution=restitution)
    sim = hs.Simulation(robot, locked=["*"], ground=ground, method="time_stepping")
    return sim.run(q, t_end=0.3, sampling_period=STEP)


def bounced(run: hs.Run) -> tuple[int, int]:
    """Sample and contact of the bounce that leaves the largest gap."""
    gaps = np.where(run.forces[:, :, 0] > 0.0, run.gaps, 0.0)
    row, contact = np.unravel_index(np.argmax(gaps), gaps.shape)
    assert gaps[row, contact] > 1e-5  # far more than what rounding leaves
    return int(row), int(contact)


@pytest.mark.parametrize("restitution", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("shape", ["ball", "box", "khr1"])
def test_bounces_are_no_forces_at_a_distance(shape: str, restitution: float) -> None:
    """Each leaves a gap and a force in one sample, which is right."""
    if shape == "khr1":
        run = dropped(restitution)
    elif shape == "ball":
        run = thrown(SceneBody.ball("ball", 1.0, 0.1), restitution)
    else:
        run = thrown(SceneBody.box("box", 1.0, (0.1, 0.2, 0.1)), restitution)
    bounced(run)
    assert run.check()[NAME].ok


def test_a_force_at_a_distance_is_found() -> None:
    """Where the gap is larger than the speed explains, or nothing moves."""
    run = thrown(SceneBody.ball("ball", 1.0, 0.1), 0.5)
    row, contact = bounced(run)
    speed = abs(run.v[row, 2])
    gaps = run.gaps.copy()
    gaps[row, contact] = 4.0 * STEP * (speed + 1.0)
    found = replace(run, gaps=gaps).check()[NAME]
    assert found.ok is False
    assert found.where == f"ball/ground.0 at {run.t[row]:.6g} s"
    forces, clear = run.forces.copy(), int(np.argmax(run.gaps[:, contact]))
    assert run.gaps[clear, contact] > 0.05
    forces[clear, contact, 0] = 10.0
    assert replace(run, forces=forces).check()[NAME].ok is False
    still = replace(run, v=np.zeros_like(run.v))
    assert still.check()[NAME].ok is False


def test_without_restitution_nothing_is_explained() -> None:
    """The same samples of a contact that should stay on its surface fail."""
    run = thrown(SceneBody.ball("ball", 1.0, 0.1), 0.5)
    plastic = replace(run.table, restitution=np.zeros(len(run.table)))
    assert replace(run, table=plastic).check()[NAME].ok is False


def test_event_driven_runs_have_no_steps() -> None:
    """There a force and a gap are never together, but where time steps took over."""
    run = thrown(SceneBody.ball("ball", 1.0, 0.1), 0.5)
    info = {**run.info, "method": "event_driven"}
    assert replace(run, info=info).check()[NAME].ok is False
    over = hs.Event(run.t[-1], "hand_over", "", {"duration [s]": float(run.t[-1])})
    handed = replace(run, info=info, events=(*run.events, over))
    assert handed.check()[NAME].ok


def test_without_the_model_all_speeds_together_count() -> None:
    """A run whose model is gone has no alarm either."""
    run = dropped(0.5)
    info = {**run.info, "model": {"name": "gone.urdf"}}
    assert replace(run, info=info).check()[NAME].ok


def test_a_link_has_its_own_speed() -> None:
    """How fast an arm turns explains no gap between a thigh and a shank."""
    robot = hs.load_model("khr1")
    ground = hs.Ground(restitution=0.3)
    sim = hs.Simulation(robot, ground=ground, method="time_stepping", time_step=STEP)
    run = sim.run(robot.neutral(), t_end=0.01, sampling_period=STEP)
    v, shoulder = run.v.copy(), run.velocity_names.index("r_shoulder_pitch")
    v[:, shoulder] += 50.0
    rows = np.array([len(run) - 1])
    slow, fast = (explained_gaps(r, rows)[0] for r in (run, replace(run, v=v)))
    arms = [k for k, name in enumerate(run.table.names) if "arm" in name.split(".")[0]]
    legs = [
        k
        for k, name in enumerate(run.table.names)
        if {s.split(".")[0][2:] for s in name.split("/")} <= {"thigh", "shank", "foot"}
    ]
    assert len(arms) > 4
    assert len(legs) > 4
    np.testing.assert_allclose(fast[legs], slow[legs], rtol=1e-12)
    assert fast[arms].max() > 10.0 * slow[arms].max()
