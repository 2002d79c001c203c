# SPDX-License-Identifier: Apache-2.0
"""Landings after a push beside the closed-form pendulum, and how legs get there."""

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.walking import Walker, WalkSettings
from humans_sim.control.walking.capture_step import (
    CaptureStep,
    SwingLegs,
    capturable_distance,
    capture_after,
    error_at_landing,
)
from humans_sim.control.walking.footsteps import Side, SolePair
from humans_sim.control.walking.preview import Pendulum

OMEGA = 6.5
LOW, HIGH = np.array([-0.04, -0.026]), np.array([0.065, 0.039])
POINTS = st.tuples(st.floats(-0.15, 0.15), st.floats(-0.15, 0.15)).map(np.array)
TIMES = st.floats(0.02, 0.4)


@pytest.fixture(scope="module")
def khr1() -> hs.Model:
    """The robot."""
    return hs.load_model("khr1")


@pytest.fixture(scope="module")
def walk(khr1: hs.Model) -> WalkSettings:
    """Its walk."""
    return WalkSettings.of_model(khr1)


@pytest.fixture(scope="module")
def steps(khr1: hs.Model, walk: WalkSettings) -> CaptureStep:
    """Its landings."""
    return CaptureStep(walk, SolePair.of_model(khr1, walk), OMEGA)


@given(capture=POINTS, time=TIMES)
def test_the_capture_point_runs_away_as_the_pendulums(
    capture: np.ndarray, time: float
) -> None:
    """With the zero-moment point at the edge the pendulum itself gets there."""
    zmp = np.clip(capture, LOW, HIGH)
    com = np.array([0.01, 0.02])
    state = Pendulum(com, OMEGA * (capture - com), zmp)
    later = state.after(time, np.zeros(2), OMEGA).capture_point(OMEGA)
    got = capture_after(capture, LOW, HIGH, math.exp(OMEGA * time))
    np.testing.assert_allclose(got, later, atol=1e-12)


@given(error=POINTS, time=TIMES)
def test_an_error_is_what_two_pendulums_differ_by(
    error: np.ndarray, time: float
) -> None:
    """No shift of the zero-moment point within the sole leaves less of it."""
    growth = math.exp(OMEGA * time)
    plan = Pendulum(np.zeros(2), np.zeros(2), np.zeros(2))
    axes = zip(error.tolist(), LOW.tolist(), HIGH.tolist(), strict=True)
    left = np.array([error_at_landing(*axis, growth) for axis in axes])
    for shares in np.linspace(0.0, 1.0, 9)[:, None]:
        moved = LOW + shares * (HIGH - LOW)
        pushed = Pendulum(error, np.zeros(2), moved)
        ends = [s.after(time, np.zeros(2), OMEGA) for s in (plan, pushed)]
        apart = ends[1].capture_point(OMEGA) - ends[0].capture_point(OMEGA)
        assert (np.abs(left) <= np.abs(apart) + 1e-12).all()
    hold = (1.0 - 1.0 / growth) * np.where(error > 0, HIGH, LOW)
    held = np.abs(error) <= np.abs(hold)
    np.testing.assert_allclose(left[held], 0.0, atol=1e-12)
    assert (np.abs(left[~held]) > 0.0).all()


@given(count=st.integers(1, 5), time=st.floats(0.1, 0.4), share=st.floats(0.5, 1.5))
def test_steps_catch_what_is_within_their_bound(
    count: int, time: float, share: float
) -> None:
    """Step by step along a line: the edge follows the capture point, or never does."""
    growth, reach, edge = math.exp(OMEGA * time), 0.09, 0.0
    capture = share * capturable_distance(reach, growth, count)
    for _ in range(count):
        state = Pendulum(np.array([capture]), np.zeros(1), np.array([edge]))
        capture = float(state.after(time, np.zeros(1), OMEGA).capture_point(OMEGA)[0])
        edge += reach
    if abs(share - 1.0) > 1e-9:
        assert (capture <= edge) == (share < 1.0)


@given(capture=POINTS, foot=st.floats(-0.05, 0.05), side=st.sampled_from(Side))
def test_landings_are_within_reach(
    steps: CaptureStep,
    walk: WalkSettings,
    capture: np.ndarray,
    foot: float,
    side: Side,
) -> None:
    """Legs do not cross, nor go too far or too fast."""
    start = np.array([foot, side * walk.stance_width])
    made = steps.soonest(side, capture, start)
    x, y = made.place
    assert abs(x) <= walk.catch_reach + 1e-12
    assert 0.8 * walk.stance_width <= side * y <= walk.catch_width + 1e-12
    way = float(np.linalg.norm(made.place - start))
    assert way <= walk.catch_speed * made.duration + 1e-12


