# SPDX-License-Identifier: Apache-2.0
"""Stored runs on a page: scrubbed, beside each other, in real Chromium."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tab import Tab, wait

import humans_sim as hs
from humans_sim.cli.view import play, view
from humans_sim.core.errors import ParameterError
from humans_sim.view.browser import run_page
from humans_sim.view.browser.run_page import MOST_RUNS, RunPage, Track

FLOOR: dict[str, Any] = {
    "kind": "half_space",
    "normal": [0.0, 0.0, 1.0],
    "point": [0.0, 0.0, 0.0],
    "name": "ground",
    "friction": None,
}
SLOPE = {**FLOOR, "normal": [-0.1, 0.0, 1.0], "point": [0.0, -3.0, 0.0]}


@pytest.fixture(scope="module")
def flight(khr1: hs.Model) -> hs.Run:
    """A KHR-1 that falls through nothing, forwards, with joints that turn."""
    v = np.zeros(khr1.nv)
    v[0] = 1.0
    v[6:] = np.linspace(-2.0, 2.0, khr1.nv - 6)
    sim = hs.Simulation(
        khr1, ground=hs.Ground.empty(), contacts=hs.Contacts(limits=False)
    )
    return sim.run(khr1.neutral(), v, t_end=0.2, sampling_period=0.01)


@contextmanager
def opened(*runs: hs.Run, labels: tuple[str, ...] = ()) -> Iterator[RunPage]:
    """A page that is closed afterwards."""
    page = RunPage(runs, labels, port=0)
    try:
        yield page
    finally:
        page.stop()


def controls(page: RunPage) -> dict[str, Any]:
    """Controls by their labels."""
    handles = page.server.gui._gui_input_handle_from_uuid.values()
    return {handle.label: handle for handle in handles}


def base(page: RunPage, k: int) -> np.ndarray:
    """Where the body of a run is in the world, of what is drawn [m]."""
    return np.asarray(page._scenes[k]._frames[1].position)


def test_samples_of_a_time() -> None:
    """The last one that is not after it; before the first and after the last, these."""
    track = Track(np.array([0.0, 0.1, 0.2]), lambda k: None)
    times = (-1.0, 0.0, 0.09, 0.1, 0.19, 0.2, 9.0)
    assert [track.sample(time) for time in times] == [0, 0, 0, 1, 1, 2, 2]


def test_scrubbing(flight: hs.Run) -> None:
    """The time line leads to the sample, the panel shows where it is."""
    with opened(flight) as page:
        for wall, k in enumerate((7, 20, 0)):
            page.line.seek(float(flight.t[k]))
            page.update(100.0 + wall)
            assert np.allclose(base(page, 0), flight.q[k, :3], atol=1e-12)
            assert page._scenes[0]._time.text == f"{flight.t[k]:.2f} s"
            assert controls(page)["Time [s]"].value == pytest.approx(flight.t[k])
        assert "Play" in controls(page) and "Pause" not in controls(page)
        page.line.play(True)
        page.update(200.0)
        page.update(200.05)
        assert "Pause" in controls(page)
        assert page.line.time == pytest.approx(0.05)


def test_runs_beside_each_other(flight: hs.Run) -> None:
    """Each at its own sample of one time, on its own place, with its name."""
    late = replace(flight, t=flight.t + 0.1)
    with opened(flight, late, labels=("one", "two")) as page:
        assert (page.line.start, page.line.end) == pytest.approx((0.0, 0.3))
        page.line.seek(0.15)
        page.update(1.0)
        assert np.allclose(base(page, 0), flight.q[15, :3])
        assert np.allclose(base(page, 1), flight.q[5, :3])
        texts = [scene._time.text for scene in page._scenes]
        assert texts == ["one 0.15 s", "two 0.15 s"]
        places = [np.asarray(scene._stage.position) for scene in page._scenes]
        apart = places[0] - places[1]
        assert apart[1] > 0.5 * page._scenes[0].size and apart[0] == apart[2] == 0.0


@pytest.mark.study
def test_floors_beside_each_other(flight: hs.Run) -> None:
    """One floor for all that stand on the same, else each has its lane."""
    level = replace(flight, info={**flight.info, "solids": [FLOOR]})
    slope = replace(flight, info={**flight.info, "solids": [SLOPE]})
    for second, floors in ((level, 1), (slope, 2)):
        with opened(level, second) as page:
            grids = [grid for scene in page._scenes for grid, _ in scene._floors]
            assert len(grids) == floors
            lanes = [float(scene._stage.position[1]) for scene in page._scenes]
            apart = lanes[0] - lanes[1]
            if floors == 1:
                assert grids[0].height > 4 * apart
                continue
            # no floor reaches into the other's lane, and each is below its body
            assert [grid.height for grid in grids] == pytest.approx([apart] * 2)
            assert [grid.position[1] for grid in grids] == [0.0, 0.0]


def test_following(flight: hs.Run) -> None:
    """The stage goes against the body's way, or stands still."""
    with opened(flight) as page:
        stage = page._scenes[0]._stage
        page.line.seek(0.2)
        for wall in range(60):
            page.update(10.0 + wall)
        assert np.allclose(stage.position[:2], -flight.q[-1, :2], atol=1e-3)
        page._follow(False)
        before = np.array(stage.position)
        page.line.seek(0.0)
        for wall in range(60):
            page.update(100.0 + wall)
        assert np.array_equal(stage.position, before)


