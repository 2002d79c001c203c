# SPDX-License-Identifier: Apache-2.0
"""The thesis' method: its equations, its energy, and what becomes of the bones."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.anatomy import (
    AnatomyError,
    BallModel,
    Bone,
    HandMotion,
    Joints,
    Ligament,
    Ligaments,
    PenaltyLaw,
    Wrist,
    load_wrist,
    move_by_penalty,
    move_quasistatic,
    plausibility,
)
from humans_sim.anatomy.wrist.hand_motion import DrivenBones
from humans_sim.anatomy.wrist.penalty_run import WRIST_STIFFNESS, PenaltyMotion
from humans_sim.bodies import MassProperties

RADIUS = 5e-3
PERIPHERAL = {"pisiform", "hamate", "trapezium"}


def bone(name, role, place, moments=(4e-8, 6e-8, 9e-8)):
    """A ball with an inertia of its own."""
    place = np.array(place, dtype=float)
    model = BallModel(place[None], np.array([RADIUS]))
    mass = MassProperties(3e-3, place, np.diag(moments))
    return Bone(name, role, trimesh.creation.icosphere(1, RADIUS), model, mass)


def pair(role="free", gap=1e-3, stiffness=2e4, point=(0, 3e-3, 1e-3)):
    """Two balls and a ligament that draws them together."""
    length = 2 * RADIUS + gap
    bones = (bone("one", "free", (0, 0, 0)), bone("two", role, (length, 0, 0)))
    tie = Ligament("tie", 0, point, 1, (0, 0, 0), 0.7 * length, 1.6 * length, stiffness)
    return Wrist("pair", bones, Ligaments([tie]), (1,), np.zeros(3), True)


def still(duration):
    """A hand that does not move."""
    return HandMotion(angle=0.0, duration=duration, settling=0.0, holding=0.0)


def test_rates_are_newtons_and_eulers():
    """Against accelerations of rigid bodies, and differences of the attitude."""
    wrist, chance = pair(gap=-1e-4), np.random.default_rng(2)
    law = PenaltyLaw(1e4, viscosity=3.0, friction=0.2)
    equations = PenaltyMotion(wrist, still(1.0), law)
    q = equations.start() + chance.normal(0, 0.3, 26)
    moving = equations.moving(0.0, q)
    bodies = wrist.bodies()
    state = bodies.state(moving.x, moving.frames, moving.v, moving.w)
    force, torque = equations.forces(moving)[:2]
    force, torque = force - 3.0 * state.P, torque - 3.0 * state.L
    a, alpha = bodies.accelerations(state, force, torque)
    h = 1e-7
    ahead = equations.moving(0.0, q + h * equations.rates(0.0, q))
    behind = equations.moving(0.0, q - h * equations.rates(0.0, q))
    assert (ahead.x - behind.x) / (2 * h) == pytest.approx(moving.v, abs=1e-8)
    assert (ahead.v - behind.v) / (2 * h) == pytest.approx(a, rel=1e-5)
    assert (ahead.w - behind.w) / (2 * h) == pytest.approx(alpha, rel=1e-4)
    turned = Rotation.from_matrix(ahead.frames @ behind.frames.transpose(0, 2, 1))
    assert turned.as_rotvec() / (2 * h) == pytest.approx(moving.w, rel=1e-5, abs=1e-6)


@pytest.mark.study
def test_energy_and_momentum_are_kept():
    """Without losses: kinetic, of the ligament and of the overlap together."""
    wrist = pair()
    run = move_by_penalty(
        wrist,
        still(0.02),
        PenaltyLaw(1e5, viscosity=0.0),
        tolerance=1e-6,
        sampling=2e-4,
    )
    total = run.energy.sum(axis=1)
    assert np.ptp(total) < 1e-4 * total[0]
    assert 0.5 * 1e5 * run.depths.max() ** 2 > 0.1 * total[0]  # they met
    centre = run.x.mean(axis=1)
    assert np.abs(centre - centre[0]).max() < 1e-8


def test_viscous_losses_bring_them_to_rest():
    """Overlap and tension balance: the end is a rest of the law."""
    wrist = pair("fixed", point=(0, 0, 0))
    run = move_by_penalty(wrist, still(0.1), PenaltyLaw(1e5, viscosity=300.0))
    assert run.energy[-1, 0] < 1e-5 * run.energy[0, 1]
    assert 1e5 * run.depths[-1] == pytest.approx(run.tensions[-1, 0], rel=1e-3)
    assert run.forces[-1] == pytest.approx(run.tensions[-1, 0], rel=1e-3)


def test_driven_bones_move_as_places_say():
    """Their places, and velocities as differences."""
    wrist = pair("driven")
    motion = HandMotion("extension", 0.3)
    driven = DrivenBones(wrist, motion)
    for t in (-0.05, 0.2, 0.5, 2.0):
        places, moving = motion.places(wrist, t), driven.at(t)
        assert moving.x == pytest.approx(places.x, abs=1e-15)
        assert moving.frames == pytest.approx(places.frames, abs=1e-15)
        h = 1e-6
        v = (driven.at(t + h).x - driven.at(t - h).x) / (2 * h)
        assert moving.v == pytest.approx(v, abs=1e-9)
        assert moving.w[1, 0] == pytest.approx(
            -(motion.angle_at(t + h) - motion.angle_at(t - h)) / (2 * h), abs=1e-7
        )


def test_bad_numbers_are_refused():
    """Typed errors, also where steps become too short."""
    with pytest.raises(AnatomyError, match="samples"):
        move_by_penalty(pair(), sampling=0.0)
    with pytest.raises(AnatomyError, match="given up"):
        move_by_penalty(pair(), most_steps=10)
    with pytest.raises(AnatomyError, match="grow"):
        pair().grown(-1e-4)


@pytest.fixture(scope="module")
def hand():
    """The synthetic wrist of coarse balls."""
    return load_wrist("wrist", spacing=1.4e-3)


def moved(wrist, stiffness, duration=0.1, settling=0.0):
    """By 30 degrees a second of adduction."""
    angle = np.radians(30 * duration)
    motion = HandMotion("adduction", angle, duration, settling, 0.0)
    return move_by_penalty(wrist, motion, PenaltyLaw(stiffness))


@pytest.mark.study
def test_bones_alone_leave_the_more_the_stiffer(hand):
    """Balls half a voxel too large, as the thesis' are, drive the bones apart."""
    wrist = hand.grown(1.5e-4).bare()
    soft, hard = moved(wrist, 2e3), moved(wrist, 2e5)
    assert hard.steps.min() < 0.3 * soft.steps.min()
    left = [plausibility(run) for run in (soft, hard)]
    assert left[1].spread > 3 * left[0].spread
    assert set(left[1].left) >= PERIPHERAL
    assert len(Joints(hand).parted(hard)) > 10


