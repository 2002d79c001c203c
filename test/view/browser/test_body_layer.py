# SPDX-License-Identifier: Apache-2.0
"""Boxes and balls of a scene on a page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.view.browser.bodies_page import BodyLayer, SeenBody
from humans_sim.view.browser.scene import Scene


@pytest.fixture
def layer(khr1: hs.Model) -> Iterator[BodyLayer]:
    """A layer of a page that is served."""
    scene = Scene(khr1, port=0)
    yield BodyLayer(scene)
    scene.stop()


def body(name: str = "box.0", x: float = 0.0, edge: float = 0.1) -> SeenBody:
    """A cube."""
    place, size = np.array([x, 0.0, 0.0]), np.full(3, edge)
    return SeenBody(name, False, size, place, np.array([2.0, 0, 0, 0]), (200, 90, 60))


def test_bodies_move_and_go(layer: BodyLayer) -> None:
    """One that is known moves, one that is gone is taken away."""
    ball = SeenBody(
        "ball.1", True, np.full(3, 0.2), np.ones(3), np.array([1.0, 0, 0, 0]), (0, 0, 9)
    )
    layer.show([body(), ball])
    assert layer.names == ("box.0", "ball.1")
    handle = layer._drawn["box.0"][1]
    layer.show([body(x=0.5)])
    assert layer.names == ("box.0",)
    assert layer._drawn["box.0"][1] is handle
    np.testing.assert_allclose(handle.position, [0.5, 0, 0])
    np.testing.assert_allclose(handle.wxyz, [1, 0, 0, 0])


def test_another_size_is_drawn_anew(layer: BodyLayer) -> None:
    """A body of another size is another body."""
    layer.show([body()])
    handle = layer._drawn["box.0"][1]
    layer.show([body(edge=0.3)])
    assert layer._drawn["box.0"][1] is not handle


def test_what_cannot_be_drawn_is_refused() -> None:
    """No size, no attitude."""
    with pytest.raises(hs.errors.ConfigurationError, match="size"):
        body(edge=0.0)
    with pytest.raises(hs.errors.ConfigurationError, match="attitude"):
        SeenBody("x", True, np.ones(3), np.zeros(3), np.zeros(4), (0, 0, 0))
