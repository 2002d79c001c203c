# SPDX-License-Identifier: Apache-2.0
"""Contacts of runs in MCAP files: where they are, and what they carry there."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.contact import HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.dynamics import Run, Simulation
from humans_sim.results.run import load_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

SLOPE = np.array([0.1, 0.0, 1.0]) / np.hypot(0.1, 1.0)


@pytest.fixture(scope="module")
def sloped(khr1: hs.Model) -> Run:
    """A KHR-1 that lands on a slope, so that no axis of it is one of the world."""
    floor = HalfSpace(normal=tuple(SLOPE), name="slope")
    ground = Ground(friction=0.7, solids=[floor])
    start = khr1.neutral()
    start[2] += 0.02
    simulation = Simulation(khr1, actuation=Servo(khr1), ground=ground)
    return simulation.run(start, t_end=0.2, sampling_period=0.04)


@pytest.fixture(scope="module")
def pushing() -> Run:
    """A KHR-1 and a box, both on a floor."""
    return hs.simulate("push-box", t_end=0.05)


def contacts(run: Run, path: Path) -> list[Any]:
    """Messages about contacts in the file of a run."""
    read = read_ros2_messages(str(run.to_mcap(path / "run.mcap")))
    return [m.ros_msg for m in read if m.channel.topic == "/ground_contacts"]


def xyz(vector: Any) -> np.ndarray:
    """A point or vector."""
    return np.array([vector.x, vector.y, vector.z])


def places(points: list[Any]) -> dict[str, np.ndarray]:
    """Positions by names, without what is touched."""
    return {p.name.partition("/")[0]: xyz(p.position) for p in points}


def tags(model: hs.Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Tags by the model's kinematics."""
    return dict(zip(model.tag_names, model.tags(q), strict=False))


def test_places_are_those_of_the_kinematics(
    sloped: Run, khr1: hs.Model, tmp_path: Path
) -> None:
    """In the world: tags of the feet, and their distances to the slope are the gaps."""
    sent = contacts(sloped, tmp_path)
    assert {message.header.frame_id for message in sent} == {"world"}
    for message, q in zip(sent, sloped.q, strict=True):
        feet = {n: x for n, x in tags(khr1, q).items() if "_foot_" in n}
        got = places(message.points)
        assert set(feet) <= set(got)
        for name, place in feet.items():
            assert got[name] == pytest.approx(place, abs=1e-9), name
        for point in message.points:
            assert xyz(point.normal) == pytest.approx(SLOPE, abs=1e-9)
            assert xyz(point.position) @ SLOPE == pytest.approx(point.gap, abs=1e-9)


def test_forces_are_those_of_the_run(sloped: Run, tmp_path: Path) -> None:
    """Turned into the world: along the normal what the run has, and of its length."""
    loaded = 0
    for k, message in enumerate(contacts(sloped, tmp_path)):
        for point in message.points:
            row = sloped.table.names.index(point.name)
            force, own = xyz(point.force), sloped.forces[k, row]
            assert force @ SLOPE == pytest.approx(own[0], abs=1e-9)
            assert np.linalg.norm(force) == pytest.approx(np.linalg.norm(own))
            assert point.surface == "slope" and point.link_name in ("l_foot", "r_foot")
            loaded += own[0] > 1.0
    assert loaded > 4


def test_velocities_are_differences_of_places(khr1: hs.Model, tmp_path: Path) -> None:
    """In free flight, between samples of 1 ms, to second order."""
    start = khr1.neutral()
    start[2] += 0.1
    v = np.zeros(khr1.nv)
    v[3:6] = 0.5, -1.0, 2.0
    flying = Simulation(khr1, locked=["*"])
    run = flying.run(start, v, t_end=0.002, sampling_period=0.001)
    before, at, after = contacts(run, tmp_path)
    step = run.t[2] - run.t[0]
    for one, here, other in zip(before.points, at.points, after.points, strict=True):
        mean = (xyz(other.position) - xyz(one.position)) / step
        assert xyz(here.velocity) == pytest.approx(mean, abs=1e-4)


@pytest.mark.study
def test_soles_carry_what_their_points_do(
    sloped: Run, khr1: hs.Model, tmp_path: Path
) -> None:
    """The centre of pressure, taken to the world, is that of the forces of the feet."""
    message, q = contacts(sloped, tmp_path)[-1], sloped.q[-1]
    assert [sole.name for sole in message.soles] == [s.name for s in khr1.soles]
    checked = 0
    for sole, side in zip(message.soles, (s.name[0] for s in khr1.soles), strict=True):
        pose = khr1.frame_pose(q, sole.name)
        own = [p for p in message.points if p.name.startswith(f"{side}_foot_")]
        total = sum(xyz(p.force) for p in own)
        got = pose.rotation @ xyz(sole.wrench.force)
        assert got == pytest.approx(total, abs=1e-9)
        if sole.closed_points:
            centre = pose.act(xyz(sole.center_of_pressure))
            about = sum(np.cross(xyz(p.position) - centre, xyz(p.force)) for p in own)
            inside = pose.rotation.T @ about
            assert inside[:2] == pytest.approx(np.zeros(2), abs=1e-9)
            checked += 1
    assert checked


def test_a_robot_beside_free_bodies(
    pushing: Run, khr1: hs.Model, tmp_path: Path
) -> None:
    """Its feet are where they are, and its forces are drawn there, too."""
    for k, message in enumerate(contacts(pushing, tmp_path)):
        feet = tags(khr1, pushing.q[k, : khr1.nq])
        on_floor = [p for p in message.points if p.surface == "ground"]
        got = {n: x for n, x in places(on_floor).items() if n in feet}
        assert {n for n in feet if "_foot_" in n} <= set(got)
        for name, place in got.items():
            ball = pushing.info["radii"].get(name, 0.0)  # of fingers: it hangs below
            lowest = feet[name] - [0.0, 0.0, ball]
            assert place == pytest.approx(lowest, abs=1e-9), name
    read = read_ros2_messages(str(tmp_path / "run.mcap"))
    arrows = [m.ros_msg for m in read if m.channel.topic == "/contact_markers"]
    assert len(arrows) == len(pushing.t) and len(arrows[-1].markers) > 1


def test_joints_beside_free_bodies(
    pushing: Run, khr1: hs.Model, tmp_path: Path
) -> None:
    """Names, angles and speeds are those of the robot's joints, without the box."""
    read = read_ros2_messages(str(pushing.to_mcap(tmp_path / "run.mcap")))
    states = [m.ros_msg for m in read if m.channel.topic == "/joint_states"]
    assert states and len(states) == len(pushing.t)
    for state, q, v in zip(states, pushing.q, pushing.v, strict=True):
        assert tuple(state.name) == khr1.joint_names
        assert state.position == q[7 : khr1.nq].tolist()
        assert state.velocity == v[6 : khr1.nv].tolist()


@pytest.mark.study
def test_files_of_before(sloped: Run, tmp_path: Path) -> None:
    """A stored run gives the same places; one whose model is gone is written, too."""
    stored = load_run(sloped.save(tmp_path / "run.npz"))
    one, other = contacts(sloped, tmp_path)[-1], contacts(stored, tmp_path)[-1]
    for a, b in zip(one.points, other.points, strict=True):
        assert np.array_equal(xyz(a.position), xyz(b.position))
    gone = replace(stored, info={**stored.info, "model": {"name": "nobody-knows-it"}})
    last = contacts(gone, tmp_path)[-1]
    assert last.header.frame_id == "contact"
    assert np.isnan([xyz(point.position) for point in last.points]).all()
