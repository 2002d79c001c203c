# SPDX-License-Identifier: Apache-2.0
"""The page of a wrist: what is on it, its switches, and how it looks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from browser import screenshot
from small_wrists import small_run

import humans_sim as hs
from humans_sim.anatomy import WristRun
from humans_sim.view.browser.page import page_of
from humans_sim.view.browser.run_page import RunPage
from humans_sim.view.browser.wrist_page import WristView
from humans_sim.view.wrist_colours import bone_colours


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls."""
    return small_run()


def controls(view: WristView | RunPage) -> dict:
    """Controls of a page by their labels."""
    handles = view.server.gui._gui_input_handle_from_uuid.values()
    return {handle.label: handle for handle in handles}


def test_samples_and_switches(run: WristRun) -> None:
    """Bones move with the samples; what is switched off is gone."""
    view = WristView(run, port=0)
    try:
        last = len(run.t) - 1
        view.show(last)
        for n, frame in enumerate(view._bones):
            assert np.allclose(frame.position, 10 * run.x[last, n])
            turn = pin.Quaternion(*frame.wxyz).matrix()
            assert np.allclose(turn, run.frames[last, n], atol=1e-6)
        assert np.abs(run.frames[last] - np.eye(3)).max() > 0.01
        assert f"{run.t[last]:.2f} s" in view._time.text
        assert view._balls == []
        for word, parts in (
            ("Bones", view._meshes),
            ("Names", view._names),
            ("Ligaments", [view._ties]),
            ("Contacts", [view._contacts]),
        ):
            view._switch(word, False)
            assert not any(part.visible for part in parts)
            view._switch(word, True)
            assert all(part.visible for part in parts)
        view._switch("Balls", True)
        assert len(view._balls) == 1  # of the free bone
        view._switch("See through", True)
        assert all(0 < mesh.opacity < 1 for mesh in view._meshes)
    finally:
        view.stop()


def test_a_motion_is_played_with_its_switches(run: WristRun) -> None:
    """The time line of all runs leads to the sample; the switches follow it."""
    page = RunPage([run], port=0)
    try:
        names = list(controls(page))
        assert {"Pause", "Time [s]", "Balls", "Palmar", "Ulnar"} <= set(names)
        assert names.index("Time [s]") < names.index("Balls")
        page.line.seek(float(run.t[-1]))
        page.update(1.0)
        nodes = page.server.scene._handle_from_node_name
        place = nodes["/stage/bones/2"].position
        assert np.allclose(place, 10 * run.x[-1, 2])
    finally:
        page.stop()


def test_legend_names_bones_and_newtons(run: WristRun) -> None:
    """Colours by name, a scale of tensions, in the page that plays, too."""
    page = page_of(run)
    for name in run.wrist.names:
        assert name in page
    assert "tension of a ligament [N]" in page and "Three balls: adduction" in page


@pytest.mark.study
def test_page_in_a_browser(run: WristRun, tmp_path: Path) -> None:
    """Chromium draws the free bone in its colour, and the legend."""
    file = hs.animate(run, tmp_path / "wrist.html")
    picture = screenshot(file.as_uri(), tmp_path, 6000)
    blue = bone_colours(run.wrist)[run.wrist.number("lunate")]
    middle = picture[:, 250:800]
    unit = middle / np.maximum(np.linalg.norm(middle, axis=-1), 1e-9)[..., None]
    seen = np.abs(unit - blue / np.linalg.norm(blue)).max(axis=-1) < 0.12
    assert seen.sum() > 1500
