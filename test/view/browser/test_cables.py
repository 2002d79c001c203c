# SPDX-License-Identifier: Apache-2.0
"""Cables of a robot that hangs: where they are, on the page and in the film."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.actuation.hoist import LENGTH, Hoist
from humans_sim.view.browser.page import show_sample
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene import Scene
from humans_sim.view.plots.side_view import SideView


@pytest.fixture(scope="module")
def replay() -> Replay:
    """Bip hangs above the floor for an instant, and is let down by a little."""
    bip = hs.load_model("bip", rotors=False)
    hoist = Hoist(bip, [(0.0, 0.0), (0.02, 0.001)])
    q = bip.neutral()
    q[2] += 0.3
    simulation = hs.Simulation(bip, hoist, whole_body=False)
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


def test_cables_are_drawn(replay: Replay) -> None:
    """As line segments on the page, as lines beside the figure in a film."""
    scene = Scene(replay.model, port=0, ground=replay.ground)
    try:
        assert scene._cables is None
        show_sample(scene, replay, 1)
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
