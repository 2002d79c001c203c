# SPDX-License-Identifier: Apache-2.0
"""The position observer, beside the truth of simulated runs and of plain kinematics."""

from __future__ import annotations

import math
import re
from itertools import groupby

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.analysis.run_comparison import observe_run, sole_forces
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.task.task_functions import FramePose
from humans_sim.observation.base.base_fit import fit_base
from humans_sim.observation.base.observer import BaseObserver, ObservationError
from humans_sim.results.run import Run

LEFT_FIRST = ("l_sole", "r_sole")
DEGREE = math.radians(1.0)


@pytest.fixture(scope="module")
def step() -> Run:
    """Bip shifts its weight to the right foot and lifts the left one."""
    changed = read_scenario("bip-one-step").with_changes(end=3.8, feedback="true_state")
    run: Run = changed.run(progress=False)
    return run


@pytest.fixture(scope="module")
def pushed(khr1: hs.Model) -> Run:
    """The KHR-1 on soft servos, pushed aside: it sways, its soles stay."""
    push = hs.Push(time=0.05, impulse=(0.02, 0.06, 0.0), duration=0.1)
    sim = hs.Simulation(
        khr1,
        actuation=Servo(khr1, numbers=ServoNumbers(), gain=4.0, damping=0.25),
        pushes=[push],
    )
    run = sim.run(khr1.neutral(), t_end=0.5, progress=False)
    assert (run.contacts[:, :8] == 1).all()
    assert np.ptp(run.q[:, 1]) > 1e-3
    return run


def both(model: hs.Model, right: float, left: float) -> dict[str, float]:
    """Forces on the soles as shares of the weight."""
    weight = 9.81 * model.mass
    return {"r_sole": right * weight, "l_sole": left * weight}


def over_foot(model: hs.Model, q: np.ndarray, foot: str, pose: pin.SE3) -> np.ndarray:
    """The configuration with those joints whose foot has that pose."""
    q = np.array(q)
    q[:7] = model.neutral()[:7]
    base = pin.XYZQUATToSE3(q[:7])
    in_base = base.actInv(model.frame_pose(q, foot))
    q[:7] = pin.SE3ToXYZQUAT(pose * in_base.inverse())
    return q


@pytest.mark.study
@pytest.mark.parametrize("use", ["first", "all", "oldest"])
def test_bip_step(bip: hs.Model, step: Run, use: str) -> None:
    """Right foot, which sticks all along: the truth to 1e-6, the velocity as exact."""
    seen = observe_run(bip, step, use=use)
    assert set(seen.references) == {"r_sole"}
    assert seen.position_error.max() < 1e-6
    assert seen.angle_error.max() < 1e-6
    assert np.abs(seen.velocity_error).max() < 1e-9
    assert max(found.mismatch for found in seen.estimates) < 1e-9
    assert np.ptp(step.q[:, 1]) > 0.04


@pytest.mark.study
def test_reference_changes(bip: hs.Model, step: Run) -> None:
    """Left first: left, then right while it swings, then left again where it landed."""
    seen = observe_run(bip, step, order=LEFT_FIRST)
    assert [name for name, _ in groupby(seen.references)] == [
        "l_sole",
        "r_sole",
        "l_sole",
    ]
    assert seen.position_error.max() < 1e-6
    assert seen.angle_error.max() < 1e-6
    # At the second call at which it bears more than 40 N it takes its place; from the
    # next one on it is trusted.
    left = sole_forces(bip, step)["l_sole"]
    bears = (left[1:] > 40.0) & (left[:-1] > 40.0) & (step.t[1:] > 3.0)
    landed = 1 + np.flatnonzero(bears)[0]
    assert seen.references[landed : landed + 2] == ("r_sole", "l_sole")


def test_velocity_by_differences(bip: hs.Model, step: Run) -> None:
    """Without joint speeds: the mean over the period, no spike where feet change."""
    seen = observe_run(bip, step, speeds=False, order=LEFT_FIRST)
    middle = 0.5 * (step.v[1:, :6] + step.v[:-1, :6])
    found = np.array([estimate.velocity for estimate in seen.estimates])[1:]
    # Commands come every 5 ms: accelerations are not smooth in a period of 20 ms.
    assert np.abs(found - middle).max() < 2e-3
    assert not seen.estimates[0].velocity.any()


