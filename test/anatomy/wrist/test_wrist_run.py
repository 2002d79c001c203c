# SPDX-License-Identifier: Apache-2.0
"""The synthetic wrist in motion: gaps, friction, balance, energy, step sizes."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.anatomy import HandMotion, load_wrist, move_wrist, plausibility
from humans_sim.anatomy.wrist.bone_steps import BoneSteps, StepNumbers
from humans_sim.anatomy.wrist.hand_motion import AXES


@pytest.fixture(scope="module")
def wrist():
    """The synthetic one, of coarse balls."""
    return load_wrist("wrist", spacing=1.4e-3)


@pytest.mark.study
@pytest.mark.parametrize("kind", AXES)
def test_every_motion_obeys_the_contact_law(wrist, kind):
    """No overlap, friction in its cone, few balls touch, none deep; steps settle."""
    motion = HandMotion(kind, np.radians(8), 0.16, 0.04, 0.02)
    run = move_wrist(wrist, motion, 0.02)
    assert run.unsettled == run.frictionless == 0
    assert run.depths.max() < 1e-6
    assert 0 < run.friction.max() <= 0.02 * (1 + 1e-6)
    free = [role == "free" for role in wrist.roles]
    assert 0 < run.touching[:, free].max() < 0.05 and run.deep.max() < 0.02
    assert 5 < run.tensions.max() < 200 and run.forces.max() < 200
    report = plausibility(run)
    assert not report.left
    assert np.degrees(report.turns["capitate"]) == pytest.approx(8, abs=2)


def test_momenta_change_by_the_forces_reported(wrist):
    """Of each free bone, from the tensions and contact forces of the record alone."""
    h, motion = 0.01, HandMotion("adduction", np.radians(10), 0.1)
    steps = BoneSteps(wrist, StepNumbers(viscosity=3.0))
    free = np.flatnonzero([role == "free" for role in wrist.roles])
    pressed = 0
    for k in range(8):
        before = steps.state.P.copy()
        record = steps.step(h, motion.places(wrist, (k + 1) * h))
        force = np.zeros_like(before)
        ties = wrist.ligaments
        one, other = ties.ends(steps.moving())
        pull = (other - one) / np.linalg.norm(other - one, axis=1)[:, None]
        pull *= record.tensions[:, None]
        np.add.at(force, ties.body_i, pull)
        np.add.at(force, ties.body_j, -pull)
        c, rows = record.contacts, record.rows
        normal = c.normal[rows]
        first = np.cross(normal, np.eye(3)[np.abs(normal).argmin(axis=1)])
        first /= np.linalg.norm(first, axis=1)[:, None]
        axes = np.stack([normal, first, np.cross(normal, first)], axis=1)
        push = np.einsum("ki,kij->kj", record.forces, axes)
        np.add.at(force, c.body_i[rows], push)
        np.add.at(force, c.body_j[rows], -push)
        change = ((1 + 3.0 * h) * steps.state.P - before) / h
        error = np.abs(change - force)[free].max()
        assert error < 1e-3 * record.tensions.max()
        pressed = max(pressed, len(rows))
    assert pressed > 5


def test_forces_act_only_where_gaps_are_closed(wrist):
    """Complementarity of the pairs at the end of a step, by their own centres."""
    motion = HandMotion("extension", np.radians(10), 0.1)
    steps = BoneSteps(wrist)
    for k in range(6):
        record = steps.step(0.01, motion.places(wrist, (k + 1) * 0.01))
        c, state = record.contacts, steps.state
        ends = []
        for bodies, balls in ((c.body_i, c.ball_i), (c.body_j, c.ball_j)):
            local = [
                wrist.bones[n].model.centres[b] - wrist.bones[n].mass.center
                for n, b in zip(bodies, balls, strict=True)
            ]
            turned = np.einsum("nij,nj->ni", state.R[bodies], np.array(local))
            ends.append(state.x[bodies] + turned)
        radii = [
            wrist.bones[i].model.radii[a] + wrist.bones[j].model.radii[b]
            for i, a, j, b in zip(c.body_i, c.ball_i, c.body_j, c.ball_j, strict=True)
        ]
        along = np.einsum("ni,ni->n", c.normal, ends[0] - ends[1]) - radii
        assert along.min() > -1e-8
        acting = record.rows[record.forces[:, 0] > 1e-6]
        assert np.abs(along[acting]).max() < 1e-8
        assert (record.forces[:, 0] >= 0).all()
    assert len(acting) > 5


@pytest.mark.study
def test_two_step_sizes_end_alike(wrist):
    """Fifteen degrees of adduction, which is quick enough: within 0.2 mm."""
    motion = HandMotion("adduction", np.radians(15), 0.24, 0.04, 0.02)
    ends = [move_wrist(wrist, motion, step).x[-1] for step in (0.02, 0.01)]
    assert np.linalg.norm(ends[0] - ends[1], axis=1).max() < 2e-4


def test_energy_falls_while_the_hand_is_held(wrist):
    """Nothing drives then: kinetic and stored energy do not grow."""
    motion = HandMotion("flexion", np.radians(6), 0.1, 0.04, 0.12)
    run = move_wrist(wrist, motion, 0.01)
    held = run.t > 0.1 + 1e-9
    energy = run.energy.sum(axis=1)[held]
    assert len(energy) >= 11 and energy[0] > 1e-3
    assert (np.diff(energy) <= 1e-9 * energy[:-1]).all()
