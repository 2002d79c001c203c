# SPDX-License-Identifier: Apache-2.0
"""What a biped wears, from the file of a scenario to its run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.soft.packed_numbers import CoatTracks

COAT = """
title: A KHR-1 with a ribbon
model: khr1
locked: ["*"]
ground: {friction: 0.5}
start: {height: 0.2}
coat:
  tolerance: 0.05
  pieces:
    - {name: ribbon, kind: strands, link: base_link, at: [-0.05, 0, 0.05],
      size: [0.01, 0.1], counts: [2, 5], mass: 0.001, stiffness: 5, viscosity: 0.001}
time: {end: 0.1, sampling_period: 0.02}
"""


def written(folder: Path, text: str = COAT) -> str:
    """A scenario file."""
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


def test_hair_and_cloth_is_read() -> None:
    """The scenario of the package: pieces that its body does not feel, and others."""
    scenario = read_scenario("hair-and-cloth").with_changes(end=0.06)
    run = scenario.run(progress=False)
    assert run.check(), run.check().failed
    coat = run.info["coat"]
    assert coat["pieces"] == ["cape", "hair"] and not coat["two_way"]
    errors = [one["influence"]["on_first"] for one in coat["influences"]]
    assert 0.0 < max(errors) < 0.03
    assert len(CoatTracks(run.info).times) == len(run.t)


def test_one_way_is_the_body_alone_and_two_way_is_not(tmp_path: Path) -> None:
    """A ribbon on a robot: the same run to the bit, or a little other one."""
    scenario = read_scenario(written(tmp_path))
    worn = scenario.run(progress=False)
    bare = COAT[: COAT.index("coat:")] + COAT[COAT.index("time:") :]
    alone = read_scenario(written(tmp_path, bare)).run(progress=False)
    np.testing.assert_array_equal(worn.q, alone.q)
    felt = scenario.with_changes(coupling="two_way").run(progress=False)
    change = np.abs(felt.q - alone.q).max()
    assert 0.0 < change < 1e-3
    saved = tmp_path / "worn.npz"
    scenario.run(progress=False, save=saved)
    again = CoatTracks(hs.load_run(saved).info)
    np.testing.assert_allclose(
        again.places, CoatTracks(worn.info).places, atol=1e-7 * len(worn.t)
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: strands", "kind: knot", "knot"),
        ("link: base_link", "link: tail", "tail"),
        ("mass: 0.001", "mass: -1", "mass"),
        ("counts: [2, 5]", "counts: [2, 1]", "masses"),
        ("tolerance: 0.05", "coupling: sideways", "sideways"),
        ("ground: {friction: 0.5}", "ground: {deformable: sand}", "rigid ground"),
    ],
)
def test_faults_of_a_coat_are_told(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """A wrong word of the section is named, with its line."""
    scenario = read_scenario(written(tmp_path, COAT.replace(old, new)))
    with pytest.raises(hs.HumansError, match=message):
        scenario.run(progress=False)
