# SPDX-License-Identifier: Apache-2.0
"""Scenarios on ground that gives way; what their files may say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from humans_sim.analysis.footfalls import sinkages
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import HumansError
from humans_sim.soft import footprints_of, ground_history
from humans_sim.soft.packed_numbers import packed_heights, unpacked_heights


def test_mud_stand() -> None:
    """It sinks to where it is carried, on its feet."""
    run = read_scenario("mud-stand").with_changes(end=0.8).run(progress=False)
    check = run.check()
    assert check.ok, check.failed
    assert run.forces[-10:, :, 0].sum(axis=1).mean() == pytest.approx(12.753, rel=0.02)
    (left, right) = sinkages(run)
    assert {left.sole, right.sole} == {"l_sole", "r_sole"}
    assert 1e-4 < left.depth < 0.02
    surface = run.info["surface"]
    heights = unpacked_heights(surface["heights"], tuple(surface["shape"]))
    assert -left.depth < heights.min() < -1e-4
    prints = footprints_of(run)
    assert np.array_equal(prints.heights, heights)
    image = prints.picture()
    assert image.shape == (118, 118, 3) and image.dtype == np.uint8
    level, shaded = image[0, 0], image.reshape(-1, 3).min(axis=0)
    assert (level == (205, 170, 110)).all() and (shaded < level).all()
    assert f"sinkage into {surface['name']}" in run.summary()


@pytest.mark.study
def test_sand_walk_begins() -> None:
    """The first steps over sand: on its feet, a print under each of them."""
    run = read_scenario("sand-walk").with_changes(end=2.0).run(progress=False)
    check = run.check()
    assert check.ok, check.failed
    stood = sinkages(run)
    assert len(stood) >= 4
    assert all(5e-4 < stance.depth < 0.01 for stance in stood[:-1])


@pytest.mark.study
def test_footprints_fade_behind_the_robot() -> None:
    """Prints that nothing touches any more fade with z_s / k_s = 2 s."""
    run = read_scenario("footprint-fade").with_changes(end=3.2).run(progress=False)
    check = run.check()
    assert check.ok, check.failed
    history = ground_history(run)
    rows = int((run.q[-1, 0] - 0.10 - history.origin[0]) / history.spacing)
    start, end = history.at(2.72).heights[:rows], history.at(3.2).heights[:rows]
    deep = start < -1e-3
    assert deep.sum() > 20
    faded = np.exp(-0.48 / 1.9995)
    np.testing.assert_allclose(end[deep] / start[deep], faded, rtol=0.01)


@pytest.mark.study
def test_human_steps_on_soil() -> None:
    """The first step of Human36 on soil, on whole soles."""
    run = read_scenario("soil-walk").with_changes(end=1.8).run(progress=False)
    check = run.check()
    assert check.ok, check.failed
    stood = sinkages(run)
    assert len(stood) >= 3
    assert all(5e-4 < stance.depth < 0.01 for stance in stood[:2])


@pytest.mark.parametrize(
    ("ground", "message"),
    [
        ("{deformable: custard}", "custard"),
        ("{deformable: {law: sand, patch: 0.001}}", "patch"),
        ("{deformable: sand, slope: 3}", "level"),
        ("{deformable: {law: sand, shape: [4.5, 10]}}", "whole number"),
        ("{deformable: {law: {ground_stiffness: -5}}}", "lowest mode.*negative"),
        ("{deformable: {law: {stiffness: 6000}}}", "highest mode.*> 4"),
        ("{deformable: {law: {mass: -0.01, ground_viscosity: 10}}}", "mass is -0.01"),
        ("{deformable: {law: {period: 0, ground_viscosity: 10}}}", "period is 0"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, ground: str, message: str) -> None:
    """What a file may not say."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"title: Mine\nmodel: khr1\nground: {ground}\n"
        "time: {end: 0.1, sampling_period: 0.01}\n"
    )
    with pytest.raises(HumansError, match=message):
        read_scenario(str(path)).prepare()


def test_rigid_ground_has_no_footprints() -> None:
    """Nothing to sink into, nothing to draw."""
    run = read_scenario("slide").with_changes(end=0.02).run(progress=False)
    assert sinkages(run) == ()
    with pytest.raises(HumansError, match="rigid"):
        footprints_of(run)


def test_heights_as_text() -> None:
    """Heights come back to a tenth of a micrometre; damaged text is refused."""
    heights = np.random.default_rng(3).normal(0.0, 0.01, (20, 30))
    text = packed_heights(heights)
    np.testing.assert_allclose(unpacked_heights(text, (20, 30)), heights, atol=6e-8)
    with pytest.raises(HumansError, match="pins"):
        unpacked_heights(text, (20, 31))
    with pytest.raises(HumansError, match="damaged"):
        unpacked_heights("no heights", (20, 30))
