# SPDX-License-Identifier: Apache-2.0
"""Pushes on walking robots: caught by steps, and only then."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.batch.sweeps import prepare_seeded
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.walk_control import WalkingRobot, walking_robot
from humans_sim.control.walking import (
    SoleWrench,
    Velocity,
    Walker,
    WalkPattern,
    WalkSettings,
)
from humans_sim.control.walking.com_estimator import BodyEstimate, WalkSensors
from humans_sim.control.walking.footsteps import Footprint
from humans_sim.control.walking.preview import Pendulum
from humans_sim.control.walking.push_recovery import PushRecovery
from humans_sim.control.walking.timeline import WalkPhase
from humans_sim.control.walking.walk import ScheduledCommand

START, PERIOD = 0.2, 0.02
PUSH = START + 2.32 - 0.96
"""In single support, 0.3 s before the foot lands [s]."""
FROM_THE_FRONT = (-0.5, 0.0, 0.0)


@pytest.fixture(scope="module")
def khr1() -> hs.Model:
    """The robot."""
    return hs.load_model("khr1")


def walking(
    model: hs.Model,
    impulse: tuple[float, float, float],
    walk: WalkSettings | None = None,
) -> WalkingRobot:
    """It walks, and is pushed once."""
    pushes = [hs.Push(PUSH, impulse, point=(0.0, 0.0, 0.04))] if any(impulse) else []
    return walking_robot(
        Walker(model, walk, period=PERIOD),
        [ScheduledCommand(START, Velocity(0.06, 0.0, 0.0))],
        pushes=pushes,
    )


def test_a_push_is_caught_by_a_step_and_only_by_it(khr1: hs.Model) -> None:
    """The same push fells the same walk without steps; with them it walks on."""
    robot = walking(khr1, FROM_THE_FRONT)
    run = robot.simulation.run(t_end=PUSH + 2.4, progress=False)
    assert not WalkSummary.of_run(run).fallen
    assert not robot.walk.commands[-1].fallen
    last = robot.walk.commands[-1].plan
    assert last.phase is WalkPhase.WALKING and last.velocity.vx == pytest.approx(0.06)
    # A foot went back: the walk goes on from farther behind.
    assert run.q[-1, 0] < run.q[np.searchsorted(run.t, PUSH), 0] - 0.02
    steadfast = replace(WalkSettings.of_model(khr1), catch_error=0.0)
    robot = walking(khr1, FROM_THE_FRONT, steadfast)
    run = robot.simulation.run(t_end=PUSH + 0.8, progress=False)
    assert WalkSummary.of_run(run).fallen


def test_a_walk_that_nobody_pushes_stays_as_it_is(khr1: hs.Model) -> None:
    """Not a single command differs, from standing to the last step."""
    commands = []
    for walk in (None, replace(WalkSettings.of_model(khr1), catch_error=0.0)):
        robot = walking(khr1, (0.0, 0.0, 0.0), walk)
        robot.simulation.run(t_end=1.6, progress=False)
        commands.append(np.array([c.joints for c in robot.walk.commands]))
    np.testing.assert_array_equal(*commands)


@pytest.fixture(scope="module")
def stranger(khr1: hs.Model, tmp_path_factory: pytest.TempPathFactory) -> hs.Model:
    """A robot of which nothing is known but its URDF."""
    path = khr1.save(tmp_path_factory.mktemp("robot") / "stranger.urdf")
    path.with_suffix(".yaml").unlink(missing_ok=True)
    path.write_text(path.read_text().replace('name="khr1"', 'name="stranger"', 1))
    draft_robot(path).save()
    return hs.load_model(path)


def stranger_pushed(model: hs.Model, walk: WalkSettings, impulse: float) -> hs.Run:
    """It walks, and is pushed from the front; a second later it has fallen or not."""
    when = START + walk.shift_duration + 13.0 / 6.0 * walk.step_duration
    robot = walking_robot(
        Walker(model, walk, period=PERIOD),
        [
            ScheduledCommand(
                START, Velocity(0.64 * walk.max_forward / walk.step_duration)
            )
        ],
        pushes=[hs.Push(when, (-impulse, 0.0, 0.0), point=(0.0, 0.0, 0.04))],
        method="time_stepping",
        contacts=hs.Contacts(whole_body=False),
    )
    run = robot.simulation.run(t_end=when + 1.0, progress=False)
    commands = robot.walk.commands
    foreseen = [n for n, command in enumerate(commands) if command.falling]
    fallen = [n for n, command in enumerate(commands) if command.fallen]
    assert not fallen or walk.catch_error == 0.0 or foreseen[0] < fallen[0]
    return run


def test_a_robot_of_which_nothing_is_known_steps_too(stranger: hs.Model) -> None:
    """With settings that follow from its URDF; without steps it falls."""
    walk = WalkSettings.of_model(stranger)
    assert not WalkSummary.of_run(stranger_pushed(stranger, walk, 0.55)).fallen
    steadfast = replace(walk, catch_error=0.0)
    assert WalkSummary.of_run(stranger_pushed(stranger, steadfast, 0.55)).fallen


def test_a_fall_is_foreseen(stranger: hs.Model) -> None:
    """Before the body has tilted too far (see above)."""
    walk = WalkSettings.of_model(stranger)
    assert WalkSummary.of_run(stranger_pushed(stranger, walk, 1.0)).fallen


def test_a_body_that_tips_as_one_piece(khr1: hs.Model) -> None:
    """Its capture point is that of a pendulum with its inertia."""
    pattern = WalkPattern(khr1)
    recovery, q = PushRecovery(pattern, PERIOD), pattern.standing()
    base, com = pin.XYZQUATToSE3(q[:7]), khr1.com(q)
    turning = np.array([0.1, 0.5, 0.0])  # about the floor below its centre of mass
    foot = np.array([*com[:2], 0.0])
    sensors = WalkSensors(
        *(base.rotation, turning, SoleWrench(*np.zeros((2, 3)))),
        *(SoleWrench(*np.zeros((2, 3))), q[7:], np.zeros(len(q) - 7)),
    )
    velocity = np.cross(turning, com - foot)
    seen = BodyEstimate(
        Pendulum(com[:2], velocity[:2], com[:2]),
        float(com[2]),
        base,
        np.cross(turning, base.translation - foot),
        base.rotation.T @ turning,
    )
    origin = Footprint(0.0, 0.0, 0.0)
    found = recovery._capture_point(origin, seen, sensors)
    tips = com[:2] + velocity[:2] / recovery._capture.omega
    np.testing.assert_allclose(found - com[:2], tips - com[:2], rtol=0.05)


def test_it_comes_to_rest_where_nothing_is_measured_any_more(khr1: hs.Model) -> None:
    """Ticks without sensors neither fail nor jump while a push is caught."""
    robot = walking(khr1, FROM_THE_FRONT)
    robot.simulation.run(t_end=PUSH + 0.3, progress=False)
    walker, command = robot.walk.walker, robot.walk.commands[-1]
    t = command.plan.time
    for k in range(60):
        before, command = command, walker.tick(t + k * PERIOD)
        assert np.abs(command.joints - before.joints).max() < 0.25
    assert not command.fallen


def test_a_walk_that_nobody_pushes_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sideways, with the joints and the floor of a seed that once set it off."""
    begun: list[float] = []
    monkeypatch.setattr(PushRecovery, "begin", lambda _, t, *rest: begun.append(t))
    velocity = {"controller.walk.velocity.0": 0.0, "controller.walk.velocity.1": 0.03}
    _, (simulation, q, v) = prepare_seeded("khr1-walk", tuple(velocity.items()), 0)
    simulation.run(q, v, t_end=1.6, sampling_period=0.02, progress=False)
    assert not begun
