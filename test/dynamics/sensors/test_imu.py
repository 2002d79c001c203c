# SPDX-License-Identifier: Apache-2.0
"""Inertial units against free fall, rest, rotation and the change of velocity."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from pendulum import pendulum

import humans_sim as hs
from humans_sim.results.run import Run

METHODS = ("event_driven", "time_stepping")
G = 9.81


def vector(run: Run, name: str) -> np.ndarray:
    """A signal of three axes (n, 3)."""
    return np.column_stack([run.signal(f"{name}_{axis}") for axis in "xyz"])


@pytest.mark.parametrize("method", METHODS)
def test_free_fall_reads_nothing(khr1: hs.Model, method: str) -> None:
    """A body that falls and does not turn feels no force."""
    sim = hs.Simulation(
        khr1,
        ground=hs.Ground.empty(),
        locked=["*"],
        method=method,
        sensors=[hs.Imu()],
    )
    run = sim.run(t_end=0.1)
    assert np.abs(vector(run, "imu/specific_force")[1:]).max() < 1e-9
    assert np.abs(vector(run, "imu/velocity_change")).max() < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_standing_reads_gravity_upwards(khr1: hs.Model, method: str) -> None:
    """At rest: 9.81 m/s^2 along the axis that points up, whatever the frame."""
    frame = "l_foot"
    sensors = [hs.Imu(), hs.Imu(frame, name="foot")]
    sim = hs.Simulation(khr1, locked=["*"], method=method, sensors=sensors)
    run = sim.run(khr1.neutral(), t_end=0.05)
    for name, link in (("imu", "base_link"), ("foot", frame)):
        up = khr1.frame_pose(run.q[-1], link).rotation.T @ [0.0, 0.0, G]
        force = vector(run, f"{name}/specific_force")
        np.testing.assert_allclose(force, np.tile(up, (len(run.t), 1)), atol=1e-6)
        assert np.abs(vector(run, f"{name}/angular_rate")).max() < 1e-8


def test_centripetal_and_tangential_terms(tmp_path: Path) -> None:
    """A unit at the end of a swinging rod feels gravity, r w^2 and r dw/dt."""
    (tmp_path / "pendulum.yaml").write_text(
        "frames: [{name: tip, link: rod, xyz: [0, 0, -0.8]}]\n"
    )
    model = pendulum(tmp_path)
    sim = hs.Simulation(
        model, locked=["base"], ground=hs.Ground.empty(), sensors=[hs.Imu("tip")]
    )
    q = model.neutral()
    q[7] = 1.0
    run = sim.run(q, t_end=1.0)
    inertia, weight, reach = 0.6, 2.0 * G * 0.5, 0.8
    angle, speed = run.q[:, 7], run.v[:, 6]
    turning = -weight * np.sin(angle) / inertia
    # Along the rod's own axes: x across it, z towards the hinge.
    across = -reach * turning - G * np.sin(angle)
    along = reach * speed**2 + G * np.cos(angle)
    force = vector(run, "imu/specific_force")
    np.testing.assert_allclose(force[:, 0], across, atol=1e-8)
    np.testing.assert_allclose(force[:, 2], along, atol=1e-8)
    np.testing.assert_allclose(vector(run, "imu/angular_rate")[:, 1], speed, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_spinning_base_reads_its_centripetal_force(
    khr1: hs.Model, method: str
) -> None:
    """In free flight a frame off the centre of mass reads w x (w x r), nothing else."""
    sim = hs.Simulation(
        khr1,
        ground=hs.Ground.empty(),
        locked=["*"],
        method=method,
        time_step=1e-4,
        sensors=[hs.Imu(period=1e-3)],
    )
    v = np.zeros(khr1.nv)
    v[5] = 3.0
    run = sim.run(khr1.neutral(), v, t_end=0.02, sampling_period=1e-3)
    force = vector(run, "imu/specific_force")
    for k in range(2, len(run.t)):
        # From the centre of mass, which falls, to the frame: rigid, so by w alone.
        turn = pin.Quaternion(run.q[k, 3:7]).matrix()
        arm = turn.T @ (run.q[k, :3] - khr1.com(run.q[k]))
        spin, before = run.v[k, 3:6], run.v[k - 1, 3:6]
        turning = (spin - before) / (run.t[k] - run.t[k - 1])
        expected = np.cross(spin, np.cross(spin, arm)) + np.cross(turning, arm)
        np.testing.assert_allclose(force[k], expected, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_integral_is_the_change_of_velocity(khr1: hs.Model, method: str) -> None:
    """Through a landing: velocity changes, turned to the world, plus gravity."""
    period = 1e-3
    sim = hs.Simulation(
        khr1, locked=["*"], method=method, sensors=[hs.Imu(period=period)]
    )
    q = khr1.neutral()
    q[2] += 0.005
    run = sim.run(q, t_end=0.06, sampling_period=period)
    change = vector(run, "imu/velocity_change")
    turns = [pin.Quaternion(row[3:7]).matrix() for row in run.q]
    total = sum(turn @ part for turn, part in zip(turns, change, strict=True))
    total = total + run.t[-1] * np.array([0.0, 0.0, -G])
    gained = turns[-1] @ run.v[-1, :3] - turns[0] @ run.v[0, :3]
    np.testing.assert_allclose(total, gained, atol=1e-12)
    force = vector(run, "imu/specific_force")[:, 2]
    landed = math.sqrt(2 * 0.005 / G)
    if method == "event_driven":  # the impact is in the change, not in the force
        assert force.max() < 100.0
        assert change[:, 2].max() > 0.25
    else:
        assert force.max() == pytest.approx(change[:, 2].max() / period, rel=1e-9)
    assert run.t[np.argmax(change[:, 2])] == pytest.approx(landed, abs=2 * period)


def test_other_gravity_and_unknown_frames(khr1: hs.Model) -> None:
    """The unit knows the gravity of the simulation, and names a frame it misses."""
    moon = (0.0, 0.0, -1.62)
    sim = hs.Simulation(khr1, locked=["*"], gravity=moon, sensors=[hs.Imu()])
    run = sim.run(khr1.neutral(), t_end=0.02)
    assert run.signal("imu/specific_force_z")[-1] == pytest.approx(1.62, abs=1e-6)
    with pytest.raises(hs.errors.ParameterError, match="no frame 'tail'"):
        hs.Simulation(khr1, sensors=[hs.Imu("tail")])
