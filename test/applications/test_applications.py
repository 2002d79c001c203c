# SPDX-License-Identifier: Apache-2.0
"""The classic applications: they do what they are for, and their physics is right."""

from __future__ import annotations

import functools
import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.results.run import Run


def simulated(name: str, **changes: object) -> tuple[hs.Model, Run]:
    """A scenario of the package, run and checked."""
    scenario = read_scenario(name).with_changes(**changes)
    run = scenario.run(progress=False)
    check = run.check()
    assert check, [finding for finding in check.findings if not finding.ok]
    assert run.t[-1] == pytest.approx(scenario.end)
    assert scenario.model is not None
    return hs.load_model(scenario.model), run


def moved(model: hs.Model, run: Run, sole: str, since: float = 0.0) -> np.ndarray:
    """How far the corners of a sole were from where they are at the end (3,) [m]."""
    corners = next(s.contacts for s in model.soles if s.name == sole)
    rows = [model.tag_names.index(name) for name in corners]
    places = np.array([model.tags(q)[rows] for q in run.q[run.t >= since]])
    return np.abs(places - places[-1]).max(axis=(0, 1))


def tilt(model: hs.Model, q: np.ndarray, frame: str) -> float:
    """Angle of a frame's up axis with the vertical [rad]."""
    up = pin.SE3(model.frame_pose(q, frame)).rotation[:, 2]
    return math.acos(min(1.0, float(up[2])))


def angle(model: hs.Model, run: Run, joint: str) -> np.ndarray:
    """A joint angle over time [deg]."""
    return np.degrees(run.q[:, 7 + model.joint_names.index(joint)])


def is_at_rest_on_its_feet(model: hs.Model, run: Run) -> bool:
    """Whether the last sample stands still, its weight on the corners of the soles."""
    feet = [k for k, name in enumerate(run.table.names) if name.endswith("/ground")]
    feet = feet or [run.table.names.index(c) for s in model.soles for c in s.contacts]
    weight = run.forces[-1, feet, 0].sum()
    return bool(
        np.abs(run.v[-1]).max() < 0.02
        and weight == pytest.approx(9.81 * model.mass, rel=1e-3)
    )


@functools.cache
def one_step(friction: float | None) -> tuple[hs.Model, Run]:
    """Bip's step where its law sees the true state."""
    return simulated("bip-one-step", friction=friction, feedback="true_state")


@pytest.mark.study
@pytest.mark.parametrize("friction", [None, 0.6])
def test_bip_one_step(friction: float | None) -> None:
    """The left foot lands a step ahead, the right one never moves; both carry then."""
    model, run = one_step(friction)
    assert run.table.friction[0] == (math.inf if friction is None else friction)
    assert moved(model, run, "r_sole").max() < 1e-6
    assert moved(model, run, "l_sole", since=4.0).max() < 1e-6
    left, right = (model.frame_pose(run.q[-1], f"{s}_sole").translation for s in "lr")
    assert left - right == pytest.approx([0.2, 0.22, 0.0], abs=2e-3)
    heights = [model.frame_pose(q, "l_sole").translation[2] for q in run.q]
    assert max(heights) == pytest.approx(0.05, abs=3e-3)
    swings = np.array(heights) > 1e-3
    corners = {s.name: s.contacts for s in model.soles}
    sides = {
        sole: run.forces[:, [run.table.names.index(c) for c in corners[sole]], 0].sum(1)
        for sole in ("l_sole", "r_sole")
    }
    assert sides["l_sole"][swings].max() == 0.0
    assert sides["l_sole"][-1] > 0.4 * 9.81 * model.mass
    assert sides["r_sole"][-1] > 0.4 * 9.81 * model.mass
    assert is_at_rest_on_its_feet(model, run)
    assert tilt(model, run.q[-1], "base_link") < 0.01


