# SPDX-License-Identifier: Apache-2.0
"""How much markers count by the skin they are on."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.observation.markers.marker_set import load_marker_set

SET = """\
title: a leg
markers:
  - {name: THIGH, segment: r_thigh, at: [0, -0.2, 0.08], spread: 0.06}
  - {name: KNEE, segment: r_thigh, at: [0, -yfemur, 0.05]}
  - {name: SHANK, segment: r_shank, at: [0, -0.2, 0.06], spread: 0.06}
  - {name: HEEL, segment: r_foot, at: [-0.05, -0.03, 0]}
  - {name: TOE, segment: r_foot, at: [0.15, -0.03, 0], weight: 0.5}
"""


def test_flesh_counts_less_and_feet_more(human: hs.Model, tmp_path: Path) -> None:
    """Only where the set gives no weight of its own."""
    path = tmp_path / "leg.yaml"
    path.write_text(SET)
    weights = {m.name: m.weight for m in load_marker_set(path, human).markers}
    assert weights == {"THIGH": 0.25, "KNEE": 1, "SHANK": 1, "HEEL": 3, "TOE": 0.5}


@pytest.mark.parametrize("name", ["plug-in-gait", "rajagopal", "gait2354", "cmu"])
def test_left_counts_as_right(name: str, human: hs.Model) -> None:
    """Sides have the same weights, and the tags of the model none of their own."""
    markers = load_marker_set(name, human).markers
    sides = [
        sorted(m.weight for m in markers if m.segment == f"{side}_foot")
        for side in "rl"
    ]
    assert sides[0] == sides[1] and set(sides[0]) == {3.0}
    assert {m.weight for m in load_marker_set("canonical", human).markers} == {1.0}