def test_what_cannot_be_shown(flight: hs.Run, tmp_path: Path) -> None:
    """Too many, none, bodies beside others, runs beside models."""
    for runs in ([], [flight] * (MOST_RUNS + 1)):
        with pytest.raises(ParameterError, match=f"1 to {MOST_RUNS} runs"):
            RunPage(runs, port=0)
    bodies = replace(flight, info={**flight.info, "bodies": [{}]})
    with pytest.raises(ParameterError, match="only runs of bipeds"):
        play([flight, bodies], port=0)
    with pytest.raises(ParameterError, match="beside runs"):
        view([str(tmp_path / "a.npz"), "khr1"])
    with pytest.raises(ParameterError, match="one model"):
        view(["khr1", "bip"])
    with pytest.raises(hs.errors.RunFileError):
        view([str(tmp_path / "a.npz")])


def test_free_bodies() -> None:
    """A run of bodies without a robot has the same time line, and nothing to follow."""
    run = hs.simulate("tumbling-top", t_end=0.1)
    with opened(run) as page:
        page.line.seek(float(run.t[-1]))
        page.update(1.0)
        (body,) = [
            node
            for name, node in page.server.scene._handle_from_node_name.items()
            if name.endswith("bodies/0")
        ]
        assert np.allclose(body.position, run.q[-1, :3])
        assert np.allclose(np.asarray(body.wxyz)[[1, 2, 3, 0]], run.q[-1, 3:7])
        assert "Follow" not in controls(page) and "Film" in controls(page)


def test_networks() -> None:
    """A network has the same time line: its links are where the sample has them."""
    run = hs.simulate("puppet", t_end=0.04)
    with opened(run) as page:
        page.line.seek(float(run.t[-1]))
        page.update(1.0)
        links = page.server.scene._handle_from_node_name["/stage/links"]
        masses = run.q[-1].reshape(-1, 3)
        pairs = masses[np.array(run.info["network"]["links"])]
        assert np.allclose(links.points, pairs, atol=1e-6)
        assert "Follow" not in controls(page) and "Film" in controls(page)