@pytest.mark.study
def test_bip_steps_by_its_sensors_as_by_the_true_state() -> None:
    """Feet, centre of mass and lift of the foot differ by less than a millimetre."""
    measured = simulated("bip-one-step", method="time_stepping")[1]
    figures = []
    for model, run in (one_step(None), (one_step(None)[0], measured)):
        soles = [model.frame_pose(run.q[-1], f"{s}_sole").translation for s in "lr"]
        lift = max(model.frame_pose(q, "l_sole").translation[2] for q in run.q)
        figures.append(np.concatenate([*soles, model.com(run.q[-1]), [lift]]))
    away = np.abs(figures[0] - figures[1]).max()
    assert 1e-5 < away < 1e-3
    seen = [measured.signal(f"observer/position_{axis}") for axis in "xyz"]
    error = np.linalg.norm(np.transpose(seen) - measured.q[:, :3], axis=1)
    assert 1e-6 < error.max() < 5e-4


@pytest.mark.study
def test_bip_stands_by_its_sensors() -> None:
    """After a push the centre of mass comes back to a millimetre, noise and all."""
    model, run = simulated("bip-stand", method="time_stepping", end=1.6)
    mass_centre = np.array([model.com(q) for q in run.q])
    assert 0.003 < np.abs(mass_centre - mass_centre[0]).max() < 0.03
    assert mass_centre[-1] == pytest.approx(mass_centre[0], abs=1e-3)
    noise = run.signal("r_foot/force_z")[1:] - run.signal("r_foot/force_z")[:-1]
    assert np.std(noise[-20:]) > 1.0


@pytest.mark.study
def test_bip_stand() -> None:
    """Three pushes move the body by centimetres; it comes back, its feet stay."""
    model, run = simulated("bip-stand", feedback="true_state")
    assert sum(event.kind == "push" for event in run.events) == 3
    mass_centre = np.array([model.com(q) for q in run.q])
    away = np.abs(mass_centre - mass_centre[0]).max(axis=0)
    assert 0.003 < away[0] < 0.03
    assert 0.003 < away[1] < 0.03
    assert mass_centre[-1] == pytest.approx(mass_centre[0], abs=1e-3)
    for sole in ("l_sole", "r_sole"):
        assert moved(model, run, sole)[:2].max() < 1e-4
    assert is_at_rest_on_its_feet(model, run)


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "least", "most"), [("bip-walk", 1.2, 1.7), ("human-walk", 0.7, 1.2)]
)
def test_walk(name: str, least: float, most: float) -> None:
    """Ten steps, then it stands; it comes as far as commanded, and stays upright."""
    model, run = simulated(name)
    lifted = {
        sole.name: np.array(
            [model.frame_pose(q, sole.name).translation[2] > 0.01 for q in run.q]
        )
        for sole in model.soles
    }
    steps = sum(
        int(np.diff(up.astype(int), prepend=0).clip(0).sum()) for up in lifted.values()
    )
    assert steps >= 10
    assert not (lifted["l_sole"] & lifted["r_sole"]).any()
    assert max(tilt(model, q, "base_link") for q in run.q) < 0.05
    distance = model.com(run.q[-1]) - model.com(run.q[0])
    assert least < distance[0] < most
    assert abs(distance[1]) < 0.05
    assert is_at_rest_on_its_feet(model, run)


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "slide"), [("chair-sit-to-stand", 1e-9), ("fes-sit-to-stand", 1e-9)]
)
def test_sit_to_stand(name: str, slide: float) -> None:
    """From the chair to upright: feet where they were, nothing left on the seat."""
    model, run = simulated(name)
    seat = [k for k, n in enumerate(run.table.names) if n.endswith("chair_seat")]
    assert run.forces[0, seat, 0].sum() > 0.2 * 9.81 * model.mass
    leaves = [
        event.time
        for event in run.events
        if event.kind == "contact_opened" and event.subject.endswith("chair_seat")
    ]
    assert len(leaves) == 2
    assert 0.5 < min(leaves) < 2.0
    for sole in ("l_sole", "r_sole"):
        assert moved(model, run, sole).max() < slide
    assert angle(model, run, "r_knee")[0] < -100.0
    assert -10.0 < angle(model, run, "r_knee")[-1] <= 0.0
    assert tilt(model, run.q[-1], "base_link") < 0.02
    assert tilt(model, run.q[-1], "torso") < 0.02
    rise = model.com(run.q[-1])[2] - model.com(run.q[0])[2]
    assert rise > 0.28
    assert is_at_rest_on_its_feet(model, run)


