# SPDX-License-Identifier: Apache-2.0
"""The viewer page in a real browser: the robot stands on the floor and faces x."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tab import Tab, wait

import humans_sim as hs
from humans_sim.view.browser.scene import Scene, free_port
from humans_sim.view.browser.scene_layers import solids


def rows_of(where: np.ndarray) -> np.ndarray:
    """Rows of the picture in which a mask holds."""
    return np.flatnonzero(where.any(axis=1)) if where.any() else np.array([])


STILL = 1.5
"""A page is drawn when nothing of it changes for so long [s]."""


def drawn(url: str, profile: Path) -> np.ndarray:
    """The page once the robot is drawn: solids reach it one by one, over seconds."""
    tab = Tab(url, profile)
    seen, since = tab.picture(), time.monotonic()

    def settled() -> bool:
        nonlocal seen, since
        now = tab.picture()
        if not (masks(now)["visor"].any() and np.array_equal(seen, now)):
            seen, since = now, time.monotonic()
        return time.monotonic() > since + STILL

    try:
        wait(settled, "the whole robot to be drawn")
    finally:
        tab.close()
    return seen


def masks(image: np.ndarray) -> dict[str, np.ndarray]:
    """Where parts of the robot are seen in the middle of the page."""
    # The controls stand on the right, a notice on software rendering on the left.
    width = image.shape[1]
    part = image[:, int(0.30 * width) : int(0.70 * width)]
    red, green, blue = part[..., 0], part[..., 1], part[..., 2]
    return {
        "shell": (blue > red + 45) & (blue > green + 25),
        "visor": (blue > red + 60) & (green > red + 45) & (blue - green < 60),
        "dark": (red < 75) & (green < 75) & (blue < 80),
    }


@pytest.mark.browser
@pytest.mark.study
def test_khr1_stands_on_the_floor(khr1: hs.Model, tmp_path: Path) -> None:
    """Head above trunk above feet, in the middle of the page, seen from its front."""
    scene = Scene(khr1, port=0)
    try:
        image = drawn(scene.url, tmp_path)
    finally:
        scene.stop()
    height, width, _ = image.shape
    shell, visor, dark = masks(image).values()
    visor_rows, shell_rows, dark_rows = (rows_of(mask) for mask in (visor, shell, dark))
    # the visor is on the front of the head: it is seen only from the +x side
    assert visor.sum() > 40, "the visor is not seen: the robot faces away"
    assert shell.sum() > 1000, "the trunk is not seen"
    assert visor_rows.mean() < shell_rows.mean() < dark_rows.max()
    robot = (shell | visor | dark).any(axis=1)
    top, bottom = np.flatnonzero(robot)[[0, -1]]
    assert 0.3 * height < bottom - top < 0.95 * height
    columns = np.flatnonzero((shell | visor).any(axis=0)) + int(0.30 * width)
    assert abs(columns.mean() - width / 2) < 0.08 * width


def test_solids_stand_on_the_floor(model: hs.Model) -> None:
    """Nothing is drawn under the floor in the zero position, and the soles touch it."""
    import pinocchio as pin

    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    lowest, highest = [], []
    for solid in solids(model):
        pose = data.oMi[solid.joint] * solid.placement
        points = solid.mesh.vertices @ pose.rotation.T + pose.translation
        lowest.append(points[:, 2].min())
        highest.append(points[:, 2].max())
    assert min(lowest) == pytest.approx(0.0, abs=1e-3)
    top = model.tags(model.neutral())[:, 2].max()
    assert max(highest) == pytest.approx(top, rel=0.06)


def test_solids_follow_the_stature(human: hs.Model) -> None:
    """A taller human is drawn taller, and still on its feet."""
    tall = human.with_height(2.0)
    extent = [np.vstack([s.mesh.extents for s in solids(m)]) for m in (human, tall)]
    np.testing.assert_allclose(extent[1], extent[0] * 2.0 / 1.741, rtol=2e-2)


def test_a_busy_port_is_passed_over() -> None:
    """The next free port is taken; with none free the error says so."""
    import socket

    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert free_port("127.0.0.1", port) != port
    with pytest.raises(hs.HumansError, match="cannot listen on 203.0.113.1"):
        free_port("203.0.113.1", 8080)