@contextmanager
def playing(page: RunPage) -> Iterator[None]:
    """Keep a page up to date in a thread."""
    ended = threading.Event()

    def loop() -> None:
        while not ended.wait(0.03):
            page.update(time.monotonic())

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.study
@pytest.mark.browser
def test_in_a_browser(
    flight: hs.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dark as the system; play and pause; a screenshot and a film as files."""
    monkeypatch.setattr(run_page, "FRAMES", 3)
    with opened(flight) as page, playing(page):
        page.line.seek(0.1)
        tab = Tab(page.url, tmp_path / "profile")
        try:
            dark = [{"name": "prefers-color-scheme", "value": "dark"}]
            tab.call("Emulation.setEmulatedMedia", features=dark)
            tab.call("Page.reload")
            wait(lambda: "darkMode" in str(tab.value("location.search")), "the dark")
            folder = tmp_path / "files"
            tab.call(
                "Browser.setDownloadBehavior",
                behavior="allow",
                downloadPath=str(folder),
            )
            wait(lambda: "Screenshot" in tab.text(), "the controls")
            wait(lambda: bool(tab.picture()[-40:, 400:600].mean() < 60), "a dark page")
            tab.click("Screenshot")
            shot = saved(folder, "*.png")
            assert min(shot.size) > 200 and shot.getextrema() != ((255, 255),) * 3
            tab.click("Film")
            film = saved(folder, "*.gif")
            assert film.n_frames == 3 and film.size[0] <= run_page.WIDEST_FILM
            frames = []
            for k in (0, 2):
                film.seek(k)
                frames.append(np.asarray(film.convert("RGB")).astype(int))
            assert np.abs(frames[1] - frames[0]).max() > 50
            assert page.line.time == pytest.approx(0.1) and not page.line.playing
            tab.click("Play")
            wait(lambda: page.line.playing, "the run to play")
            tab.click("Pause")
            wait(lambda: not page.line.playing, "the run to pause")
        finally:
            tab.close()
        assert page._page.incoming.refused == 0


_CONTROLS = """
[...document.querySelectorAll("[role=slider], input, button")]
  .filter((e) => e.offsetParent !== null)
  .map((e) => [
    e.getAttribute("aria-label") || e.innerText.trim()
      || [...(e.labels || [])].map((label) => label.innerText).join(),
    e.getBoundingClientRect().left, e.getBoundingClientRect().right, e.tabIndex])
"""
"""Names and places of all controls, and whether the keyboard reaches them."""


@pytest.mark.study
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_by_keyboard_and_screen_reader(
    flight: hs.Run, tmp_path: Path, width: int
) -> None:
    """Every control has a name, is reached and on the screen; space plays, pauses."""
    with opened(flight) as page, playing(page):
        page.line.seek(0.1)
        tab = Tab(page.url, tmp_path / "profile", (width, 800))
        try:
            tab.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=800,
                deviceScaleFactor=1,
                mobile=False,
            )
            wait(lambda: "Screenshot" in tab.text(), "the controls")

            def all_named() -> bool:
                return all(name for name, *_ in tab.value(_CONTROLS))

            wait(all_named, "names of all controls")
            names = [name for name, *_ in tab.value(_CONTROLS)]
            assert {"Time [s]", "Real time ×", "Loop", "Follow"} <= set(names)
            for name, left, right, order in tab.value(_CONTROLS):
                assert left >= 0 and right <= width and order == 0, name
            wide = tab.value("document.documentElement.scrollWidth")
            assert wide <= width
            tab.value("document.activeElement.blur()")
            for state in (True, False):
                press(tab, " ")
                wait(lambda state=state: page.line.playing == state, "the space bar")
        finally:
            tab.close()


def press(tab: Tab, key: str) -> None:
    """Press a key, and let it go."""
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key=key, text=key)


def saved(folder: Path, pattern: str) -> Any:
    """A picture that the browser has saved whole."""

    def picture() -> bool:
        for path in folder.glob(pattern):
            try:
                Image.open(io.BytesIO(path.read_bytes())).load()
            except (OSError, SyntaxError):
                return False
            return True
        return False

    wait(picture, pattern)
    (path,) = folder.glob(pattern)
    return Image.open(path)
