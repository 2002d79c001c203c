# SPDX-License-Identifier: Apache-2.0
"""Optical markers on the page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.view.browser.marker_layer import MarkerLayer, SeenMarkers, legend
from humans_sim.view.browser.scene import Scene


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A person's page."""
    made = Scene(hs.load_model("human36"), port=0)
    yield made
    made.stop()


def markers(used: int, rejected: int, gap: float = 0.003) -> SeenMarkers:
    """So many markers, each so far from where the body has it."""
    measured = np.arange(3.0 * used).reshape(-1, 3)
    pairs = np.stack([measured, measured + [gap, 0.0, 0.0]], axis=1)
    wrong = np.ones((rejected, 3))
    return SeenMarkers(
        measured,
        wrong,
        np.zeros((0, 3)),
        np.zeros((2, 3)),
        pairs,
        np.stack([wrong, wrong + 0.5], axis=1),
    )


def test_markers_come_and_go(scene: Scene) -> None:
    """Kinds without markers are not seen; the number may change; all may go."""
    layer = MarkerLayer(scene)
    layer.show(markers(5, 2))
    drawn = dict(layer._drawn)
    assert len(drawn["measured"].points) == 5
    assert len(drawn["residuals"].points) == 5
    assert drawn["rejected"].visible and drawn["mistakes"].visible
    assert not drawn["unknown"].visible
    layer.show(markers(7, 0))
    assert len(drawn["measured"].points) == 7
    assert not drawn["rejected"].visible and not drawn["mistakes"].visible
    layer.hide()
    layer.hide()
    assert not layer._drawn
    layer.show(markers(3, 1))
    assert len(layer._drawn["measured"].points) == 3


def test_legend_counts() -> None:
    """Numbers of each kind, and the root mean square distance."""
    text = legend(markers(24, 2))
    assert ">24<" in text and ">2<" in text
    assert "3.0 mm" in text
    assert markers(24, 2).rms == pytest.approx(0.003)
    assert np.isnan(markers(0, 1).rms)
    assert ">-<" in legend(markers(0, 1))
