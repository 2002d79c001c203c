# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 walks by its servos: steps, turns, pushes, slopes, slippery floors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_comparison import observe_run
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.dynamics.soles import square_to_floor
from humans_sim.models.points import frame_index

PERIOD = 0.02
INNER = ("r_foot_heel_left", "r_foot_toe_left", "l_foot_heel_right", "l_foot_toe_right")
AHEAD = Velocity(0.06, 0.0, 0.0)


def walked(
    model: hs.Model,
    schedule: list[ScheduledCommand],
    end: float,
    *,
    slope: float = 0.0,
    friction: float | None = None,
    period: float = PERIOD,
    **options: Any,
) -> tuple[hs.Run, ServoWalk]:
    """Simulate a walk of the robot on its own floor, or one with another friction."""
    walker = Walker(model, period=period)
    floor = RobotSetup.of_model(model).ground(friction)
    ground = replace(floor, solids=hs.Ground.slope(slope).solids)
    simulation, walk = walking_robot(walker, schedule, ground=ground, **options)
    start = square_to_floor(walker.start(), ground)
    run = simulation.run(start, t_end=end, sampling_period=period, progress=False)
    return run, walk


@pytest.fixture(scope="module")
def straight(khr1: hs.Model) -> hs.Run:
    """Twenty steps, then it stands."""
    return walked(khr1, [ScheduledCommand(0.2, AHEAD, 20)], 12.0)[0]


@pytest.fixture(scope="module")
def gentle(khr1: hs.Model) -> hs.Run:
    """Twenty steps at 100 Hz by softer servos, on a floor where feet slip less."""
    return walked(
        khr1,
        [ScheduledCommand(0.2, AHEAD, 20)],
        12.0,
        friction=0.7,
        period=0.01,
        servo={"damping": 0.5, "coulomb": 0.01},
        time_step=2e-3,
    )[0]


@pytest.mark.study
def test_twenty_steps(khr1: hs.Model, straight: hs.Run) -> None:
    """Straight ahead, as fast as commanded; does not sink or slide; then stands."""
    summary = WalkSummary.of_run(straight)
    assert summary.verdict == "walked" and len(summary.steps) == 20
    assert straight.check()
    assert summary.speed == pytest.approx(0.06, rel=0.06)
    assert abs(summary.drift) < 0.05
    assert summary.largest_slip < 4e-3
    assert summary.largest_tilt < math.radians(3)
    last = straight.t > 11.7
    assert np.abs(straight.v[last]).max() < 5e-3


@pytest.mark.study
@pytest.mark.parametrize("name", ["straight", "gentle"])
def test_stands_on_flat_feet(
    khr1: hs.Model, name: str, request: pytest.FixtureRequest
) -> None:
    """A second after the walk all corners are down, loaded, and do not slide."""
    run: hs.Run = request.getfixturevalue(name)
    settings = Walker(khr1).settings
    over = 0.2 + 2 * settings.shift_duration + 20 * settings.step_duration
    late = [k for k, t in enumerate(run.t) if t >= over + 1.0]
    corners = np.array([khr1.contact(run.q[k]) for k in late]).reshape(-1, 8, 3)
    assert np.abs(corners[:, :, 2]).max() < 1e-4
    assert np.abs(corners - corners[-1]).max() < 1e-5
    data = khr1.pin.createData()
    for k in late:
        pin.framesForwardKinematics(khr1.pin, data, run.q[k])
        for sole in khr1.soles:
            frame = data.oMf[frame_index(khr1.pin, sole.name)]
            assert math.acos(min(frame.rotation[2, 2], 1.0)) < math.radians(0.2)
    # No edge carries the weight alone: the legs do not press the feet apart.
    loads = run.forces[-1, :8, 0]
    inner = [corner in INNER for corner in khr1.contact_names]
    assert 0.3 < loads[inner].sum() / loads.sum() < 0.7


@pytest.mark.study
def test_observer_follows(khr1: hs.Model, gentle: hs.Run, straight: hs.Run) -> None:
    """Twenty steps with encoders that round to a degree, whatever the offset."""
    options = {"use": "oldest", "floor_height": 0.0, "threshold": 0.1 * 9.81 * 1.3}
    for step in (1.0, 0.97, 0.94):
        observed = observe_run(
            khr1, gentle, quantisation=math.radians(step), speeds=False, **options
        )
        assert np.sqrt(np.mean(observed.position_error**2)) < 5e-3
        assert np.sqrt(np.mean(observed.angle_error**2)) < math.radians(1.0)
    exact = observe_run(khr1, gentle, **options)
    assert exact.position_error.max() < 8e-3  # all of it is slip of the feet
    # The robot's own servos rock the soles more, and its floor lets them slip.
    assert observe_run(khr1, straight, **options).position_error.max() < 2e-2


