# SPDX-License-Identifier: Apache-2.0
"""Walking patterns: what physics, legs and commands ask of them."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking import (
    Footprint,
    PatternPoint,
    WalkPattern,
    WalkPhase,
    WalkSettings,
)
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.sole_legs import sole_legs, sole_sides
from humans_sim.core.convex_polygon import inside

FAST = 100.0
"""More than any biped here can follow [m/s, rad/s]."""
SERVO_SPEED = 6.23
"""KRS-784ICS: 60 degrees in 0.168 s [rad/s]."""


def ticks(
    pattern: WalkPattern, t_end: float, dt: float = 0.01, t_start: float = 0.0
) -> list[PatternPoint]:
    """The walk sampled until a time."""
    return [
        pattern.tick(t_start + i * dt) for i in range(round((t_end - t_start) / dt) + 1)
    ]


def column(points: list[PatternPoint], name: str) -> np.ndarray:
    """One quantity at all times."""
    return np.array([getattr(point, name) for point in points])


def walk(
    model: hs.Model, velocity: tuple[float, float, float], dt: float = 0.01
) -> list[PatternPoint]:
    """Stand, walk with a velocity, stop in the middle of a step, stand."""
    pattern = WalkPattern(model)
    step = pattern.settings.step_duration
    first = ticks(pattern, 0.16, dt)
    pattern.command(*velocity)
    middle = ticks(pattern, 0.16 + 4.3 * step, dt, 0.16)
    pattern.stop()
    return first + middle[1:] + ticks(pattern, 8 * step, dt, middle[-1].time)[1:]


@pytest.fixture(scope="module")
def straight(model: hs.Model) -> tuple[hs.Model, list[PatternPoint]]:
    """Each model walks as fast as it can."""
    return model, walk(model, (FAST, 0.0, 0.0))


COMMANDS = [
    (-FAST, 0.0, 0.0),
    (0.0, FAST, 0.0),
    (0.0, -FAST, 0.0),
    (FAST, FAST, 0.0),
    (1.0, 0.0, 1.0),
    (0.0, 0.0, -FAST),
]


@pytest.mark.parametrize("velocity", COMMANDS, ids=str)
def test_reach(model: hs.Model, velocity: tuple[float, float, float]) -> None:
    """The legs follow every command that the settings let through, and stop."""
    settings = WalkSettings.of_model(model)
    for point in walk(model, velocity, 0.04):
        assert_zmp_inside(point, settings.zmp_margin)
        assert_within_limits(model, point)
    assert point.phase is WalkPhase.STANDING


def assert_zmp_inside(point: PatternPoint, margin: float) -> None:
    """The zero-moment point keeps its margin to the edges of the support."""
    assert inside(point.support_polygon).depth(point.zmp[:2]) > margin - 1e-5


def assert_within_limits(model: hs.Model, point: PatternPoint) -> None:
    """Joints and their speeds are within the model's limits."""
    assert (point.joints >= model.lower_limits).all()
    assert (point.joints <= model.upper_limits).all()
    assert (np.abs(point.joint_speeds) <= model.velocity_limits).all()


