# SPDX-License-Identifier: Apache-2.0
"""A page that plays stored runs, one or several beside each other."""

from __future__ import annotations

import io
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from PIL import Image

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact import HalfSpace
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.results.run import Run
from humans_sim.view.browser.bodies_page import BodiesView
from humans_sim.view.browser.gate import Incoming
from humans_sim.view.browser.network_page import NetworkView
from humans_sim.view.browser.page import PAUSE, BipedView
from humans_sim.view.browser.page_server import RENDERED_MESSAGE, PageServer
from humans_sim.view.browser.panel import FASTEST, SLOWEST, add_view, show_playing
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene import (
    DEFAULT_PORT,
    HOST,
    STAGE,
    Follower,
    PageView,
    Scene,
    free_port,
)
from humans_sim.view.browser.wrist_page import WristView
from humans_sim.view.html_templates import render
from humans_sim.view.looping_film import looping_film


class TimeLine:
    """A time between a start and an end; any thread may ask or change it.

    Attributes:
        start: of the runs [s].
        end: of the runs [s].
        loop: whether it starts again at the end.
    """

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end, self.loop = start, max(end, start), True
        self.time, self.speed, self.playing = start, 1.0, True
        self._wall: float | None = None
        self._rested = 0.0
        self._lock = threading.Lock()

    def play(self, playing: bool) -> None:
        """Let it run, or stand still; at the end it begins anew."""
        with self._lock:
            if playing and self.time >= self.end:
                self.time = self.start
            self.playing, self._wall, self._rested = playing, None, 0.0

    def seek(self, time: float) -> None:
        """Move it to a time, where it stands still [s]."""
        with self._lock:
            self.time = min(max(time, self.start), self.end)
            self.playing, self._wall, self._rested = False, None, 0.0

    def advance(self, wall: float) -> float:
        """Go along with the wall's monotonic time [s]; gives where it is."""
        with self._lock:
            passed = 0.0 if self._wall is None else max(wall - self._wall, 0.0)
            self._wall = wall
            if not self.playing:
                return self.time
            if self.time < self.end:
                self.time = min(self.time + self.speed * passed, self.end)
            elif not self.loop:
                self.playing = False
            else:
                self._rested += passed
                if self._rested >= PAUSE:
                    self.time, self._rested = self.start, 0.0
            return self.time


_TICKS = 2000
"""Most places of the time line's slider."""
_CALM = 0.1
"""Least time between two moves of the slider by the page itself [s]."""