def test_swaying_robot(khr1: hs.Model, pushed: Run) -> None:
    """The KHR-1 over either foot, or both."""
    for options in ({}, {"order": LEFT_FIRST}, {"use": "all"}, {"use": "oldest"}):
        seen = observe_run(khr1, pushed, **options)
        assert seen.position_error.max() < 1e-6
        assert seen.angle_error.max() < 1e-6
        assert np.abs(seen.velocity_error).max() < 1e-5


@pytest.mark.parametrize("use", ["first", "all", "oldest"])
def test_rounded_encoders(khr1: hs.Model, pushed: Run, use: str) -> None:
    """Angles in whole degrees: errors of the order of half a degree in each joint."""
    seen = observe_run(khr1, pushed, quantisation=DEGREE, use=use)
    assert 1e-5 < seen.position_error.max() < 5e-3
    assert 1e-4 < seen.angle_error.max() < 2.5 * DEGREE


def test_places_of_a_foot_are_averaged(
    khr1: hs.Model, rng: np.random.Generator
) -> None:
    """The second foot's reference is the mean of all places that were seen."""
    observer, places = BaseObserver(khr1, use="oldest"), []
    left = [name.startswith("l_") for name in khr1.joint_names]
    for k in range(6):
        q = khr1.neutral()
        q[7:][left] += rng.normal(0.0, 0.2 * DEGREE, sum(left))
        forces = both(khr1, 0.5, 0.5)
        estimate = observer.update(0.01 * k, q[7:], sole_forces=forces)
        places.append(khr1.frame_pose(q, "l_sole").translation)
        away = np.linalg.norm(places[-1] - np.mean(places, axis=0))
        assert estimate.mismatch == pytest.approx(away, rel=0.01, abs=1e-9)
    assert away > 1e-4


def test_known_floor(khr1: hs.Model) -> None:
    """A landed foot is laid flat on the floor; heading and place are kept."""
    q = khr1.neutral()
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.02, -0.03, 0.7), np.array([1.0, 2.0, 0.3]))
    start = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(q[:7]))
    observer = BaseObserver(khr1, start=start, floor_height=0.1)
    found = observer.update(0.0, q[7:], sole_forces=both(khr1, 0.5, 0.5))
    sole = khr1.frame_pose(np.concatenate([found.pose, q[7:]]), "r_sole")
    wrong = khr1.frame_pose(np.concatenate([start, q[7:]]), "r_sole")
    heading = math.atan2(wrong.rotation[1, 0], wrong.rotation[0, 0])
    expected = [*wrong.translation[:2], 0.1]
    np.testing.assert_allclose(sole.translation, expected, atol=1e-12)
    turned = pin.utils.rotate("z", heading)
    np.testing.assert_allclose(sole.rotation, turned, atol=1e-12)


def kinematic_walk(model: hs.Model, steps: int) -> list[tuple[np.ndarray, dict]]:
    """Configurations and sole forces of a walk, 4 cm a step, 50 samples each."""
    names, joints = list(model.joint_names), np.zeros(len(model.joint_names))
    for side in "lr":
        for joint, angle in (("hip_pitch", -20), ("knee", 40), ("ankle_pitch", -20)):
            joints[names.index(f"{side}_{joint}")] = math.radians(angle)
    q = model.standing(joints)
    legs = {
        sole: [6 + k for k, n in enumerate(names) if re.match(f"{sole[0]}_(h|k|a)", n)]
        for sole in LEFT_FIRST
    }
    feet = {sole: model.frame_pose(q, sole).translation for sole in LEFT_FIRST}
    x, rows = q[0], []
    for step in range(steps):
        swing, stance = LEFT_FIRST[step % 2], LEFT_FIRST[1 - step % 2]
        landing = feet[swing].copy()
        landing[0] = feet[stance][0] + 0.02
        goal = 0.5 * (feet[stance][0] + landing[0])
        for u in np.arange(50) / 50:
            w = np.clip(2 * u - 0.5, 0, 1)
            place = feet[swing] + (landing - feet[swing]) * w * w * (3 - 2 * w)
            place[2] += 0.012 * math.sin(math.pi * w) ** 2
            q[0] = x + (goal - x) * u
            q[1] = 0.02 * math.sin(math.pi * u) * (1 if stance == "l_sole" else -1)
            for sole, wanted in ((swing, place), (stance, feet[stance])):
                task = FramePose(model, sole)
                target = FramePose.target(pin.SE3(np.eye(3), wanted))
                for _ in range(8):
                    v = np.zeros(model.nv)
                    rate = task.jacobian(q)[:, legs[sole]]
                    error = task.error(q, target)
                    v[legs[sole]] = np.linalg.lstsq(rate, error, rcond=None)[0]
                    q = model.integrate(q, v)
            share = max(0.0, 0.5 - 2 * min(u, 1 - u))
            loads = {swing: share, stance: 1 - share}
            rows.append((q.copy(), both(model, loads["r_sole"], loads["l_sole"])))
        feet[swing], x = landing, goal
    return rows