def test_limits(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """ZMP, joints and speeds at all times of the fastest walk."""
    model, points = straight
    margin = WalkSettings.of_model(model).zmp_margin
    for point in points:
        assert_zmp_inside(point, margin)
        assert_within_limits(model, point)


def test_dynamics(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """The ZMP is that of a point mass, its motion the one that is reported."""
    model, points = straight
    com, height = column(points, "com"), points[0].com[2]
    pulled = com - column(points, "com_acceleration") * height / 9.81
    np.testing.assert_allclose(pulled[:, :2], column(points, "zmp")[:, :2], atol=1e-9)
    dt = points[1].time - points[0].time
    speed = column(points, "com_velocity")
    # Simpson's rule over two ticks.
    moved = dt / 3 * (speed[:-2] + 4 * speed[1:-1] + speed[2:])
    np.testing.assert_allclose(com[2:] - com[:-2], moved, atol=1e-6)


def test_posture_is_as_planned(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """Centre of mass, soles and trunk are where the pattern says; speeds, too."""
    model, points = straight
    settings = WalkSettings.of_model(model)
    for point in points[::7]:
        np.testing.assert_allclose(model.com(point.q), point.com, atol=1e-8)
        for name, foot in ((settings.left, point.left), (settings.right, point.right)):
            assert model.frame_pose(point.q, name).isApprox(foot.pose, 1e-8)
        np.testing.assert_allclose(point.q[3:7], [0, 0, 0, 1], atol=1e-12)
        ahead = model.integrate(point.q, 1e-6 * point.v)
        np.testing.assert_allclose(
            (model.com(ahead) - point.com) * 1e6, point.com_velocity, atol=1e-4
        )


def test_feet(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """A foot that stands does not move at all; the other lands where it was planned."""
    model, points = straight
    carried = {
        Side.LEFT: ContactPhase.LEFT_FOOT,
        Side.RIGHT: ContactPhase.RIGHT_FOOT,
    }
    for before, now in itertools.pairwise(points):
        for side, phase in carried.items():
            past, foot = (
                (p.left if side is Side.LEFT else p.right) for p in (before, now)
            )
            if before.support is now.support and now.support in (
                phase,
                ContactPhase.DOUBLE,
            ):
                assert np.array_equal(past.pose.homogeneous, foot.pose.homogeneous)
                assert not foot.velocity.any()
            else:
                assert foot.pose.translation[2] >= 0.0
        if before.support is not ContactPhase.DOUBLE is now.support:
            step = before.footsteps[0]
            assert step.lands == pytest.approx(now.time, abs=0.011)
            landed = now.left if step.side is Side.LEFT else now.right
            assert landed.pose.isApprox(step.place.pose(), 1e-12)
    lift = WalkSettings.of_model(model).foot_lift
    heights = [p.left.pose.translation[2] for p in points]
    assert max(heights) == pytest.approx(lift, rel=0.02)


def test_knees_bend_forwards(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """A knee is in front of the line from the hip to the ankle."""
    model, points = straight
    for leg in sole_legs(model, *sole_sides(model)):
        ids = [
            model.pin.getJointId(next(n for n in leg.names if part in n))
            for part in ("hip_pitch", "knee", "ankle_pitch")
        ]
        for point in points[::10]:
            model.com(point.q)
            hip, knee, ankle = (model.buffers.oMi[i].translation for i in ids)
            share = (knee[2] - ankle[2]) / (hip[2] - ankle[2])
            assert knee[0] > ankle[0] + share * (hip[0] - ankle[0]) + 1e-3


def test_smooth(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """Joint speeds are the derivative of the angles, and nothing jumps."""
    model, points = straight
    joints, speeds = column(points, "joints"), column(points, "joint_speeds")
    dt = points[1].time - points[0].time
    moved = dt / 3 * (speeds[:-2] + 4 * speeds[1:-1] + speeds[2:])
    np.testing.assert_allclose(joints[2:] - joints[:-2], moved, atol=1e-3)
    # A jump of the speed would not shrink with the tick: finer ticks show it.
    assert np.abs(np.diff(speeds, axis=0)).max() < 1.5
    pattern = WalkPattern(model)
    pattern.walk(2, FAST)
    fine = [p.joint_speeds for p in ticks(pattern, 1.0, 0.001)]
    assert np.abs(np.diff(fine, axis=0)).max() < 0.15


def test_start_and_end(straight: tuple[hs.Model, list[PatternPoint]]) -> None:
    """It begins at rest and ends at rest, feet side by side, in the same posture."""
    model, points = straight
    first, last = points[0], points[-1]
    assert first.phase is last.phase is WalkPhase.STANDING
    assert not first.v.any()
    assert np.abs(last.com_velocity).max() < 3e-3 * first.com[2]
    across = last.left.pose.translation - last.right.pose.translation
    width = WalkSettings.of_model(model).stance_width
    np.testing.assert_allclose(across, [0.0, width, 0.0], atol=1e-12)
    np.testing.assert_allclose(last.joints, first.joints, atol=0.01)
    phases = [phase for phase, _ in itertools.groupby(column(points, "phase"))]
    assert phases == [1, 2, 3, 4, 1]


@pytest.mark.parametrize("when", [0.05, 0.5, 1.0, 1.1, 1.23, 1.4])
def test_stop_within_two_steps(khr1: hs.Model, when: float) -> None:
    """Wherever it is commanded to stop, it stands after two more steps at most."""
    pattern = WalkPattern(khr1)
    pattern.command(0.08, 0.0, 0.0)
    before = ticks(pattern, when)[-1]
    pattern.stop()
    after = ticks(pattern, when + 1.5, t_start=when)
    assert after[-1].phase is WalkPhase.STANDING
    landed = (
        after[-1].steps - before.steps + (before.support is not ContactPhase.DOUBLE)
    )
    assert landed <= 2
    assert math.isinf(after[-1].next_change) and not after[-1].footsteps


@pytest.mark.parametrize("speed", [0.02, 0.05, 0.08])
def test_khr1_speed(khr1: hs.Model, speed: float) -> None:
    """It walks as fast as commanded, its servos well below their own speed."""
    pattern = WalkPattern(khr1)
    pattern.command(speed, 0.0, 0.0)
    points = ticks(pattern, 4.8, 0.02)
    steps = 4 * pattern.settings.step_duration
    count = round(steps / 0.02)
    assert points[-1].com[0] - points[-1 - count].com[0] == pytest.approx(
        speed * steps, rel=1e-3
    )
    assert np.abs(column(points, "joint_speeds")).max() < 0.85 * SERVO_SPEED


def test_khr1_side_step(khr1: hs.Model) -> None:
    """It goes to the left with the left foot first, feet never closer than standing."""
    pattern = WalkPattern(khr1)
    pattern.walk(4, vy=0.02)
    points = ticks(pattern, 3.2, 0.02)
    first = next(p for p in points if p.support is not ContactPhase.DOUBLE)
    assert first.support is ContactPhase.RIGHT_FOOT
    gaps = [(p.left.pose.translation - p.right.pose.translation)[1] for p in points]
    assert min(gaps) >= pattern.settings.stance_width - 1e-12
    # The left foot makes two of the four steps, twice as far each.
    expected = 2 * 2 * 0.02 * pattern.settings.step_duration
    expected /= pattern.settings.sideways_share
    assert points[-1].left.pose.translation[1] - points[0].left.pose.translation[
        1
    ] == pytest.approx(expected)
    assert points[-1].steps == 4 and points[-1].phase is WalkPhase.STANDING


def test_khr1_turns_on_both_feet(khr1: hs.Model) -> None:
    """Soles stay parallel to the body; while it turns their pivots stay in place."""
    pattern = WalkPattern(khr1)
    settings = pattern.settings
    rate = 0.9 * settings.max_turn / (settings.step_duration + settings.pivot_duration)
    pattern.command(0.0, 0.0, rate)
    points = ticks(pattern, 4.0)
    assert all(abs(p.left.yaw - p.right.yaw) < 1e-12 for p in points)
    for point in points:
        heading = 2 * math.atan2(point.q[5], point.q[6])
        assert heading == pytest.approx(point.left.yaw, abs=1e-9)
    turning = [p for p in points if abs(p.left.velocity[5]) > 1e-3]
    assert all(p.support is ContactPhase.DOUBLE for p in turning)
    toes, heel = np.array([0.065, 0.0065, 0.0]), np.array([-0.04, -0.0065, 0.0])
    for foot, pivot in (("left", toes), ("right", heel)):
        places = {}
        for point in turning:
            pose = getattr(point, foot).pose
            places.setdefault(point.steps, []).append(pose.act(pivot))
        for points_of_step in places.values():
            np.testing.assert_allclose(
                points_of_step, points_of_step[:1] * len(points_of_step), atol=1e-12
            )
    before = next(p for p in points if p.steps == 2)
    after = next(p for p in points if p.steps == 4)
    pivots = (after.left.yaw - before.left.yaw) * settings.pivot_share
    assert pivots == pytest.approx(rate * (after.time - before.time), rel=1e-6)


def test_bip_turns(bip: hs.Model) -> None:
    """The trunk has the mean heading of the feet, and turns as commanded."""
    pattern = WalkPattern(bip)
    pattern.command(0.0, 0.0, 0.1)
    points = ticks(pattern, 6.0, 0.04)
    for point in points[::5]:
        middle = 0.5 * (point.left.yaw + point.right.yaw)
        np.testing.assert_allclose(
            point.q[3:7], [0, 0, math.sin(middle / 2), math.cos(middle / 2)], atol=1e-12
        )
    before = next(p for p in points if p.steps == 2)
    after = next(p for p in points if p.steps == 4)
    turned = after.left.yaw - before.left.yaw
    assert turned == pytest.approx(2 * 0.1 * pattern.settings.step_duration, rel=1e-6)


def test_place_and_time(khr1: hs.Model) -> None:
    """A walk elsewhere and later is the same walk, moved."""
    place, late = Footprint(3.0, -2.0, 1.0), 100.0
    here, there = WalkPattern(khr1), WalkPattern(khr1, t_start=late, place=place)
    for pattern in (here, there):
        pattern.walk(2, 0.05)
    frame = place.pose()
    for t in np.arange(0.0, 2.0, 0.05):
        one, other = here.tick(t), there.tick(late + t)
        np.testing.assert_allclose(frame.act(one.com), other.com, atol=1e-6)
        np.testing.assert_allclose(one.joints, other.joints, atol=1e-4)


def test_deterministic(khr1: hs.Model) -> None:
    """The same calls give the same walk to the last bit, at any rate of ticks."""
    slow, fast = WalkPattern(khr1), WalkPattern(khr1)
    for pattern in (slow, fast):
        pattern.command(0.06, 0.01, 0.0)
    points = {round(p.time, 6): p for p in ticks(fast, 2.0, 0.01)}
    again = WalkPattern(khr1)
    again.command(0.06, 0.01, 0.0)
    for point in ticks(again, 2.0, 0.01):
        assert np.array_equal(point.q, points[round(point.time, 6)].q)
    for point in ticks(slow, 2.0, 0.1):
        other = points[round(point.time, 6)]
        np.testing.assert_allclose(point.com, other.com, atol=1e-12)
        np.testing.assert_allclose(point.q, other.q, atol=1e-8)


def test_long_walk_does_not_drift(khr1: hs.Model) -> None:
    """After a hundred steps a step is what it was after ten."""
    pattern = WalkPattern(khr1)
    pattern.command(0.08, 0.0, 0.0)
    step = pattern.settings.step_duration
    early, late = pattern.tick(10.2 * step), pattern.tick(100.2 * step)
    assert late.com[0] - early.com[0] == pytest.approx(90 * 0.08 * step, abs=1e-5)
    np.testing.assert_allclose(late.joints, early.joints, atol=1e-4)


def test_misuse(khr1: hs.Model) -> None:
    """Time that goes backwards, no steps and no numbers are refused."""
    pattern = WalkPattern(khr1)
    pattern.tick(0.5)
    with pytest.raises(hs.errors.ParameterError, match="before the last tick"):
        pattern.tick(0.4)
    with pytest.raises(hs.errors.ParameterError, match="one step at least"):
        pattern.walk(0, 0.1)
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        pattern.command(math.nan, 0.0, 0.0)


def test_out_of_reach(khr1: hs.Model) -> None:
    """A centre of mass above the legs is reported, with what stops them."""
    settings = dataclasses.replace(WalkSettings.of_model(khr1), com_height=0.25)
    with pytest.raises(ControlError, match="khr1 does not reach this step"):
        WalkPattern(khr1, settings).tick(0.0)