@pytest.mark.study
def test_turn(khr1: hs.Model) -> None:
    """It turns on both feet as commanded, and stays where it is; soles slip more."""
    run, _ = walked(khr1, [ScheduledCommand(0.2, Velocity(0.0, 0.0, -0.35), 6)], 5.2)
    summary = WalkSummary.of_run(run)
    commanded = -5 * 0.35 * 0.72
    # The gyro says how far it turned; the last pivot alone is not made good.
    assert summary.heading_change / commanded == pytest.approx(1.0, abs=0.05)
    assert not summary.fallen and run.check()
    assert summary.distance < 0.05


@pytest.mark.study
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_sideways_and_stop(khr1: hs.Model, side: float) -> None:
    """Steps to both sides; commanded to stop, it does with two steps at most."""
    schedule = [
        ScheduledCommand(0.2, Velocity(0.0, side * 0.03, 0.0)),
        ScheduledCommand(3.3, None),
    ]
    run, walk = walked(khr1, schedule, 5.0)
    summary = WalkSummary.of_run(run)
    assert not summary.fallen and run.check()
    assert side * summary.sideways > 0.06
    plans = [command.plan for command in walk.commands]
    before = next(plan.steps for plan in plans if plan.time > 3.3)
    assert plans[-1].steps - before <= 2
    assert plans[-1].phase.name == "STANDING"


@pytest.mark.study
@pytest.mark.parametrize(
    "circumstances",
    [
        {"slope": math.radians(3.0)},
        {"slope": math.radians(-3.0)},
        {"friction": 0.2},
        {"friction": 0.7},
        {"pushes": [hs.Push(2.2, (0.0, 0.03, 0.0))]},
        {"pushes": [hs.Push(2.4, (0.0, -0.2, 0.0))]},
    ],
    ids=str,
)
def test_circumstances(khr1: hs.Model, circumstances: dict[str, Any]) -> None:
    """Slopes, a slippery floor and pushes to the side are taken."""
    run, walk = walked(khr1, [ScheduledCommand(0.2, AHEAD, 8)], 5.2, **circumstances)
    summary = WalkSummary.of_run(run)
    assert summary.verdict == "walked" and run.check()
    assert summary.forward > 0.8 * 7 * 0.06 * 0.48


def test_a_hard_push_is_a_fall(khr1: hs.Model) -> None:
    """The walker notices, and holds its joints."""
    push = hs.Push(1.0, (0.0, 1.2, 0.0), point=(0.0, 0.0, 0.1))
    _, walk = walked(khr1, [ScheduledCommand(0.2, AHEAD)], 2.0, pushes=[push])
    fallen = [command for command in walk.commands if command.fallen]
    assert fallen and not walk.commands[0].fallen
    assert all((c.joints == fallen[0].joints).all() for c in fallen)


def test_misuse(khr1: hs.Model, bip: hs.Model) -> None:
    """Other periods, other models and commands out of order are refused."""
    walker = Walker(khr1)
    with pytest.raises(hs.errors.ParameterError, match="in the order of time"):
        ServoWalk(walker, [ScheduledCommand(1.0, AHEAD), ScheduledCommand(0.5, None)])
    with pytest.raises(hs.errors.ParameterError, match="of the model"):
        hs.Simulation(bip, Servo(bip), ServoWalk(walker))
    simulation = hs.Simulation(
        khr1,
        Servo(khr1),
        ServoWalk(walker),
        method="time_stepping",
        control_period=0.05,
    )
    with pytest.raises(hs.errors.ParameterError, match="call every 0.02 s"):
        simulation.run(walker.start(), t_end=0.1, progress=False)


def test_samples_do_not_lead_the_walk(khr1: hs.Model) -> None:
    """The walk is the same whenever one looks at it, also between two commands."""
    walker = Walker(khr1)
    start, walk = walker.start(), ServoWalk(walker, [ScheduledCommand(0.0, AHEAD)])
    simulation = hs.Simulation(khr1, Servo(khr1), walk)
    often, seldom = (
        simulation.run(start, t_end=0.6, sampling_period=period)
        for period in (0.02, 0.06)
    )
    np.testing.assert_array_equal(often.q[::3], seldom.q)
    assert len(walk.commands) == len(often.t)


def test_same_walk_again(khr1: hs.Model) -> None:
    """The same schedule give the same run, bit for bit; one walk serves two runs."""
    first, walk = walked(khr1, [ScheduledCommand(0.1, AHEAD)], 1.0)
    again, _ = walked(khr1, [ScheduledCommand(0.1, AHEAD)], 1.0)
    np.testing.assert_array_equal(first.q, again.q)
    assert len(walk.commands) == len(first.t)