@pytest.mark.study
def test_work_of_the_joints_lifts_the_body() -> None:
    """Torques are held between samples: their work is exact, and all of the energy."""
    _, run = simulated("chair-sit-to-stand", sampling_period=0.005, end=1.6)
    work = (run.torques[:-1, 6:] * np.diff(run.q[:, 7:], axis=0)).sum()
    gained = run.energy[-1].sum() - run.energy[0].sum()
    assert abs(gained) > 10.0
    assert gained == pytest.approx(work, abs=1e-9)


def test_fes_swing_up() -> None:
    """Stimulation alone brings the knee to its limit, and again; nothing else moves."""
    model, run = simulated("fes-swing-up")
    knee = angle(model, run, "r_knee")
    limits = np.degrees(
        [
            model.lower_limits[model.joint_names.index("r_knee")],
            model.upper_limits[model.joint_names.index("r_knee")],
        ]
    )
    assert knee[0] == pytest.approx(-90.0)
    reached = [e.time for e in run.events if e.kind == "limit_reached"]
    assert len(reached) >= 2
    assert knee.max() == pytest.approx(limits[1], abs=1e-6)
    assert knee.min() < -110.0
    first = min(e.time for e in run.events if e.kind == "stimulation")
    assert first == pytest.approx(0.05, abs=1e-15)
    still = np.delete(run.q, 7 + model.joint_names.index("r_knee"), axis=1)
    assert np.ptp(still, axis=0).max() == 0.0


def test_a_simulation_can_run_twice() -> None:
    """Laws with a memory begin anew with each run."""
    simulation, q, v = read_scenario("fes-swing-up").prepare()
    first, second = (
        simulation.run(q, v, t_end=1.4, sampling_period=0.1, progress=False)
        for _ in range(2)
    )
    assert any(event.kind == "limit_reached" for event in first.events)
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.z, second.z)


@pytest.mark.study
def test_fes_sit_to_stand_by_muscles_alone() -> None:
    """The torque of the knees is that of the muscles, and what they store is there."""
    model, run = simulated("fes-sit-to-stand", end=0.8)
    from humans_sim.actuation import FesMuscles

    muscles = FesMuscles(model, scale=5.0)
    knee = model.joint_names.index("r_knee")
    for k in (30, 60, 80):
        torques = muscles.joint_torques(run.q[k], run.v[k], run.z[k])
        assert run.torques[k, 6 + knee] == pytest.approx(torques[0], rel=1e-9)
    assert run.torques[-1, 6 + knee] > 10.0


@pytest.mark.study
def test_khr1_fall() -> None:
    """Pushed over it lies on its front; it gets up, walks on, and stands at the end."""
    model, run = simulated("khr1-fall")
    tilts = np.array([tilt(model, q, "base_link") for q in run.q])
    assert tilts[run.t < 2.0].max() < math.radians(5.0)
    assert tilts[(run.t > 3.0) & (run.t < 4.0)].min() > math.radians(80.0)
    assert tilts[run.t > 14.0].max() < math.radians(5.0)
    ahead = pin.SE3(model.frame_pose(run.q[-1], "base_link")).rotation[:2, 0]
    later = run.q[run.t > 14.6][0]
    assert (run.q[-1, :2] - later[:2]) @ ahead > 0.08
    assert is_at_rest_on_its_feet(model, run)
