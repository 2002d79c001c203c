# SPDX-License-Identifier: Apache-2.0
"""A human walks like one: heel, sole, toe; straight knee; steps that catch a push."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.gait.leg_fit import normal_angles
from humans_sim.core.constants import GRAVITY
from humans_sim.observation.markers.filters import zero_phase

END = 2.0


def walk(
    cycle: hs.GaitCycle, end: float, *pushes: hs.Push
) -> tuple[hs.GaitWalk, hs.Run]:
    """Walk at 1 m/s."""
    gait, model = hs.GaitWalk(cycle), cycle.model
    simulation = hs.Simulation(
        model, hs.IdealTorque(model), gait, stands=True, pushes=pushes
    )
    start = gait.start(), gait.start_velocity()
    return gait, simulation.run(*start, t_end=end, sampling_period=0.01)


@pytest.fixture(scope="module")
def walked(cycle: hs.GaitCycle) -> tuple[hs.GaitWalk, hs.Run]:
    """Three steps."""
    return walk(cycle, END)


def test_it_walks_by_physics(walked: tuple[hs.GaitWalk, hs.Run]) -> None:
    """Check clean, 1 m/s, each call with an answer, on average its weight."""
    gait, run = walked
    assert run.check()
    assert (run.q[-1, 0] - run.q[0, 0]) / END == pytest.approx(1.0, abs=0.05)
    assert gait.failures == 0
    stride = run.t > END - gait.cycle.period
    force = run.forces[stride, :, 0].sum(axis=1).mean()
    assert force == pytest.approx(gait.cycle.model.mass * 9.81, rel=0.05)


def test_the_foot_rolls_from_heel_to_toe(walked: tuple[hs.GaitWalk, hs.Run]) -> None:
    """The heel carries load first, then heel and ball together, the toes at last."""
    gait, run = walked
    strike = gait.strikes["r"][0]
    rows = [run.table.names.index(f"r_{n}") for n in ("calcaneous_post", "digit2")]
    period, times = gait.cycle.period, gait.cycle.settings.times

    def loaded(begin: float, end: float) -> np.ndarray:
        part = (run.t - strike) / period
        samples = (part > begin) & (part < end)
        return np.asarray((run.forces[samples][:, rows, 0] > 1.0).mean(axis=0))

    heel, toe = loaded(0.01, 0.5 * times.flat)
    assert heel > 0.5 and toe == 0.0
    heel, toe = loaded(times.heel_off + 0.06, times.toe_off - 0.03)
    assert heel == 0.0 and toe > 0.8
    assert loaded(times.toe_off + 0.05, 0.9) == pytest.approx([0.0, 0.0])


def test_hip_and_knee_bend_as_in_normal_gait(
    walked: tuple[hs.GaitWalk, hs.Run],
) -> None:
    """Correlation above 0.9; the knee straight in stance, bent in the air.

    The ankle, whose foot has no joint before its toes, within 8.5 degrees rms.
    """
    gait, run = walked
    strike, period = gait.strikes["r"][0], gait.cycle.period
    phase = np.linspace(0.0, 1.0, 101)
    curves = {
        joint: sign * np.degrees(np.interp(strike + period * phase, run.t, angle))
        for joint, sign in (("hip_pitch", 1.0), ("knee", -1.0), ("ankle_pitch", 1.0))
        for angle in (run.joint(f"r_{joint}"),)
    }
    hip, knee, ankle = normal_angles(phase)
    assert np.corrcoef(curves["hip_pitch"], hip)[0, 1] > 0.9
    assert np.corrcoef(curves["knee"], knee)[0, 1] > 0.9
    assert curves["knee"][12:46].max() < 20.0
    assert curves["knee"].max() > 50.0
    assert np.sqrt(np.mean((curves["ankle_pitch"] - ankle) ** 2)) < 8.5


def test_the_ground_carries_it_as_a_person(walked: tuple[hs.GaitWalk, hs.Run]) -> None:
    """Two humps below 1.3 of the weight with a valley, low-passed as plates are."""
    gait, run = walked
    names = [run.table.names.index(n) for n in run.table.names if n[:2] == "r_"]
    load = run.forces[:, names, 0].sum(axis=1)[:, None]
    force = zero_phase(load, 100.0, 15.0)[:, 0] / (gait.cycle.model.mass * 9.81)
    strike, period = gait.strikes["r"][0], gait.cycle.period
    stance = np.interp(strike + period * np.linspace(0.0, 0.6, 61), run.t, force)
    assert stance[:20].max() > 0.9 and stance[35:55].max() > 1.0
    assert stance[20:36].min() < 0.95
    assert stance.max() < 1.3


@pytest.mark.parametrize("degrees", [-5.0, 3.0])
def test_it_walks_on_a_slope(human: hs.Model, degrees: float) -> None:
    """Two steps up or down: check clean, the body stays as high above the ground."""
    slope = np.radians(degrees)
    gait = hs.GaitWalk(hs.GaitCycle(human, hs.GaitSettings(slope=slope)))
    simulation = hs.Simulation(
        human, hs.IdealTorque(human), gait, ground=hs.Ground.slope(slope), stands=True
    )
    start = gait.start(), gait.start_velocity()
    run = simulation.run(*start, t_end=1.3, sampling_period=0.01)
    assert run.check() and gait.failures == 0
    assert len(gait.strikes["l"]) == 1 and len(gait.strikes["r"]) == 1
    above = run.q[:, 2] - np.tan(slope) * run.q[:, 0]
    assert run.q[-1, 0] > 1.0
    assert np.abs(above - above[0]).max() < 0.05


@pytest.mark.study
@pytest.mark.parametrize("rise", [-0.05, 0.1])
def test_it_walks_on_stairs(human: hs.Model, rise: float) -> None:
    """Four steps, each foot flat on a tread of its own, midway between the edges."""
    cycle = hs.GaitCycle(human, hs.GaitSettings(rise=rise))
    gait, tread = hs.GaitWalk(cycle), cycle.stride / 2.0
    simulation = hs.Simulation(
        human,
        hs.IdealTorque(human),
        gait,
        ground=hs.Ground(solids=cycle.stairs(6)),
        stands=True,
    )
    start = gait.start(), gait.start_velocity()
    end = 2.3 * cycle.period
    run = simulation.run(*start, t_end=end, sampling_period=0.01)
    assert run.check() and gait.failures == 0
    for step, side in enumerate("rlrl", start=1):
        strike = gait.strikes[side][(step - 1) // 2]
        at = int(np.searchsorted(run.t, strike + 0.2 * cycle.period))
        sole = human.frame_pose(run.q[at], f"{side}_sole")
        assert sole.translation[0] == pytest.approx(step * tread, abs=0.06)
        assert sole.translation[2] == pytest.approx(step * rise, abs=1e-3)
        assert np.abs(pin.log3(sole.rotation)[:2]).max() < 0.01


def test_it_turns(turning: hs.GaitCycle) -> None:
    """Three steps to the left on a circle: check clean, heading and place follow it."""
    gait, run = walk(turning, END)
    assert run.check() and gait.failures == 0
    angle, radius = 0.4 * END, 1.0 / 0.4
    x, y = run.q[:, :2].T
    assert np.hypot(x, y - radius) == pytest.approx(radius, abs=0.12)
    around = np.unwrap(np.arctan2(x, radius - y))
    assert around[-1] - around[0] == pytest.approx(angle, rel=0.1)
    yaw = [pin.rpy.matrixToRpy(pin.Quaternion(q[3:7]).matrix())[2] for q in run.q]
    assert yaw[-1] - yaw[0] == pytest.approx(angle, abs=np.radians(10.0))


def test_the_foot_that_stands_does_not_turn(
    walked: tuple[hs.GaitWalk, hs.Run],
) -> None:
    """While the other leg swings its toes stay where they came down, to 1 mm."""
    gait, run = walked
    model, strike = gait.cycle.model, gait.strikes["r"][0]
    toe = model.tag_names.index("r_digit2")
    phase = (run.t - strike) / gait.cycle.period
    stands = run.q[(phase > 0.12) & (phase < 0.48)]
    places = np.array([model.tags(q)[toe, :2] for q in stands])
    assert np.ptp(places, axis=0).max() < 1e-3


def test_a_push_moves_the_next_step(cycle: hs.GaitCycle) -> None:
    """Pushed to the left it steps to the left, and stays up."""
    push = hs.Push(0.45, (0.0, 12.0, 0.0), duration=0.1)
    gait, run = walk(cycle, 1.3, push)
    assert run.check()
    human = cycle.model
    heel = human.tag_names.index("l_calcaneous_post")
    at = int(np.searchsorted(run.t, gait.strikes["l"][0] + 0.05))
    usual = gait.cycle.settings.width / 2
    assert human.tags(run.q[at])[heel, 1] > usual + 0.01


def test_it_needs_a_simulation_of_its_model(
    cycle: hs.GaitCycle, khr1: hs.Model
) -> None:
    """Not called without a scene, not in that of another model."""
    gait = hs.GaitWalk(cycle)
    state = hs.ControlState(gait.start(), gait.start_velocity())
    with pytest.raises(hs.HumansError, match="scene"):
        gait(0.0, state)
    with pytest.raises(hs.HumansError, match="one model"):
        hs.Simulation(khr1, hs.IdealTorque(khr1), gait)
    with pytest.raises(hs.HumansError, match="period"):
        hs.GaitWalk(gait.cycle, period=0.0)


@pytest.mark.study
def test_it_walks_in_the_gravity_of_the_simulation(human: hs.Model) -> None:
    """At half the gravity it carries half the weight, and catches itself slower."""
    half = GRAVITY / 2.0
    cycle = hs.GaitCycle(human, gravity=half)
    gait = hs.GaitWalk(cycle)
    simulation = hs.Simulation(
        human, hs.IdealTorque(human), gait, gravity=(0.0, 0.0, -half), stands=True
    )
    start = gait.start(), gait.start_velocity()
    run = simulation.run(*start, t_end=0.5, sampling_period=0.01)
    assert run.check() and gait.failures == 0
    load = run.forces[5:, :, 0].sum(axis=1).mean()
    assert load == pytest.approx(human.mass * half, rel=0.15)
    height = gait.point.com[0, 2]
    assert human.com(run.q[-1])[2] == pytest.approx(height, abs=0.01)
    state = hs.ControlState(run.q[-1], run.v[-1])
    _, rate = gait._capture_error(state)
    assert rate == pytest.approx(np.sqrt(half / height), rel=1e-12)