@pytest.mark.study
def test_ligaments_hold_the_bones_however_stiff_contact_is(hand):
    """The pisiform stays, the spread does not grow; steps still become shorter."""
    wrist = hand.grown(1.5e-4)
    soft, hard = moved(wrist, 2e4, 0.03, 0.01), moved(wrist, 1e6, 0.03, 0.01)
    assert np.median(hard.steps) < 0.7 * np.median(soft.steps)
    for run in (soft, hard):
        report = plausibility(run)
        assert report.left == () and report.spread < 1e-3
        assert report.most_deep < 0.02
        assert not Joints(hand).parted(run, 5e-4)
        pisiform = run.wrist.number("pisiform")
        assert run.shifts()[-1, pisiform] < 2e-3
    assert plausibility(hard).spread < 1.2 * plausibility(soft).spread


@pytest.mark.study
@pytest.mark.parametrize("kind", ["adduction", "extension"])
def test_thresholds_of_the_thesis_hold_with_ligaments(kind):
    """At rest after 15 degrees, by the same law: deep below 2 %, balls below 5 %."""
    hand = load_wrist("wrist", spacing=1e-3)
    motion = HandMotion(kind, np.radians(15))
    run = move_quasistatic(hand, motion, WRIST_STIFFNESS, samples=2)
    report = plausibility(run)
    assert run.unsettled == 0 and report.left == ()
    assert report.most_deep < 0.02 and 0.005 < report.most_touching < 0.05
    assert not Joints(hand).parted(run)
    assert run.depths.max() < 5e-5