def test_walk_with_rounded_encoders(khr1: hs.Model) -> None:
    """Ten steps: averaged references and a known floor keep the drift small."""
    rows = kinematic_walk(khr1, 10)

    def drift(step: float, **options: object) -> float:
        observer = BaseObserver(khr1, start=rows[0][0][:7], **options)
        away = []
        for k, (q, forces) in enumerate(rows):
            read = step * np.round(q[7:] / step)
            found = observer.update(0.01 * k, read, sole_forces=forces)
            away.append(np.linalg.norm(found.position - q[:3]))
        return max(away)

    manual, better = drift(DEGREE), drift(DEGREE, use="oldest", floor_height=0.0)
    assert better < 0.007
    assert better < 0.5 * manual
    for use in ("first", "all", "oldest"):
        assert drift(1e-12, use=use, floor_height=0.0) < 1e-9


def test_first_foot_is_where_it_stands(
    model: hs.Model, rng: np.random.Generator
) -> None:
    """Without a start the right foot is flat on the ground, as in the zero position."""
    joints = model.random_configuration(rng)[7:]
    found = BaseObserver(model).update(0.0, joints, sole_forces=both(model, 0.5, 0.5))
    assert (found.reference, found.feet) == ("r_sole", ("r_sole", "l_sole"))
    q = np.concatenate([found.pose, joints])
    sole, wanted = (model.frame_pose(x, "r_sole") for x in (q, model.neutral()))
    np.testing.assert_allclose(sole.homogeneous, wanted.homogeneous, atol=1e-12)


def test_threshold_and_its_release(khr1: hs.Model) -> None:
    """Two calls above the threshold put a foot down, one below 0.8 of it lifts it."""
    observer = BaseObserver(khr1)
    assert observer.threshold == pytest.approx(0.3 * 9.81 * khr1.mass)
    joints = khr1.neutral()[7:]
    shares = [0.0, 0.31, 0.31, 0.29, 0.25, 0.23, 0.25, 0.31, 0.29, 0.31, 0.31]
    seen = [
        observer.update(0.1 * k, joints, sole_forces=both(khr1, share, 0.0)).reference
        for k, share in enumerate(shares)
    ]
    off, on = "dead_reckoning", "r_sole"
    assert seen == [off, off, on, on, on, off, off, off, off, off, on]
    assert BaseObserver(hs.load_model("bip")).threshold == 40.0


def test_flight(khr1: hs.Model) -> None:
    """No foot: straight on in the world, turning on, with the last velocity."""
    joints, speeds = khr1.neutral()[7:], np.zeros(17)
    speeds[khr1.joint_names.index("r_ankle_pitch")] = 0.8
    speeds[khr1.joint_names.index("r_ankle_roll")] = -0.5
    observer = BaseObserver(khr1)
    last = observer.update(0.0, joints, speeds, sole_forces=both(khr1, 1.0, 0.0))
    attitude = pin.Quaternion(last.quaternion).matrix()
    linear = attitude @ last.velocity[:3]
    assert np.linalg.norm(linear) > 0.1
    for t in (0.1, 0.25, 0.4):
        found = observer.update(t, joints, speeds, sole_forces=both(khr1, 0.0, 0.0))
        now = pin.Quaternion(found.quaternion).matrix()
        place = last.position + t * linear
        turned = attitude @ pin.exp3(t * last.velocity[3:])
        np.testing.assert_allclose(found.position, place, atol=1e-12)
        np.testing.assert_allclose(now, turned, atol=1e-12)
        np.testing.assert_allclose(now @ found.velocity[:3], linear, atol=1e-12)
        assert found.reference == "dead_reckoning"
        assert found.unsupported == pytest.approx(t)


