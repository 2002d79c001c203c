# SPDX-License-Identifier: Apache-2.0
"""Bip on its hoist: it hangs in balance, code 4 plans no feet, and it is let down."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.hoist import CABLE_SLACK, CABLE_TAUT, Hoist
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.bip.control import BipControl, LetDown, let_down
from humans_sim.control.bip.task import BipTask, one_step, start_of
from humans_sim.control.trajectories.trajectory import (
    ContactPhase,
    read_traj3,
    write_traj3,
)

PLAN = LetDown()


@pytest.fixture(scope="module")
def task(bip: hs.Model) -> BipTask:
    """Bip's task function."""
    return BipTask(bip)


@pytest.fixture(scope="module")
def stand(task: BipTask) -> np.ndarray:
    """The configuration in which it will stand."""
    return start_of(task, let_down(task))


def test_hangs_in_balance(bip: hs.Model, stand: np.ndarray) -> None:
    """Tensions carry the weight below the centre of mass; what is left vanishes."""
    hoist, still = Hoist(bip), np.zeros(bip.nv)
    hoist.initialise(0.0, stand, still)
    tensions = hoist.tensions(0.0, stand, still)
    assert (tensions > 100.0).all()
    assert tensions.sum() == pytest.approx(9.81 * bip.mass, rel=1e-6)
    force = hoist.dynamics(0.0, stand, still, np.zeros(0))[0]
    left = bip.nl_effects(stand, still) - force
    np.testing.assert_allclose(left[:6], 0.0, atol=1e-2)
    raised = stand.copy()
    raised[2] += 0.1
    assert not hoist.tensions(0.0, raised, still).any()


def test_force_is_the_virtual_work_of_the_cables(
    bip: hs.Model, stand: np.ndarray, rng: np.random.Generator
) -> None:
    """F dq = -sum T dL, at a posture and speed of its own, the hoist paying out."""
    hoist = Hoist(bip, [(0.0, 0.0), (1.0, 0.02)])
    hoist.initialise(0.0, stand, np.zeros(bip.nv))
    v = 0.02 * rng.standard_normal(bip.nv)
    q = bip.integrate(stand, 0.05 * v)
    rows = [bip.tag_names.index(name) for name in hoist.tags]
    anchors = bip.tags(stand)[rows] + [0.0, 0.0, 1.5]
    force = hoist.dynamics(0.3, q, v, np.zeros(0))[0]
    tensions = hoist.tensions(0.3, q, v)
    for k in range(bip.nv):
        step = np.zeros(bip.nv)
        step[k] = 1e-6
        lengths = [
            np.linalg.norm(anchors - bip.tags(bip.integrate(q, s * step))[rows], axis=1)
            for s in (1.0, -1.0)
        ]
        work = -tensions @ (lengths[0] - lengths[1]) / 2e-6
        assert force[k] == pytest.approx(work, abs=1e-3 * tensions.max())


def test_schedule_goes_from_rest_to_rest(bip: hs.Model) -> None:
    """Through its knots, with the rate of its length."""
    hoist = Hoist(bip, [(0.5, 0.0), (1.5, 0.1), (2.0, 0.3)])
    for t, length in ((0.0, 0.0), (0.5, 0.0), (1.5, 0.1), (2.0, 0.3), (9.0, 0.3)):
        assert hoist.paid_out(t) == pytest.approx((length, 0.0), abs=1e-12)
    for t in (0.7, 1.2, 1.8):
        ahead, behind = hoist.paid_out(t + 1e-6)[0], hoist.paid_out(t - 1e-6)[0]
        rate = (ahead - behind) / 2e-6
        assert hoist.paid_out(t)[1] == pytest.approx(rate, rel=1e-6)
    assert hoist.next_time(0.5) == 1.5 and hoist.next_time(2.0) == np.inf


def test_cables_become_slack_and_taut(bip: hs.Model, stand: np.ndarray) -> None:
    """A body that is dropped into its cables bounces in them; each change is noted."""
    hoist = Hoist(bip, [(0.0, 0.0), (0.05, 0.02)])
    simulation = hs.Simulation(
        bip,
        hoist,
        ground=hs.Ground.empty(),
        locked=bip.joint_names,
        contacts=hs.Contacts(limits=False),
        rtol=1e-7,
        atol=1e-9,
    )
    run = simulation.run(stand, t_end=0.25, progress=False)
    kinds = [event.kind for event in run.events]
    assert kinds.count(CABLE_SLACK) >= 4 and kinds.count(CABLE_TAUT) >= 4
    tension = run.signal("hoist/suspension_rear_left/tension")
    assert tension.min() == 0.0 and tension.max() > 300.0
    assert run.signal("hoist/paid_out")[-1] == 0.02


