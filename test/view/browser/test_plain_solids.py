# SPDX-License-Identifier: Apache-2.0
"""Models whose files draw nothing can be seen all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import humans_sim as hs
from humans_sim.models.points import frame_index
from humans_sim.view.browser.scene_layers import solids
from humans_sim.view.plots.side_view import SideView

TABLE = Path(__file__).parents[3] / "examples" / "mybip.yaml"


def test_each_body_has_a_hull_of_its_points() -> None:
    """Around the tags of the table, one a joint; drawn models stay as they are."""
    model = hs.load_model(TABLE)
    drawn = {solid.joint: solid for solid in solids(model)}
    assert sorted(drawn) == list(range(1, model.pin.njoints))
    foot = model.pin.frames[frame_index(model.pin, "r_foot")].parentJoint
    low, high = drawn[foot].mesh.bounds
    np.testing.assert_allclose((high - low)[:2], [0.29, 0.18], atol=0.06)
    assert not any(s.name.endswith("_plain") for s in solids(hs.load_model("bip")))


def test_it_is_seen_from_the_side() -> None:
    """Pictures of it reach from its soles to its top."""
    model = hs.load_model(TABLE)
    q = model.neutral()
    _, _, bottom, top = SideView(model, hs.Ground()).extent(q)
    heights = model.tags(q)[:, 2]
    assert abs(bottom - heights.min()) < 0.03 and abs(top - heights.max()) < 0.03