def test_landing(khr1: hs.Model) -> None:
    """Dropped by 1 cm, which nobody measures; a known standing place puts it right."""
    q = khr1.neutral()
    q[2] += 0.01
    run = hs.Simulation(khr1, actuation=Servo(khr1, numbers=ServoNumbers())).run(
        q, t_end=0.3, progress=False
    )
    lost = observe_run(khr1, run)
    known = observe_run(khr1, run, start=q[:7], standing=khr1.neutral())
    assert {lost.references[0], known.references[0]} == {"dead_reckoning"}
    assert lost.references[-1] == known.references[-1] == "r_sole"
    assert lost.position_error[-1] == pytest.approx(0.01, abs=1e-4)
    assert known.position_error[-1] < 1e-6
    # While it falls it is taken to be where it was.
    falls = run.t < 0.04
    height = 0.5 * 9.81 * run.t[falls] ** 2
    assert known.position_error[falls] == pytest.approx(height, abs=1e-4)


def test_hanging_bip(bip: hs.Model) -> None:
    """Bip hangs by its tags on a rack and swings its legs."""
    tags = [name for name in bip.tag_names if name.startswith("suspension")]
    joints = np.zeros(15)
    for name, angle in {"r_knee": 0.3, "l_hip_pitch": -0.1, "l_knee": 0.2}.items():
        joints[bip.joint_names.index(name)] = angle
    q = bip.standing(joints)
    q[2] += 0.3
    rows = [bip.tag_names.index(name) for name in tags]
    rack = hs.HalfSpace(point=(0.0, 0.0, float(bip.tags(q)[rows, 2].min())))
    ground = hs.Ground(solids=(rack,), law="sticking")
    sim = hs.Simulation(
        bip, ground=ground, contacts=hs.Contacts(points=tags, limits=False)
    )
    run = sim.run(q, t_end=0.3, progress=False)
    assert (run.contacts[:, :4] == 1).all()
    assert np.ptp(run.q[:, 0]) > 1e-3
    seen = observe_run(bip, run)
    assert set(seen.references) == {"suspension"}
    assert seen.position_error.max() < 1e-6
    assert seen.angle_error.max() < 1e-6
    assert np.abs(seen.velocity_error).max() < 1e-6


def test_lifted_bip_hangs_where_it_was(bip: hs.Model) -> None:
    """When the last foot leaves, the torso stays where it is, not where it started."""
    names, joints = bip.joint_names, np.zeros(15)
    observer = BaseObserver(bip)
    observer.update(0.0, joints, sole_forces=both(bip, 0.5, 0.5))
    joints[names.index("r_ankle_pitch")] = 0.1
    last = observer.update(0.1, joints, sole_forces=both(bip, 0.5, 0.0))
    torso = bip.frame_pose(np.concatenate([last.pose, joints]), "torso")
    bent = joints.copy()
    bent[names.index("trunk_pitch")] = -0.2
    found = observer.update(0.2, bent, sole_forces=both(bip, 0.0, 0.0))
    assert found.reference == "suspension"
    now = bip.frame_pose(np.concatenate([found.pose, bent]), "torso")
    np.testing.assert_allclose(now.homogeneous, torso.homogeneous, atol=1e-12)
    no_rack = BaseObserver(bip, suspension=())
    alone = no_rack.update(0.0, joints, sole_forces=both(bip, 0.0, 0.0))
    assert alone.reference == "dead_reckoning"


def test_fit_is_least_squares(rng: np.random.Generator) -> None:
    """Two feet that disagree: no step of the base makes the weighted error less."""

    def pose(size: float) -> pin.SE3:
        return pin.exp6(rng.normal(size=6) * size)

    base, lever, weights = pose(1.0), 0.3, np.array([0.7, 0.3])
    in_base = [pose(0.5), pose(0.5)]
    references = [base * foot * pose(0.05) for foot in in_base]

    def cost(at: pin.SE3) -> float:
        total = 0.0
        for k in range(2):
            error = pin.log6((at * in_base[k]).actInv(references[k]))
            parts = error.linear @ error.linear, error.angular @ error.angular
            total += weights[k] * (parts[0] + lever**2 * parts[1])
        return total

    found = fit_base(references, in_base, weights, lever)
    best = cost(found)
    assert best > 1e-6
    for axis in np.eye(6):
        sides = [cost(found * pin.exp6(s * 1e-4 * axis)) for s in (1.0, -1.0)]
        assert min(sides) > best
        assert sides[0] - sides[1] == pytest.approx(0.0, abs=1e-3 * (sides[0] - best))
    exact = fit_base([base * foot for foot in in_base], in_base, weights, lever)
    np.testing.assert_allclose(exact.homogeneous, base.homogeneous, atol=1e-12)