def test_refusals(bip: hs.Model, khr1: hs.Model) -> None:
    """Models without tags to hang by, cables and schedules that make no sense."""
    with pytest.raises(hs.errors.ParameterError, match="one link"):
        Hoist(khr1)
    with pytest.raises(hs.errors.ParameterError, match="nose"):
        Hoist(bip, tags=["nose"])
    with pytest.raises(hs.errors.ParameterError, match="stiffness"):
        Hoist(bip, stiffness=0.0)
    with pytest.raises(hs.errors.ParameterError, match="one after the other"):
        Hoist(bip, [(1.0, 0.0), (1.0, 0.1)])
    with pytest.raises(hs.errors.ParameterError, match="height"):
        LetDown(height=-1.0)


def test_phases_and_file(task: BipTask, tmp_path: object) -> None:
    """Codes 4, 5, 3, then those of the step; the file of the manual keeps them."""
    path, step = let_down(task), one_step(task)
    assert path.data[1:6:2] == (4, 5, 3)
    assert path.phases[3:] == step.phases
    assert path.end == pytest.approx(step.end + 0.4 + 1.2 + 0.6 + 0.8)
    np.testing.assert_array_equal(path.positions[:7], [step.positions[0]] * 7)
    again = read_traj3(write_traj3(tmp_path / "down.traj3", path), task.size)  # type: ignore[operator]
    assert again.phases == path.phases


def test_code_4_loads_the_suspension_alone(
    bip: hs.Model, task: BipTask, stand: np.ndarray
) -> None:
    """Hung, the torques are those of a body held by its torso; then more of the feet.

    The base is not followed while it hangs, wherever the trajectory has it.
    """
    law, q_h = BipControl(task, let_down(task)), bip.humans.from_pin(stand)[0]
    still = np.zeros(21)
    hung = law.torques(0.1, q_h, still)
    held = bip.nl_effects(stand, np.zeros(bip.nv))
    hoist = Hoist(bip)
    hoist.initialise(0.0, stand, np.zeros(bip.nv))
    held = held - hoist.dynamics(0.0, stand, np.zeros(bip.nv), np.zeros(0))[0]
    np.testing.assert_allclose(hung, held[6:], atol=0.05)
    away = q_h.copy()
    away[15:18] += [0.2, 0.1, -0.1]
    np.testing.assert_allclose(law.torques(0.1, away, still), hung, atol=1e-6)
    knee = bip.joint_names.index("r_knee")
    landing = PLAN.hang + PLAN.descent
    times = landing + PLAN.load * np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    knees = [abs(law.torques(t, q_h, still)[knee]) for t in times]
    assert abs(hung[knee] - knees[0]) < 5.0
    assert knees[-1] > knees[0] + 10.0
    after = law.torques(times[-1] + 0.1, q_h, still)
    assert knees[-1] == pytest.approx(abs(after[knee]), rel=0.05)


@pytest.mark.study
def test_let_down_stands_by_its_sensors(bip: hs.Model) -> None:
    """It hangs, lands, and stands on both feet, the cables slack; its check holds.

    The observer trusts the suspension, then a foot, which it takes to be where the
    plan has it.
    """
    scenario = read_scenario("bip-let-down")
    changed = scenario.with_changes(method="time_stepping", end=3.0)
    run = changed.run(progress=False)
    assert run.check(), run.check().findings
    tensions = [run.signal(f"hoist/{tag}/tension") for tag in Hoist(bip).tags]
    total, weight = np.sum(tensions, axis=0), 9.81 * bip.mass
    hangs = run.t < 1.2
    assert total[hangs] == pytest.approx(weight, rel=0.05)
    assert not run.contacts[hangs].any()
    # The law plans no forces of the feet before the transition: legs give way.
    landed, taken = (int(np.argmin(abs(run.t - t))) for t in (1.6, 2.2))
    shares = run.forces[[landed, taken], :, 0].sum(axis=1) / weight
    assert 0.02 < shares[0] < 0.08
    assert shares[1] > 0.8
    assert run.signal("hoist/paid_out")[landed] == pytest.approx(0.0541, abs=1e-4)
    assert total[-1] == 0.0
    assert run.forces[-1, :, 0].sum() == pytest.approx(weight, rel=0.05)
    trusted = run.signal("observer/suspended")
    assert trusted[hangs].all() and not trusted[-1]
    # While it is let down nobody measures where it is; then it is known again.
    height = run.signal("observer/position_z") - run.q[:, 2]
    assert height[hangs].max() > 0.04
    assert abs(height[-1]) < 2e-3
    assert run.q[-1, :3] == pytest.approx(run.q[0, :3] - [0, 0, 0.05], abs=6e-3)
    assert ContactPhase.SUSPENSION == 4