class RunPanel:
    """Play, time, speed, view and pictures of a page that plays runs.

    Args:
        line: the time that is shown.
        period: of the samples [s].
        screenshot, film: make a picture or a film for a browser.
        follow, see_through: whether the view goes along with the bodies, and whether
            they are transparent; None where nothing of the view can be changed.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        line: TimeLine,
        period: float,
        screenshot: Callable[[viser.ClientHandle], None],
        film: Callable[[viser.ClientHandle], None],
        follow: Callable[[bool], None] | None = None,
        see_through: Callable[[bool], None] | None = None,
    ) -> None:
        self._line, self._moved = line, -1.0
        self._message = gui.add_html("")
        self._said = ""
        self._play = gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self._play.on_click(lambda _: line.play(not line.playing))
        step = max(period, (line.end - line.start) / _TICKS, 1e-6)
        last = max(line.end, line.start + step)
        self._slider = gui.add_slider("Time [s]", line.start, last, step, line.start)

        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # what the page itself moves has no browser
                line.seek(float(self._slider.value))

        with gui.add_folder("Single samples", expand_by_default=False):
            for word, ahead in (("Back", -period), ("Forward", period)):
                button = gui.add_button(word)
                button.on_click(lambda _, by=ahead: line.seek(line.time + by))
        with gui.add_folder("Speed"):
            speed = gui.add_slider("Real time ×", SLOWEST, FASTEST, 0.1, 1.0)
            loop = gui.add_checkbox("Loop", True)
        speed.on_update(lambda _: setattr(line, "speed", float(speed.value)))
        loop.on_update(lambda _: setattr(line, "loop", bool(loop.value)))
        if follow is not None and see_through is not None:
            add_view(gui, follow, see_through)
        with gui.add_folder("Pictures"):
            picture = gui.add_button("Screenshot", icon=viser.Icon.CAMERA)
            movie = gui.add_button("Film", icon=viser.Icon.MOVIE)
        for button, action in ((picture, screenshot), (movie, film)):
            button.on_click(
                lambda event, do=action: do(event.client) if event.client else None
            )

    def show(self, wall: float) -> None:
        """Show where the time is, and whether it runs."""
        show_playing(self._play, self._line.playing)
        now, shown = self._line.time, float(self._slider.value)
        if wall - self._moved >= _CALM and abs(now - shown) > self._slider.step / 2:
            self._moved = wall
            steps = round((now - self._line.start) / self._slider.step)
            self._slider.value = round(
                min(self._line.start + steps * self._slider.step, self._slider.max), 6
            )

    def say(self, text: str, failed: bool = False) -> None:
        """Show what happens, or nothing."""
        colour = "#c92a2a" if failed else "inherit"
        content = text and render("status", rows=[], message=text, colour=colour)
        if content != self._said:
            self._said = self._message.content = content


WIDEST_PICTURE, WIDEST_FILM = 1600, 720
"""Largest widths [pixels]."""
_SMALLEST = 64
PATIENCE = 30.0
"""How long a browser may take for a picture [s]."""


def picture_size(client: viser.ClientHandle, widest: int) -> tuple[int, int]:
    """Width and height of a picture of what a browser shows [pixels]."""
    width, height = client.camera.image_width, client.camera.image_height
    if not (width > 0 and height > 0):
        raise HumansError("the browser has not said yet how large its picture is")
    scale = min(1.0, widest / max(width, height))
    wide, high = (max(_SMALLEST, round(scale * side)) for side in (width, height))
    return wide, high


def render_in_browser(
    client: viser.ClientHandle,
    incoming: Incoming,
    size: tuple[int, int],
    patience: float = PATIENCE,
) -> Image.Image:
    """The picture of a browser, as it draws it.

    Args:
        client: the browser.
        incoming: judges what it says, and lets this picture pass.
        size: width and height [pixels].
        patience: how long it may take [s].

    Raises:
        HumansError: it does not answer, or with something else.
    """
    width, height = size
    try:
        with incoming.expecting_picture():
            pixels = client.get_render(
                height, width, transport_format="png", timeout=patience
            )
    except (RuntimeError, TimeoutError, OSError, ValueError) as error:
        raise HumansError(f"the browser gave no picture: {error}") from error
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or pixels.size > 64_000_000:
        raise HumansError("the browser gave something that is no picture")
    picture = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture.convert("RGBA")).convert("RGB")


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
        runs: of bipeds, up to six beside each other, or one of anything else.
        labels: what the runs are called.
        port: first port to try; 0: any.

    Attributes:
        line: the time that is shown.
        url: address of the page, with its token.
        server: of the page, for additions.

    Raises:
        ParameterError: there are too many, or they cannot be shown beside each other.
    """

    def __init__(
        self,
        runs: Sequence[Run | WristRun],
        labels: Sequence[str] = (),
        port: int = DEFAULT_PORT,
        host: str = HOST,
    ) -> None:
        if not 1 <= len(runs) <= MOST_RUNS:
            raise ParameterError(f"1 to {MOST_RUNS} runs can be shown, not {len(runs)}")
        if len(runs) > 1 and any(_alone(run) for run in runs):
            raise ParameterError(
                "only runs of bipeds are shown beside each other, not those with free "
                "bodies, networks and wrists: open each by itself"
            )
        replays = [
            Replay(run) for run in runs if isinstance(run, Run) and not _alone(run)
        ]
        self._page = PageServer(
            host, free_port(host, port), _title(runs), largest=RENDERED_MESSAGE
        )
        self.server, self.url = self._page.viser, self._page.url
        self._scenes: list[Scene] = []
        self._follower: Follower | None = None
        view = None if replays else _view(runs[0], self._page)
        if view is not None:
            self._tracks = [Track(runs[0].t, view.show)]
        else:
            self._tracks = self._place(replays, labels)
        self.line = TimeLine(
            min(float(run.t[0]) for run in runs), max(float(run.t[-1]) for run in runs)
        )
        self._asked: queue.Queue[Callable[[], None]] = queue.Queue()
        self._shown: list[int] = []
        followed = self._follower is not None
        self._panel = RunPanel(
            self.server.gui,
            self.line,
            _period(runs),
            lambda client: self._asked.put(lambda: self._screenshot(client)),
            lambda client: self._asked.put(lambda: self._film(client)),
            self._follow if followed else None,
            self._see_through if followed else None,
        )
        if isinstance(view, WristView):
            view.add_controls()

    def _place(self, replays: Sequence[Replay], labels: Sequence[str]) -> list[Track]:
        """Put the bodies beside each other, the first one on the left."""
        height = max(replay.height for replay in replays)
        middle, apart = (len(replays) - 1) / 2, _APART * height
        floors = [
            [(s.normal, s.point) for s in r.ground.solids if isinstance(s, HalfSpace)]
            for r in replays
        ]
        # Whether all stand on the same floor, and none on a ground that gives way.
        hard = all(replay.history is None for replay in replays)
        same = hard and all(own == floors[0] for own in floors)
        alike = len(replays) == 1 or same
        tracks = []
        for k, replay in enumerate(replays):
            label = labels[k] if len(replays) > 1 and k < len(labels) else ""
            view = BipedView(
                replay,
                label,
                page=self._page,
                stage=STAGE if k == 0 else f"{STAGE}_{k}",
                beside=np.array([0.0, apart * (middle - k), 0.0]),
                floor=k == 0 or not alike,
                lane=None if alike else apart,
            )
            self._scenes.append(view.scene)
            places = replay.run.q[:, :2]
            tracks.append(Track(replay.run.t, view.show, places.__getitem__))
        self._follower = Follower(height)
        far = 1.1 + 0.45 * (len(replays) - 1)
        centre = np.array([0.0, 0.0, 0.45 * height])
        self._scenes[0].look_at(centre, far * height / self._scenes[0].size, _SIGHT)
        return tracks

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
            if self._follower is not None:
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
        stream, name = io.BytesIO(), f"run_{self.line.time:.2f}s.png"
        picture.save(stream, format="PNG")
        client.send_file_download(name, stream.getvalue(), save_immediately=True)
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


def _alone(run: Run | WristRun) -> bool:
    """Whether a run is of something else than a biped by itself."""
    return isinstance(run, WristRun) or bool({"bodies", "network"} & run.info.keys())


def _view(run: Run | WristRun, page: PageServer) -> PageView:
    if isinstance(run, WristRun):
        return WristView(run, page=page)
    return (NetworkView if "network" in run.info else BodiesView)(run, page=page)


def _period(runs: Sequence[Run | WristRun]) -> float:
    """Time between two samples, of the finest run [s]."""
    gaps = [np.diff(run.t) for run in runs if len(run.t) > 1]
    known = [float(np.median(gap)) for gap in gaps if np.median(gap) > 0]
    return min(known, default=0.01)


def _title(runs: Sequence[Run | WristRun]) -> str:
    names = dict.fromkeys(str(run.info.get("system", "run")) for run in runs)
    return f"humans_sim: {', '.join(names)}"