def test_bad_measurements_change_nothing(khr1: hs.Model) -> None:
    """They are refused by name; the observer goes on as if they had not come."""
    joints, forces = khr1.neutral()[7:], both(khr1, 0.5, 0.5)
    observer, untouched = BaseObserver(khr1), BaseObserver(khr1)
    for each in (observer, untouched):
        each.update(1.0, joints, sole_forces=forces)
    broken = joints.copy()
    broken[3] = math.nan
    name = khr1.joint_names[3]
    for message, arguments in {
        "came after those of 1 s": (1.0, joints, None, forces),
        "call reset": (0.5, joints, None, forces),
        "time of the measurements is nan": (math.nan, joints, None, forces),
        f"joints: {name} is nan": (1.1, broken, None, forces),
        f"joint_speeds: {name} is nan": (1.1, joints, broken, forces),
        "17 entries": (1.1, joints[:-1], None, forces),
        "r_sole is inf": (1.1, joints, None, {**forces, "r_sole": math.inf}),
        "no force is given for 'l_sole'": (1.1, joints, None, {"r_sole": 1.0}),
        "there is no 'paw'": (1.1, joints, None, {**forces, "paw": 1.0}),
    }.items():
        t, angles, speeds, loads = arguments
        with pytest.raises(ObservationError, match=message):
            observer.update(t, angles, speeds, sole_forces=loads)
    joints = joints + 0.01
    found, expected = (
        each.update(1.2, joints, sole_forces=forces) for each in (observer, untouched)
    )
    np.testing.assert_array_equal(found.pose, expected.pose)
    np.testing.assert_array_equal(found.velocity, expected.velocity)


def test_reset(khr1: hs.Model) -> None:
    """Time may jump back after a reset; a new start is where it then is."""
    joints, forces = khr1.neutral()[7:], both(khr1, 0.5, 0.5)
    observer = BaseObserver(khr1)
    first = observer.update(5.0, joints, sole_forces=forces)
    observer.update(6.0, joints + 0.1, sole_forces=forces)
    observer.reset()
    again = observer.update(0.0, joints, sole_forces=forces)
    np.testing.assert_array_equal(first.pose, again.pose)
    start = np.array([1.0, 2.0, 0.3, 0.0, 0.0, 1.0, 0.0])
    observer.reset(start)
    there = observer.update(0.0, joints, sole_forces=forces)
    np.testing.assert_allclose(there.pose, start, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use": "some"}, "use is one of"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"release": 1.5}, "release"),
        ({"floor_height": math.inf}, "floor_height"),
        ({"order": ["r_sole"]}, "names each sole"),
        ({"suspension": ["tail"]}, "no tag called 'tail'"),
        ({"suspension": ["l_foot_heel_left", "r_foot_heel_left"]}, "on one link"),
        ({"start": np.zeros(6)}, "7 finite numbers"),
        ({"start": np.zeros(7)}, "unit length"),
        ({"standing": np.zeros(3)}, "q of khr1"),
    ],
)
def test_bad_parameters(
    khr1: hs.Model, options: dict[str, object], message: str
) -> None:
    """A parameter that does not fit is refused by name."""
    with pytest.raises(hs.HumansError, match=message):
        BaseObserver(khr1, **options)


def test_run_of_another_model(khr1: hs.Model, bip: hs.Model, pushed: Run) -> None:
    """A run is observed with its own model."""
    with pytest.raises(hs.errors.ParameterError, match="coordinates"):
        observe_run(bip, pushed)
    with pytest.raises(hs.errors.ParameterError, match="quantisation"):
        observe_run(khr1, pushed, quantisation=-1.0)
