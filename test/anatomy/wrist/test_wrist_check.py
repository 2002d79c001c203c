# SPDX-License-Identifier: Apache-2.0
"""The check of a wrist's motion: what holds, and that each part can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_wrists import small_run

from humans_sim.anatomy import WristRun

NAMES = {
    "gap": "least gap of balls",
    "cone": "largest friction over normal force",
    "touching": "largest share of a bone's balls in contact",
    "deep": "largest share of deep contacts",
    "left": "furthest bone from hand and forearm",
    "energy": "growth of energy while the hand is held",
    "settled": "steps that did not settle",
}


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls: five balls a bone, so that a fifth of them touches."""
    return small_run()


def changed(run: WristRun, name: str, place: tuple, value: float) -> WristRun:
    """The run with one number changed."""
    array = getattr(run, name).copy()
    array[place] = value
    return replace(run, **{name: array})


def test_a_sound_motion(run: WristRun) -> None:
    """All holds but the share of balls, of which these bones have few."""
    check = run.check()
    assert {finding.name for finding in check.findings} == set(NAMES.values())
    assert [f.name for f in check.failed] == [NAMES["touching"]]
    assert replace(run, touching=run.touching / 10).check()


@pytest.mark.parametrize(
    ("name", "field", "place", "value"),
    [
        ("gap", "depths", (3,), 2e-6),
        ("cone", "friction", (4,), 0.021),
        ("deep", "deep", (5,), 0.03),
        ("left", "x", (6, 1, 2), 0.011),
        ("energy", "energy", (-1, 1), 1.0),
    ],
)
def test_each_part_can_fail(
    run: WristRun, name: str, field: str, place: tuple, value: float
) -> None:
    """One wrong number is found, and where it is."""
    sound = replace(run, touching=run.touching / 10)
    check = changed(sound, field, place, value).check()
    assert [finding.name for finding in check.failed] == [NAMES[name]]
    assert not check and f"{run.t[place[0]]:.6g} s" in check[NAMES[name]].where


def test_what_could_not_be_looked_at_is_not_right(run: WristRun) -> None:
    """No hold: no energy to judge. No contact: no friction and no depth."""
    moving = np.flatnonzero(run.t < run.motion.duration - 1e-6)
    short = {
        name: getattr(run, name)[moving]
        for name in ("t", "angles", "x", "frames", "tensions", "forces", "depths")
        + ("touching", "deep", "friction", "energy", "loads")
    }
    check = replace(run, **short).check()
    assert check[NAMES["energy"]].word == "n/a"
    rough = replace(run, unsettled=3).check()[NAMES["settled"]]
    assert rough.word == "n/a" and "3 of" in rough.where
    assert replace(run, unsettled=0).check()[NAMES["settled"]].ok
    free = replace(run, forces=0 * run.forces, touching=0 * run.touching).check()
    assert free[NAMES["cone"]].ok is None and free[NAMES["deep"]].ok is None


def test_energy_of_a_ligament_that_snaps_back_is_found(run: WristRun) -> None:
    """Energy before the hold may grow: the hand feeds it in."""
    early = changed(run, "energy", (2, 1), 2 * run.energy.max())
    assert early.check()[NAMES["energy"]].ok
