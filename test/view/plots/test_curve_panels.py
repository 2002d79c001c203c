# SPDX-License-Identifier: Apache-2.0
"""Curves of a panel: commands make steps, footprints carry their numbers inside."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.control.walking.footsteps import Side
from humans_sim.results.event_states import ImpactSamples
from humans_sim.view.plots.figure_panels import HELD, NAMED, STEPS, CurvePanel
from humans_sim.view.plots.walk_plots import _heaviest, _outer_edge

TIMES, VALUES = np.arange(3.0), np.array([[0.0], [1.0], [5.0]])


def test_commands_make_steps() -> None:
    """A command stays until the next one; what is smooth is joined."""
    panel = CurvePanel("u", "u [1/s]", ("a",), VALUES, np.ones(1), at_impact=STEPS)
    t, drawn = panel.curves(ImpactSamples(TIMES))
    assert t.tolist() == [0.0, 1.0, 1.0, 2.0, 2.0]
    assert drawn[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 5.0]
    smooth = CurvePanel("f", "f [N]", ("a",), VALUES, np.ones(1), at_impact=HELD)
    t, drawn = smooth.curves(ImpactSamples(TIMES))
    assert t is TIMES and drawn is VALUES
    alone = CurvePanel("u", "u", ("a",), VALUES[:1], np.ones(1), at_impact=STEPS)
    assert alone.curves(ImpactSamples(TIMES[:1]))[0].tolist() == [0.0]


@pytest.mark.parametrize(("side", "edge"), [(Side.LEFT, 2.5), (Side.RIGHT, 0.0)])
def test_edges_of_prints(side: Side, edge: float) -> None:
    """Of a print with a slanted edge: where it is, not its farthest corner."""
    outline = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 2.0]])
    assert _outer_edge(outline, side, 2.0) == pytest.approx(edge)
    assert _outer_edge(outline[:1], side, 0.0) == 0.0


def test_points_with_names() -> None:
    """Of a sole of many points those with the largest forces; of few, all."""
    peaks = np.arange(3.0 * NAMED)
    forces = np.stack([0 * peaks, peaks, 0.5 * peaks])
    assert _heaviest(forces) == list(range(2 * NAMED, 3 * NAMED))
    assert _heaviest(forces[:, :4]) == [0, 1, 2, 3]
    assert _heaviest(np.zeros((5, 0))) == []