@settings(max_examples=30)
@given(ahead=st.floats(0.0, 0.02), side=st.sampled_from(Side))
def test_a_landing_has_the_capture_point_in_its_sole(
    steps: CaptureStep, walk: WalkSettings, ahead: float, side: Side
) -> None:
    """A body that tips over the toes is caught where the leg is quick enough."""
    capture = np.array([0.065 + ahead, 0.02 * side])
    start = np.array([0.0, side * walk.stance_width])
    made = steps.soonest(side, capture, start)
    later = 0.065 + ahead * math.exp(OMEGA * made.duration)
    assert made.place[0] - 0.04 < later < made.place[0] + 0.065


def test_a_foot_comes_down_where_it_is_while_nothing_is_wrong(
    steps: CaptureStep, walk: WalkSettings
) -> None:
    """With the capture point in the middle of the foot that stands."""
    start = np.array([0.0, walk.stance_width])
    made = steps.soonest(Side.LEFT, np.zeros(2), start)
    np.testing.assert_allclose(made.place, start, atol=1e-12)
    assert made.duration == pytest.approx(0.1) and made.missing < 1e-12


@pytest.mark.parametrize("side", Side)
def test_a_leg_puts_its_sole_flat_below_a_body_that_leans(
    khr1: hs.Model, walk: WalkSettings, side: Side
) -> None:
    """Forward kinematics agree; the other joints stay."""
    legs, q = SwingLegs(khr1, walk), Walker(khr1).start()
    base = pin.XYZQUATToSE3(q[:7])
    base.rotation = pin.rpy.rpyToMatrix(0.05, 0.3, 0.0)
    wanted = pin.SE3(np.eye(3), np.array([0.04, side * 0.05, 0.005]))
    joints = legs.reach(base, q[7:], side, wanted)
    sole = legs.sole(base, joints, side)
    np.testing.assert_allclose(sole.translation, wanted.translation, atol=1e-4)
    np.testing.assert_allclose(sole.rotation[2], [0.0, 0.0, 1.0], atol=1e-3)
    others = np.setdiff1d(np.arange(len(joints)), legs.joints[side])
    np.testing.assert_array_equal(joints[others], q[7:][others])


@pytest.mark.parametrize("side", Side)
def test_a_leg_that_does_not_reach_stays_in_its_range(
    khr1: hs.Model, walk: WalkSettings, side: Side
) -> None:
    """The best that joints allow, without an error."""
    legs, q = SwingLegs(khr1, walk), Walker(khr1).start()
    base = pin.XYZQUATToSE3(q[:7])
    far = pin.SE3(np.eye(3), np.array([0.5, 0.0, -0.3]))
    joints = legs.reach(base, q[7:], side, far)
    assert (joints >= khr1.lower_limits).all() and (joints <= khr1.upper_limits).all()


@pytest.mark.parametrize("side", Side)
def test_a_leg_is_lifted_outwards(
    khr1: hs.Model, walk: WalkSettings, side: Side
) -> None:
    """The sole goes up and away from the body."""
    legs, q = SwingLegs(khr1, walk), Walker(khr1).start()
    base = pin.XYZQUATToSE3(q[:7])
    lifted = legs.sole(base, legs.spread(q[7:], side, 0.5), side).translation
    before = legs.sole(base, q[7:], side).translation
    assert side * (lifted[1] - before[1]) > 0.05 and lifted[2] > before[2] + 0.01


@pytest.mark.parametrize("name", ["khr1", "bip"])
def test_a_free_leg_is_lifted_as_fast_as_its_hip_can(name: str) -> None:
    """Not beyond the level or the joint's end, at its speed or by its torque.

    The inertia is that of the links below the hip about its axis, summed one by one.
    """
    model = hs.load_model(name)
    settings = WalkSettings.of_model(model)
    legs, q = SwingLegs(model, settings), Walker(model).start()
    lift = legs.outward_lift(q)
    tree, data = model.pin, model.data()
    pin.computeJointJacobians(tree, data, q)
    hip = tree.getJointId("l_hip_roll")
    column = tree.joints[hip].idx_v
    axis, origin = data.J[3:, column], data.oMi[hip].translation
    bare = pin.crba(tree, model.data(), q)
    inertia = float(model.inertia(q)[column, column] - bare[column, column])  # rotor
    for joint in tree.subtrees[hip]:
        link = data.oMi[joint].act(tree.inertias[joint])
        arm = np.cross(axis, link.lever - origin)
        inertia += float(link.mass * arm @ arm + axis @ link.inertia @ axis)
    place = column - 6
    swing = 2.0 * math.sqrt(lift.angle * inertia / model.effort_limits[place])
    slowest = lift.angle / model.velocity_limits[place]
    assert lift.duration == pytest.approx(max(swing, slowest), rel=0.02)
    low, high = model.lower_limits[place], model.upper_limits[place]
    room = max(high - q[7 + place], q[7 + place] - low)
    assert 0.1 < lift.angle <= min(0.5 * math.pi, room) + 1e-9
