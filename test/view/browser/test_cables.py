# SPDX-License-Identifier: Apache-2.0
"""Cables of a robot that hangs: where they are, on the page and in the film."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.actuation.composite_actuation import CompositeActuation
from humans_sim.actuation.hoist import Hoist
from humans_sim.view.browser.page import BipedView
from humans_sim.view.browser.replay import Replay
from humans_sim.view.plots.side_view import SideView

LENGTH = 0.8
"""Of the cables [m]: not what a hoist has by default."""


@pytest.fixture(scope="module")
def replay() -> Replay:
    """Bip hangs above the floor for an instant, and is let down by a little."""
    bip = hs.load_model("bip", rotors=False)
    hoist = Hoist(bip, [(0.0, 0.0), (0.02, 0.001)], length=LENGTH)
    q = bip.neutral()
    q[2] += 0.3
    simulation = hs.Simulation(
        bip, CompositeActuation([hoist]), contacts=hs.Contacts(whole_body=False)
    )
    return Replay(simulation.run(q, t_end=0.02, sampling_period=0.01))


def test_cables_go_from_the_tags_to_their_anchors(replay: Replay) -> None:
    """Four of them, straight up at the start; anchors stay, tags move."""
    first, last = replay.cables(0), replay.cables(2)
    assert first.shape == (4, 2, 3)
    names = [n for n in replay.model.tag_names if n.startswith("suspension_")]
    rows = [replay.model.tag_names.index(name) for name in names]
    assert first[:, 0] == pytest.approx(replay.model.tags(replay.run.q[0])[rows])
    assert first[:, 1] - first[:, 0] == pytest.approx(
        np.tile([0.0, 0.0, LENGTH], (4, 1))
    )
    assert last[:, 1] == pytest.approx(first[:, 1])


def test_runs_keep_the_anchors(replay: Replay, tmp_path: Path) -> None:
    """In files and in parts of a run that begin later."""
    anchors = replay.cables(0)[:, 1]
    stored = hs.load_run(replay.run.save(tmp_path / "hung.npz"))
    later = stored[1:]
    for run in (stored, later):
        assert Replay(run).cables(0)[:, 1] == pytest.approx(anchors, abs=0)
    places = replay.model.tags(later.q[0])
    assert np.abs(places - replay.model.tags(stored.q[0])).max() > 1e-7


@pytest.mark.parametrize(
    "cables",
    [
        {"suspension_front_left": [0.0, 1.0]},
        {"suspension_front_left": [0.0, 1.0, math.nan]},
        {"tail": [0.0, 0.0, 1.0]},
        {"suspension_front_left": "above"},
        7,
    ],
)
def test_damaged_anchors_are_refused(replay: Replay, cables: object) -> None:
    """Of tags that are none, of two or no coordinates."""
    run = replace(replay.run, info={**replay.run.info, "cables": cables})
    with pytest.raises(hs.errors.RunFileError, match="cables is damaged"):
        Replay(run)


def test_cables_are_drawn(replay: Replay) -> None:
    """As line segments on the page, as lines beside the figure in a film."""
    view = BipedView(replay, port=0)
    scene = view.scene
    try:
        assert scene._cables is None
        view.show(1)
        assert scene._cables is not None
        assert scene._cables.points == pytest.approx(replay.cables(1), abs=1e-6)
    finally:
        scene.stop()
    panel = Figure().add_subplot()
    view = SideView(replay.model, replay.ground)
    window, _ = view.window(replay.run.q)
    lines = len(panel.lines)
    view.draw(panel, window, replay.run.q[0], replay.arrows(0), replay.cables(0))
    with_cables = len(panel.lines)
    assert with_cables - lines >= 4


def test_a_run_without_a_hoist_has_none() -> None:
    """And nothing is added to its page."""
    khr1 = hs.load_model("khr1")
    run = hs.Simulation(khr1, locked=["*"]).run(khr1.neutral(), t_end=0.01)
    assert Replay(run).cables(0).shape == (0, 2, 3)
