# SPDX-License-Identifier: Apache-2.0
"""What a walk was: steps, way and balance beside walks whose numbers are known."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pinocchio as pin
import pytest
from walks import kinematic_run, planned_walk, simulated_walk

import humans_sim as hs
from humans_sim.analysis.footfalls import stances
from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.control.walking.footsteps import Side
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.results.records import Event, Sample
from humans_sim.results.run import Run


@pytest.fixture(scope="module")
def walk(khr1: hs.Model) -> Run:
    """The KHR-1 makes four steps, simulated."""
    return simulated_walk(khr1, 4, 0.05, 2.8)


@pytest.mark.parametrize(
    ("name", "velocity"),
    [
        ("khr1", (0.05, 0.0, 0.0)),
        ("khr1", (0.0, 0.02, 0.0)),
        ("bip", (0.1, 0.0, 0.15)),
        ("human36", (0.12, 0.0, 0.0)),
    ],
)
def test_steps_of_a_planned_walk(
    name: str, velocity: tuple[float, float, float]
) -> None:
    """Each landing of the plan is found: foot, time, place, heading."""
    model = hs.load_model(name)
    run, plan = planned_walk(model, 4, velocity, 6.0)
    summary = WalkSummary.of_run(run)
    assert summary.verdict == "walked"
    assert [s.side for s in summary.steps] == [s.side for s in plan]
    # the sole comes down flat and touches at the sample before or at the landing
    times = summary.step_values("landing") - [step.lands for step in plan]
    assert np.abs(times).max() < 0.021
    for step, expected in zip(summary.steps, plan, strict=True):
        assert step.footprint[:2] == pytest.approx(expected.place[:2], abs=2e-4)
        assert step.footprint.yaw == pytest.approx(expected.place.yaw, abs=2e-3)
        assert step.clearance > 0.02 * model.neutral()[2]
        assert step.slip < 3e-4
    assert math.isnan(summary.steps[0].duration)
    lands = [step.lands for step in plan]
    assert summary.step_values("duration")[1:] == pytest.approx(
        np.diff(lands), abs=0.021
    )


def test_lengths_and_path_of_a_straight_walk(khr1: hs.Model) -> None:
    """Lengths are speed times duration, and sums of them the way."""
    run, plan = planned_walk(khr1, 6, (0.05, 0.0, 0.0), 5.5)
    summary = WalkSummary.of_run(run)
    period = plan[2].lands - plan[1].lands
    middle = summary.step_values("length")[1:-1]
    assert middle == pytest.approx(0.05 * period, abs=3e-4)
    apart = abs(plan[1].place.y - plan[0].place.y)
    assert summary.step_values("width") == pytest.approx(apart, abs=3e-4)
    # mean place of the soles, by the model's own call
    ends = [khr1.base_footprint(q).translation for q in (run.q[0], run.q[-1])]
    distance = float(np.linalg.norm((ends[1] - ends[0])[:2]))
    assert summary.distance == pytest.approx(distance, abs=1e-12)
    assert summary.path_length == pytest.approx(distance, rel=2e-2)
    assert abs(summary.drift) < 1e-2 and abs(summary.heading_change) < 1e-3
    span = summary.steps[-1].landing - summary.steps[0].lift_off
    assert summary.speed == pytest.approx(distance / span, rel=0.02)
    assert summary.single_support + summary.double_support == pytest.approx(1.0)
    assert 0.2 < summary.single_support < 0.9


def test_path_does_not_depend_on_place_and_heading(khr1: hs.Model) -> None:
    """A walk elsewhere, in another direction, has the same numbers."""
    run, _ = planned_walk(khr1, 4, (0.05, 0.0, 0.0), 3.5)
    # half a turn: headings jump between -pi and pi
    move = pin.SE3(pin.utils.rotate("z", math.pi), np.array([3.0, -2.0, 0.0]))
    q = run.q.copy()
    for row in q:
        row[:7] = pin.SE3ToXYZQUAT(move * pin.XYZQUATToSE3(row[:7]))
    here = WalkSummary.of_run(run)
    there = WalkSummary.of_run(kinematic_run(khr1, run.t, q))
    for name in ("forward", "sideways", "heading_change", "speed", "zmp_margin"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), abs=1e-9)
    for name in ("length", "width", "duration", "slip"):
        np.testing.assert_allclose(
            there.step_values(name), here.step_values(name), atol=1e-9
        )


def test_simulated_walk(khr1: hs.Model, walk: Run) -> None:
    """Feet that rattle still make four steps; numbers beside independent ones."""
    summary = WalkSummary.of_run(walk)
    assert not summary.fallen and summary.verdict == "walked"
    sides = [step.side for step in summary.steps]
    assert sides == [Side.LEFT, Side.RIGHT] * 2 or sides == [Side.RIGHT, Side.LEFT] * 2
    # the feet do leave the ground more often than that
    closed = (walk.contacts[:, 4:8] > 0).any(axis=1)
    touched = np.count_nonzero(np.diff(closed.astype(int)) == 1)
    assert touched > sum(side is Side.LEFT for side in sides)
    _, plan = planned_walk(khr1, 4, (0.05, 0.0, 0.0), 2.8)
    durations = np.diff([step.lands for step in plan])
    assert summary.step_values("duration")[1:] == pytest.approx(durations, abs=0.03)
    assert summary.step_values("length")[1:3] == pytest.approx(
        0.05 * durations[0], abs=0.003
    )
    for step in summary.steps:
        k = int(np.argmin(np.abs(walk.t - step.landing - 0.06)))
        place = khr1.frame_pose(walk.q[k], step.sole).translation
        assert step.footprint[:2] == pytest.approx(place[:2], abs=5e-4)
    up = [pin.Quaternion(q[3:7]).matrix()[2, 2] for q in walk.q]
    assert summary.largest_tilt == pytest.approx(math.acos(min(up)), abs=1e-12)
    assert summary.least_gap == walk.gaps[:, :8].min()
    knee = summary.joints[khr1.joint_names.index("l_knee")]
    column = walk.position_names.index("l_knee")
    assert (knee.low, knee.high) == (walk.q[:, column].min(), walk.q[:, column].max())
    assert knee.torque == np.abs(walk.torques[:, column - 1]).max()
    assert knee.torque_limit == khr1.effort_limits[column - 7]


def test_zmp_is_the_pressure_on_the_soles(khr1: hs.Model, walk: Run) -> None:
    """Beside the centres of pressure that sole wrenches give; and inside the soles."""
    motion = RunMotion.of_run(walk)
    soles = Soles(ModelSystem(khr1, hs.Ground(friction=0.7)))
    for k in range(5, len(walk.t), 20):
        sample = Sample(
            *(getattr(walk, name)[k] for name in ("t", "q", "v", "z", "torques")),
            *(getattr(walk, name)[k] for name in ("contacts", "forces", "gaps")),
            *walk.energy[k],
        )
        points = soles.points(sample)
        total, moment = np.zeros(3), np.zeros(3)
        for force, place in zip(points.force, points.position, strict=True):
            total += force
            moment += np.cross(place, force)
        # the point on the ground about which the horizontal moment is zero
        expected = np.array([-moment[1], moment[0]]) / total[2]
        assert motion.zmp[k] == pytest.approx(expected, abs=1e-6)
    known = motion.zmp_margin[np.isfinite(motion.zmp_margin)]
    assert known.min() > -1e-6


def test_zmp_margin_by_hand(khr1: hs.Model) -> None:
    """All the weight on one corner, on an edge, in the middle of both feet."""
    q = np.tile(khr1.neutral(), (4, 1))
    names = list(khr1.contact_names)
    left = [names.index(f"l_foot_{end}_{side}") for end, side in CORNERS]
    weights = np.zeros((4, len(names)))
    weights[0, left[0]] = 1.0
    weights[1, left[:2]] = 0.5
    weights[2, left] = 0.25
    weights[3] = 1 / len(names)
    run = kinematic_run(khr1, np.arange(4.0), q, lambda k, _: weights[k])
    motion = RunMotion.of_run(run)
    corners = khr1.contact(khr1.neutral())[left, :2]
    assert motion.zmp[0] == pytest.approx(corners[0])
    size = np.ptp(corners, axis=0)
    assert motion.zmp_margin[:3] == pytest.approx([0.0, 0.0, size.min() / 2], abs=1e-12)
    places = khr1.contact(khr1.neutral())[:, :2]
    assert motion.zmp_margin[3] == pytest.approx(np.ptp(places, axis=0).min() / 2)
    summary = WalkSummary.of_motion(motion)
    assert summary.zmp_on_edge == 0.5
    assert summary.largest_load == pytest.approx(motion.weight)


CORNERS = (("heel", "right"), ("heel", "left"), ("toe", "right"), ("toe", "left"))


def test_slip_by_hand(khr1: hs.Model) -> None:
    """A standing robot slides 10 mm on, and 4 mm back: its feet slipped 14 mm."""
    q = np.tile(khr1.neutral(), (15, 1))
    q[:, 0] += 1e-3 * np.array([*range(11), 9, 8, 7, 6])
    summary = WalkSummary.of_run(kinematic_run(khr1, 0.02 * np.arange(15), q))
    assert summary.verdict == "stood"
    assert summary.largest_slip == pytest.approx(0.014, abs=1e-12)
    assert summary.distance == pytest.approx(0.006)
    assert summary.path_length == pytest.approx(0.014)


def test_fall_by_tilt(khr1: hs.Model) -> None:
    """It tips over one edge by 1 degree a sample: down from the 36th on."""
    run = _tipping(khr1, np.arange(60.0))
    summary = WalkSummary.of_run(run)
    assert summary.verdict == "fell" and summary.fall_time == pytest.approx(0.72)
    assert summary.largest_tilt == pytest.approx(math.radians(59.0))
    assert "Fell at 0.72 s" in summary.table()


def test_who_bows_has_not_fallen(khr1: hs.Model) -> None:
    """Who stays up and straightens again did not fall; who lay on the floor did."""
    down, up = np.arange(0, 41, 2), np.arange(40, -1, -2)
    slow = np.concatenate([down, np.full(25, 40), up])
    assert not WalkSummary.of_run(_tipping(khr1, slow)).fallen
    assert WalkSummary.of_run(_tipping(khr1, slow[:-25])).fallen
    lies = np.concatenate([np.arange(0, 91, 5), np.full(25, 90), np.arange(90, -1, -5)])
    assert WalkSummary.of_run(_tipping(khr1, lies)).fallen


def _tipping(model: hs.Model, degrees: np.ndarray) -> Run:
    q = np.tile(model.neutral(), (len(degrees), 1))
    for row, angle in zip(q, np.radians(degrees), strict=True):
        row[3:7] = (0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2))
        row[2] -= model.contact(row)[:, 2].min()
    return kinematic_run(model, 0.02 * np.arange(len(degrees)), q)


def test_fall_by_height(human: hs.Model) -> None:
    """The trunk stays upright and comes down: fallen, and later steps do not count."""
    q = np.tile(human.neutral(), (40, 1))
    names = human.joint_names
    bend = np.linspace(0.0, 2.0, 40)
    for side in "lr":
        q[:, 7 + names.index(f"{side}_hip_pitch")] = -bend
        q[:, 7 + names.index(f"{side}_knee")] = 2 * bend
        q[:, 7 + names.index(f"{side}_ankle_pitch")] = -bend
    for row in q:
        row[2] -= human.contact(row)[:, 2].min()
    summary = WalkSummary.of_run(kinematic_run(human, 0.1 * np.arange(40), q))
    assert summary.fallen and 1.0 < summary.fall_time < 3.9
    assert summary.largest_tilt == 0.0


T = 0.01 * np.arange(300)


def _stances(
    loaded: list[tuple[float, float]], lift: float = 0.02
) -> list[list[float]]:
    """Stances of a sole of a body of 10 N that carries 5 N at some times."""
    on = np.any([(T >= a - 1e-9) & (T < b - 1e-9) for a, b in loaded], axis=0)
    intervals = stances(T, 5.0 * on, np.where(on, 0.0, lift), 10.0, 0.001)
    return [[round(T[s.first], 3), round(T[s.last] + 0.01, 3)] for s in intervals]


def test_stances_without_rattling() -> None:
    """Short gaps and low ones belong to the stance; short touches to the swing."""
    assert _stances([(0, 1), (1.3, 3)]) == [[0, 1], [1.3, 3]]
    # lands, leaves the ground for 0.07 s, twice
    assert _stances([(0, 1), (1.3, 1.34), (1.41, 1.5), (1.57, 3)]) == [[0, 1], [1.3, 3]]
    # scrapes in the middle of a swing
    assert _stances([(0, 1), (1.15, 1.18), (1.3, 3)]) == [[0, 1], [1.3, 3]]
    # is free for long, but never lifted: the other foot takes the load
    assert _stances([(0, 1), (1.3, 3)], lift=0.0005) == [[0, 3]]
    # hangs at the start and at the end
    assert _stances([(0.5, 1), (1.3, 2)]) == [[0.5, 1], [1.3, 2]]


def test_light_loads_do_not_count() -> None:
    """A sole is loaded above 5 % of the weight, and until it has less than 2 %."""
    load = np.concatenate(
        [np.full(100, 5.0), np.full(50, 0.4), np.full(50, 0.1), np.full(100, 0.4)]
    )
    height = np.where(load > 0.3, 0.0, 0.02)
    (stance,) = stances(T, load, height, 10.0, 0.001)
    assert (stance.first, stance.last) == (0, 149)


def test_jumping_makes_no_steps(khr1: hs.Model) -> None:
    """Both feet leave and come down together."""
    q = np.tile(khr1.neutral(), (100, 1))
    q[30:50, 2] += 0.02
    summary = WalkSummary.of_run(kinematic_run(khr1, 0.02 * np.arange(100), q))
    assert summary.steps == () and summary.verdict == "stood"


def test_landing_times_come_from_events(khr1: hs.Model) -> None:
    """An event within the last period says when a foot touched."""
    run, _ = planned_walk(khr1, 2, (0.05, 0.0, 0.0), 2.5)
    plain = WalkSummary.of_run(run).steps[0]
    contact = next(s.contacts[0] for s in khr1.soles if s.name == plain.sole)
    other = next(s.contacts[0] for s in khr1.soles if s.name != plain.sole)
    events = (
        Event(plain.landing - 0.02, "contact_closed", contact),
        Event(plain.landing - 0.007, "contact_closed", other),
        Event(plain.landing - 0.004, "contact_closed", contact),
    )
    exact = WalkSummary.of_run(dataclasses.replace(run, events=events)).steps[0]
    assert exact.landing == plain.landing - 0.004


def test_work_of_the_joints(khr1: hs.Model) -> None:
    """Constant torque and speed by hand; and work that cannot be is not reported."""
    run = kinematic_run(khr1, np.linspace(0, 2, 21), np.tile(khr1.neutral(), (21, 1)))
    torques, v = run.torques.copy(), run.v.copy()
    torques[:, 8], v[:, 8] = 0.5, 0.3
    torques[:, 9], v[:, 9] = -0.2, 0.4
    driven = dataclasses.replace(run, torques=torques, v=v)
    summary = WalkSummary.of_run(driven)
    assert summary.work_done == pytest.approx(0.5 * 0.3 * 2)
    assert summary.work_taken == pytest.approx(0.2 * 0.4 * 2)
    risen = run.energy + np.linspace(0.0, 1.0, 21)[:, None]
    summary = WalkSummary.of_run(dataclasses.replace(driven, energy=risen))
    assert math.isnan(summary.work_done)
    assert "too coarse" in summary.table()
    # a push may have lifted it
    pushed = dataclasses.replace(driven, energy=risen, events=(Event(0.5, "push"),))
    assert WalkSummary.of_run(pushed).work_done == pytest.approx(0.3)


def test_plain_data(walk: Run) -> None:
    """The summary is strict JSON, with all its fields."""
    summary = WalkSummary.of_run(walk)
    read = json.loads(json.dumps(summary.as_dict(), allow_nan=False))
    assert read["step_count"] == 4 and read["verdict"] == "walked"
    assert read["steps"][0]["duration"] is None and read["fall_time"] is None
    assert read["steps"][0]["side"] in ("left", "right")
    assert read["distance"] == summary.distance
    assert set(read) >= {field.name for field in dataclasses.fields(summary)}
    text = summary.table()
    assert text.startswith("Walked 4 steps") and "nan" not in text


def test_nothing_finite_after_a_failure(khr1: hs.Model) -> None:
    """Samples from the first bad one on are left out, and forces nobody knows."""
    run, _ = planned_walk(khr1, 2, (0.05, 0.0, 0.0), 2.5)
    forces, q = run.forces.copy(), run.q.copy()
    forces[-2:], q[-1] = np.nan, np.nan
    event = Event(float(run.t[-1]), "failure", "", {"text": "no way on"})
    bad = dataclasses.replace(run, forces=forces, q=q, events=(event,))
    summary = WalkSummary.of_run(bad)
    assert summary.verdict == "failed" and summary.failure == "no way on"
    assert summary.duration == pytest.approx(run.t[-2])
    assert len(summary.steps) == 2 and math.isfinite(summary.distance)
    with pytest.raises(hs.errors.RunFileError, match="no sample"):
        WalkSummary.of_run(dataclasses.replace(bad, q=np.full_like(q, np.nan)))


def test_runs_that_are_no_bipeds_are_refused(khr1: hs.Model) -> None:
    """Typed errors say why."""
    run = kinematic_run(khr1, np.arange(2.0), np.tile(khr1.neutral(), (2, 1)))
    with pytest.raises(hs.errors.ParameterError, match="only bipeds walk"):
        WalkSummary.of_run(dataclasses.replace(run, position_names=("x",)))
    with pytest.raises(hs.errors.RunFileError, match="other joints"):
        info = {**run.info, "model": {"name": "bip"}}
        WalkSummary.of_run(dataclasses.replace(run, info=info))


def test_one_sample(model: hs.Model) -> None:
    """A run of one sample has a summary, whatever the model."""
    run = kinematic_run(model, np.zeros(1), model.neutral()[None])
    summary = WalkSummary.of_run(run)
    assert summary.verdict == "stood" and summary.distance == 0.0
    assert summary.table()
