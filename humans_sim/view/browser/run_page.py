# SPDX-License-Identifier: Apache-2.0
"""A page that plays stored runs, one or several beside each other."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import viser

from humans_sim.contact import HalfSpace
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.results.run import Run
from humans_sim.view.browser.bodies_page import BodiesView
from humans_sim.view.browser.browser_pictures import (
    WIDEST_FILM,
    WIDEST_PICTURE,
    picture_size,
    png_of,
    render_in_browser,
)
from humans_sim.view.browser.follower import Follower
from humans_sim.view.browser.page import show_sample
from humans_sim.view.browser.page_server import RENDERED_MESSAGE, PageServer
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.run_panel import RunActions, RunPanel
from humans_sim.view.browser.scene import DEFAULT_PORT, STAGE, Scene, free_port
from humans_sim.view.browser.time_line import TimeLine
from humans_sim.view.looping_film import looping_film

MOST_RUNS = 6
"""Runs beside each other."""
FRAMES = 48
"""Frames of a film at most."""
_FRAME_TIME = 0.05
"""Shortest time of a frame [s]."""
_APART = 0.9
"""Room for a body beside others, in body heights."""
_SIGHT = (0.8, 0.95, 0.5)
_COLOURS = 200
RATE = 30.0
"""Pictures a second."""


@dataclass(frozen=True)
class Track:
    """One run of a page.

    Attributes:
        t: times of its samples (n,) [s].
        show: shows a sample.
        place: of the body at a sample, x and y (2,) [m]; None: it is not followed.
    """

    t: np.ndarray
    show: Callable[[int], None]
    place: Callable[[int], np.ndarray] | None = None

    def sample(self, time: float) -> int:
        """The last sample that is not after a time."""
        k = int(np.searchsorted(self.t, time + 1e-9, side="right")) - 1
        return min(max(k, 0), len(self.t) - 1)


class RunPage:
    """Serves a page and plays runs on it.

    Args:
        runs: of bipeds, up to six beside each other, or one of free bodies.
        labels: what the runs are called.
        port: first port to try; 0: any.
        host: address to listen on.

    Attributes:
        line: the time that is shown.
        url: address of the page, with its token.
        server: of the page, for additions.

    Raises:
        ParameterError: there are too many, or they cannot be shown beside each other.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        labels: Sequence[str] = (),
        port: int = DEFAULT_PORT,
        host: str = "127.0.0.1",
    ) -> None:
        if not 1 <= len(runs) <= MOST_RUNS:
            raise ParameterError(f"1 to {MOST_RUNS} runs can be shown, not {len(runs)}")
        bodies = [run for run in runs if "bodies" in run.info]
        if bodies and len(runs) > 1:
            raise ParameterError(
                "only runs of bipeds are shown beside each other, not those with free "
                "bodies: open each by itself"
            )
        replays = [] if bodies else [Replay(run) for run in runs]
        self._page = PageServer(
            host, free_port(host, port), _title(runs), largest=RENDERED_MESSAGE
        )
        self.server, self.url = self._page.viser, self._page.url
        self._scenes: list[Scene] = []
        self._follower: Follower | None = None
        if bodies:
            view = BodiesView(runs[0], page=self._page)
            self._tracks = [Track(runs[0].t, view.show)]
        else:
            self._tracks = self._place(replays, labels)
        self.line = TimeLine(
            min(float(run.t[0]) for run in runs), max(float(run.t[-1]) for run in runs)
        )
        self._asked: queue.Queue[Callable[[], None]] = queue.Queue()
        self._shown: list[int] = []
        self._panel = RunPanel(
            self.server.gui, self.line, _period(runs), self._actions()
        )

    def _place(self, replays: Sequence[Replay], labels: Sequence[str]) -> list[Track]:
        """Put the bodies beside each other, the first one on the left."""
        height = max(replay.height for replay in replays)
        middle, apart = (len(replays) - 1) / 2, _APART * height
        alike = _one_floor(replays)
        tracks = []
        for k, replay in enumerate(replays):
            scene = Scene(
                replay.model,
                ground=replay.ground,
                axes=False,
                page=self._page,
                stage=STAGE if k == 0 else f"{STAGE}_{k}",
                beside=np.array([0.0, apart * (middle - k), 0.0]),
                floor=k == 0 or not alike,
                lane=None if alike else apart,
            )
            label = labels[k] if len(replays) > 1 and k < len(labels) else ""
            self._scenes.append(scene)
            tracks.append(_track(scene, replay, label))
        self._follower = Follower(height)
        far = 1.1 + 0.45 * (len(replays) - 1)
        centre = np.array([0.0, 0.0, 0.45 * height])
        self._scenes[0].look_at(centre, far * height / self._scenes[0].size, _SIGHT)
        return tracks

    def _actions(self) -> RunActions:
        return RunActions(
            None if self._follower is None else self._follow,
            self._see_through,
            lambda client: self._asked.put(lambda: self._screenshot(client)),
            lambda client: self._asked.put(lambda: self._film(client)),
        )

    def _follow(self, on: bool) -> None:
        if self._follower is not None:
            self._follower.on = on

    def _see_through(self, transparent: bool) -> None:
        for scene in self._scenes:
            scene.see_through(transparent)

    def run(self, seconds: float | None = None) -> None:
        """Play until it is interrupted, or for some time [s]."""
        begun = time.monotonic()
        while seconds is None or time.monotonic() - begun < seconds:
            self.update(time.monotonic())
            time.sleep(1.0 / RATE)

    def update(self, wall: float) -> None:
        """Show the time that it is now, and make the pictures that were asked for."""
        self.show_time(self.line.advance(wall), wall)
        self._panel.show(wall)
        try:
            self._asked.get_nowait()()
        except queue.Empty:
            return
        except HumansError as error:
            self._panel.say(str(error), failed=True)

    def show_time(self, now: float, wall: float) -> None:
        """Show all runs at a time; each stands still before and after its own."""
        chosen = [track.sample(now) for track in self._tracks]
        with self.server.atomic():
            if chosen != self._shown:
                self._shown = chosen
                for track, k in zip(self._tracks, chosen, strict=True):
                    track.show(k)
            self._go_along(chosen, wall)

    def _go_along(self, chosen: Sequence[int], wall: float) -> None:
        if self._follower is None:
            return
        places = [
            track.place(k)
            for track, k in zip(self._tracks, chosen, strict=True)
            if track.place is not None
        ]
        place = self._follower.update(np.mean(places, axis=0), wall)
        for scene in self._scenes:
            scene.centre(place)

    def _screenshot(self, client: viser.ClientHandle) -> None:
        size = picture_size(client, WIDEST_PICTURE)
        picture = render_in_browser(client, self._page.incoming, size)
        client.send_file_download(
            f"run_{self.line.time:.2f}s.png", png_of(picture), save_immediately=True
        )
        self._panel.say("")

    def _film(self, client: viser.ClientHandle) -> None:
        """All of the run as the browser sees it, in real time where frames allow it."""
        size = picture_size(client, WIDEST_FILM)
        line = self.line
        before, playing = line.time, line.playing
        span = line.end - line.start
        count = int(np.clip(np.ceil(span / _FRAME_TIME), 2, FRAMES))
        pictures = []
        try:
            for n, now in enumerate(np.linspace(line.start, line.end, count)):
                self._panel.say(f"film: picture {n + 1} of {count}")
                self.show_time(float(now), time.monotonic())
                self.server.flush()
                time.sleep(0.05)  # what moves rides another way than the question
                picture = render_in_browser(client, self._page.incoming, size)
                pictures.append(picture)
        finally:
            line.seek(before)
            line.play(playing)
        pause = max(span / max(count - 1, 1), _FRAME_TIME)
        content = looping_film(pictures, round(pause, 2), _COLOURS)
        client.send_file_download("run.gif", content, save_immediately=True)
        self._panel.say("")

    def stop(self) -> None:
        """Close the page."""
        self._page.stop()


def _track(scene: Scene, replay: Replay, label: str) -> Track:
    return Track(
        replay.run.t,
        lambda k: show_sample(scene, replay, k, label),
        lambda k: replay.run.q[k, :2],
    )


def _one_floor(replays: Sequence[Replay]) -> bool:
    """Whether all stand on the same floor, and none on a ground that gives way."""
    floors = [
        [
            (solid.normal, solid.point)
            for solid in replay.ground.solids
            if isinstance(solid, HalfSpace)
        ]  # fmt: skip
        for replay in replays
    ]
    soft = any(replay.history is not None for replay in replays)
    return len(replays) == 1 or (all(own == floors[0] for own in floors) and not soft)


def _period(runs: Sequence[Run]) -> float:
    """Time between two samples, of the finest run [s]."""
    gaps = [np.diff(run.t) for run in runs if len(run.t) > 1]
    known = [float(np.median(gap)) for gap in gaps if np.median(gap) > 0]
    return min(known, default=0.01)


def _title(runs: Sequence[Run]) -> str:
    names = dict.fromkeys(str(run.info.get("system", "run")) for run in runs)
    return f"humans_sim: {', '.join(names)}"
