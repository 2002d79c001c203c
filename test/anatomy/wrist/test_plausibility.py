# SPDX-License-Identifier: Apache-2.0
"""The report on a wrist, of motions whose answers are known, and its joints."""

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
    Ligaments,
    Wrist,
    WristRun,
    plausibility,
)
from humans_sim.anatomy.wrist.plausibility import DISTAL, PROXIMAL
from humans_sim.bodies import of_sphere

RADIUS = 4e-3
NAMES = (*PROXIMAL, *DISTAL, "hand", "radius")


def wrist():
    """Bones of one ball each, in two rows."""
    bones = []
    for n, name in enumerate(NAMES):
        place = np.array([(n % 3) * 8.5e-3, (n // 3) * 8.5e-3, 0.0])
        role = {"hand": "driven", "radius": "fixed"}.get(name, "free")
        mesh = trimesh.creation.icosphere(1, RADIUS)
        model = BallModel(place[None], np.array([RADIUS]))
        mass = of_sphere(1e-3, RADIUS).moved(np.eye(3), place)
        bones.append(Bone(name, role, mesh, model, mass))
    return Wrist("rows", tuple(bones), Ligaments([]), (), np.zeros(3), True)


def run_of(turns, shifts=None, across=None):
    """A run in which bones turn by given angles, and shift, from sample to sample."""
    hand = wrist()
    samples = 5
    shares = np.linspace(0, 1, samples)
    frames = np.tile(np.eye(3), (samples, len(NAMES), 1, 1))
    x = np.tile(hand.centres, (samples, 1, 1))
    for name, degrees in turns.items():
        axis = np.array((across or {}).get(name, (0, 0, 1)))
        vectors = shares[:, None] * np.radians(degrees) * axis
        frames[:, NAMES.index(name)] = Rotation.from_rotvec(vectors).as_matrix()
    for name, shift in (shifts or {}).items():
        x[:, NAMES.index(name)] += shares[:, None] * np.array(shift)
    motion = HandMotion("adduction", np.radians(20))
    none, each = np.zeros(samples), np.zeros((samples, len(NAMES)))
    return WristRun(
        hand,
        motion,
        "penalty",
        motion.duration * shares,
        np.radians(20) * shares,
        x,
        frames,
        np.zeros((samples, 0)),
        none,
        none,
        each,
        none,
        none,
        np.zeros((samples, 2)),
        np.ones(4),
        0,
        0.0,
    )


FIRST = {"scaphoid": 8.0, "lunate": 6.0, "triquetrum": 7.0}
SECOND = dict.fromkeys(DISTAL, 18.0)


def test_rows_that_turn_together_are_coherent():
    """Turns, coupling of scaphoid and lunate, tilts from radius and hand."""
    report = plausibility(run_of({**FIRST, **SECOND}))
    assert report.proximal_coherent and report.distal_coherent
    assert report.coupling == pytest.approx(6 / 8)
    assert np.degrees(report.lunate_tilt) == pytest.approx(6)
    assert np.degrees(report.capitate_tilt) == pytest.approx(2)
    assert np.degrees(report.turns["triquetrum"]) == pytest.approx(7)


def test_a_bone_that_turns_the_other_way_is_found():
    """Only in its own row; a turn below a degree says nothing."""
    report = plausibility(run_of({**FIRST, **SECOND, "lunate": -6.0}))
    assert not report.proximal_coherent and report.distal_coherent
    assert report.coupling == pytest.approx(-6 / 8)
    still = plausibility(run_of({**SECOND, "scaphoid": 0.5, "lunate": -0.5}))
    assert still.proximal_coherent and np.isnan(still.coupling)


def test_alignment_is_lost_by_a_tilt_out_of_the_plane():
    """The angle between rotations, not that about the hand's axis."""
    report = plausibility(
        run_of({**FIRST, **SECOND}, across={"lunate": (1, 0, 0)}),
    )
    assert np.degrees(report.lunate_tilt) == pytest.approx(6)
    assert report.turns["lunate"] == pytest.approx(0, abs=1e-12)


def test_bones_that_leave_and_joints_that_part():
    """By a centimetre from hand and forearm; by the gaps of balls."""
    away = run_of(SECOND, {"lunate": (0, 0, 0.02)})
    report = plausibility(away)
    assert report.left == ("lunate",)
    assert report.spread == pytest.approx(0.02)
    place = wrist().centres[NAMES.index("scaphoid")] - away.x[-1, NAMES.index("lunate")]
    assert report.scapho_lunate_gap == pytest.approx(np.linalg.norm(place) - 8.5e-3)
    joints = Joints(wrist())
    name = joints.names.index("scaphoid-lunate")
    assert joints.opened(away)[name] == pytest.approx(report.scapho_lunate_gap)
    parted = joints.parted(away)
    assert "scaphoid-lunate" in parted and "scaphoid-trapezium" not in parted
    rest = wrist().rest()
    assert joints.gaps(rest.x, rest.R)[name] == pytest.approx(5e-4)
    with pytest.raises(AnatomyError, match="neighbour"):
        Joints(wrist(), within=1e-4)
