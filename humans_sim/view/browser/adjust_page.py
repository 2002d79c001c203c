# SPDX-License-Identifier: Apache-2.0
"""A page on which a person is adjusted to a recording, with the residual beside it.

*Calls* run in a thread of their own; only the newest of each kind counts. A slider that
is dragged asks for more than can be done: what is overtaken is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser

from humans_sim.applications.adjustment import Adjustment, MarkerResidual, mirrored
from humans_sim.core.errors import HumansError
from humans_sim.view.browser.marker_layer import (
    REJECTED_COLOUR,
    RESIDUAL_COLOUR,
    MarkerLayer,
    SeenMarkers,
)
from humans_sim.view.browser.scene import DEFAULT_PORT, STAGE, Scene
from humans_sim.view.html_templates import render

NO_TAG = "– none –"
"""What a recorded marker stands for that is left aside."""
_AXES = ("x forward [mm]", "y up [mm]", "z right [mm]")
_LEAST, _MOST = 0.6, 1.4
"""Ends of a slider of a length, over its value at the beginning."""
_AROUND = 100.0
"""How far a tag goes to each side of where it is [mm]."""
_STEP = 0.5
"""Of lengths and places [mm]."""
Ask = Callable[[str, Callable[[], None]], None]
"""Has a call of a kind done in the page's thread of work."""


class AdjustPanel:
    """Sets lengths, places of tags and which marker is which tag.

    Args:
        changed: called after each change.
        look: called with the name of a tag or a marker that is chosen.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        adjustment: Adjustment,
        ask: Ask,
        changed: Callable[[], None],
        look: Callable[[str], None],
    ) -> None:
        self._gui, self._adjustment = gui, adjustment
        self._ask, self._changed, self._look = ask, changed, look
        tabs = gui.add_tab_group()
        with tabs.add_tab("Residuals"):
            self._table = gui.add_html("")
            self.residuals_end = gui.add_folder("Legend", expand_by_default=False)
        with tabs.add_tab("Lengths"):
            self._add_lengths()
        with tabs.add_tab("Tags"):
            self._add_tags()
        with tabs.add_tab("Labels"):
            self._add_labels()

    def _add_lengths(self) -> None:
        gui, subject = self._gui, self._adjustment.subject
        self._stature = gui.add_slider(
            "stature [mm]",
            *_ends(subject.height),
            _STEP,
            _mm(subject.height),
            hint="All lengths change with it in proportion.",
        )
        self._both_lengths = gui.add_checkbox(
            "both sides", True, hint="Left and right get the same length."
        )
        self._lengths: dict[str, viser.GuiSliderHandle[float]] = {}
        for name, value in subject.lengths.items():
            slider = gui.add_slider(f"{name} [mm]", *_ends(value), _STEP, _mm(value))
            take = partial(self._take_length, name)
            slider.on_update(self._asking(f"length {name}", take))
            self._lengths[name] = slider

        def take_stature() -> None:
            self._adjustment.set_stature(float(self._stature.value) / 1e3)
            self._show_lengths()
            self._show_place()
            self._changed()

        self._stature.on_update(self._asking("stature", take_stature))

    def _asking(self, kind: str, take: Callable[[], None]) -> Callable[[Any], None]:
        """Has a call done where a browser moves a control, not the page itself."""

        def update(event: Any) -> None:
            if event.client_id is not None:
                self._ask(kind, take)

        return update

    def _take_length(self, name: str) -> None:
        both, slider = bool(self._both_lengths.value), self._lengths[name]
        self._adjustment.set_length(name, float(slider.value) / 1e3, both)
        other = self._lengths.get(mirrored(name))
        if both and other is not None and other is not slider:
            _put(other, float(slider.value))
        self._show_place()
        self._changed()

    def _add_tags(self) -> None:
        gui, names = self._gui, self._adjustment.marker_set.names
        self._tag = gui.add_dropdown("tag", names)
        self._segment = gui.add_markdown("")
        self._both_tags = gui.add_checkbox(
            "both sides", True, hint="The tag of the other side is placed mirrored."
        )
        self._place = [
            gui.add_slider(axis, -_AROUND, _AROUND, _STEP, 0.0) for axis in _AXES
        ]
        self._show_place()

        def take() -> None:
            at = np.array([float(slider.value) for slider in self._place]) / 1e3
            name, both = str(self._tag.value), bool(self._both_tags.value)
            self._adjustment.place_tag(name, at, both)
            self._changed()

        for slider in self._place:
            slider.on_update(self._asking("tag", take))

        @self._tag.on_update
        def _(_: object) -> None:
            self._show_place()
            self._look(str(self._tag.value))

    def _add_labels(self) -> None:
        gui, adjustment = self._gui, self._adjustment
        self._label = gui.add_dropdown("recorded", adjustment.recording.names)
        tags = (NO_TAG, *adjustment.labels)
        self._stands = gui.add_dropdown("stands for", tags)
        self._show_tag()

        def take() -> None:
            tag = str(self._stands.value)
            chosen = None if tag == NO_TAG else tag
            adjustment.assign(str(self._label.value), chosen)
            self._changed()

        self._stands.on_update(self._asking("label", take))

        @self._label.on_update
        def _(_: object) -> None:
            self._show_tag()
            self._look(str(self._label.value))

    def show(self, residuals: Sequence[MarkerResidual]) -> None:
        """Show the distances of a frame, largest first."""
        self._table.content = residual_table(residuals)

    def synchronise(self) -> None:
        """Put all controls where the person is."""
        self._show_lengths()
        _put(self._stature, 1e3 * self._adjustment.subject.height)
        self._show_place()
        self._show_tag()

    def _show_lengths(self) -> None:
        for name, value in self._adjustment.subject.lengths.items():
            _put(self._lengths[name], 1e3 * value)

    def _show_place(self) -> None:
        marker = self._adjustment.marker_set[str(self._tag.value)]
        self._segment.content = f"on `{marker.segment}`, from its joint"
        for slider, value in zip(self._place, 1e3 * marker.at, strict=True):
            middle = float(np.round(value))
            if abs(middle - 0.5 * (slider.min + slider.max)) > 0.5 * _AROUND:
                slider.min, slider.max = middle - _AROUND, middle + _AROUND
            _put(slider, float(value))

    def _show_tag(self) -> None:
        self._stands.value = self._adjustment.tag_of(str(self._label.value)) or NO_TAG


def residual_table(residuals: Sequence[MarkerResidual]) -> str:
    """Recorded markers, their tags and the distances that are left, largest first."""
    known = [row for row in residuals if np.isfinite(row.distance)]
    rest = [row for row in residuals if not np.isfinite(row.distance)]
    known.sort(key=lambda row: -row.distance)
    longest = known[0].distance if known else 1.0
    rows = []
    for row in (*known, *rest):
        shown, share = "", 0.0
        if np.isfinite(row.distance):
            shown = f"{1e3 * row.distance:.1f}"
            share = 100.0 * row.distance / max(longest, 1e-9)
        elif row.tag:
            shown = "not seen"
        colour = REJECTED_COLOUR if row.rejected else RESIDUAL_COLOUR
        rows.append((row.label, row.tag or NO_TAG, shown, f"{share:.0f}", colour))
    return render("residuals", rows=rows)


def _mm(value: float) -> float:
    return float(_STEP * round(1e3 * value / _STEP))


def _ends(value: float) -> tuple[float, float]:
    """Ends of a slider around a length [mm]."""
    return float(np.floor(_LEAST * 1e3 * value)), float(np.ceil(_MOST * 1e3 * value))


def _put(slider: viser.GuiSliderHandle[float], value: float) -> None:
    """Set a slider; its ends give way."""
    if value < slider.min:
        slider.min = float(np.floor(value))
    if value > slider.max:
        slider.max = float(np.ceil(value))
    slider.value = round(value, 1)


class LatestCalls:
    """Does what pages ask for, one call after the other.

    Args:
        failed: called with what a call raised.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._waiting: dict[str, Callable[[], None]] = {}
        self._change = threading.Condition()
        self._ended = self._busy = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, kind: str, call: Callable[[], None]) -> None:
        """Have something done; it takes the place of a waiting call of its kind."""
        with self._change:
            self._waiting.pop(kind, None)
            self._waiting[kind] = call
            self._change.notify_all()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; whether that is so."""
        with self._change:
            return self._change.wait_for(
                lambda: not (self._waiting or self._busy), timeout
            )

    def stop(self) -> None:
        """End the thread after the call it is at."""
        with self._change:
            self._ended = True
            self._waiting.clear()
            self._change.notify_all()
        self._thread.join(timeout=10.0)

    def _work(self) -> None:
        while True:
            with self._change:
                self._busy = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._waiting or self._ended)
                if self._ended:
                    return
                kind = next(iter(self._waiting))
                call = self._waiting.pop(kind)
                self._busy = True
            try:
                call()
            except Exception as error:  # the page shows it
                self._failed(error)


_BALL, _TAG = 1 / 110, 1 / 170
"""Sizes of a recorded marker and of a tag, over the height of the body."""
_NEAR = 0.78
"""From how far the body is seen [body heights]."""
_TOO_FEW = "fewer than three recorded markers stand for tags: assign them under Labels"


class AdjustPage:
    """Serves the page of an adjustment.

    Args:
        adjustment: of a person to a recording.
        host, port: of the page, as of :class:`Scene`.

    Attributes:
        scene: the scene, for additions.
        calls: does what the controls ask for, in a thread of its own.
    """

    def __init__(
        self,
        adjustment: Adjustment,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
    ) -> None:
        self._adjustment, self._folder = adjustment, folder
        self.scene = Scene(adjustment.model, host, port, axes=False)
        self._drawn = adjustment.model
        self._layer = MarkerLayer(self.scene, _BALL)
        self._tags = self.scene.server.scene.add_point_cloud(
            f"{STAGE}/tags",
            np.zeros((1, 3), np.float32),
            RESIDUAL_COLOUR,
            point_size=_TAG * self.scene.size,
            point_shape="circle",
            precision="float32",
            visible=False,
        )
        middle = np.array([0.0, 0.0, 0.5 * self.scene.size])
        self.scene.look_at(middle, _NEAR)
        self.calls = LatestCalls(self._failed)
        self._message, self._wrong, self._chosen = "", False, ""
        gui = self.scene.server.gui
        self._status = gui.add_html("")
        last = len(adjustment.recording)
        self._frame = gui.add_slider("Frame", 1, max(last, 2), 1, 1, disabled=last < 2)
        self._frame.on_update(lambda _: self.calls.ask("frame", self._move))
        self._live = gui.add_checkbox(
            "Solve after each change", True, hint="Else the posture is held."
        )
        self._add_actions(gui)
        self._panel = AdjustPanel(
            gui, adjustment, self.calls.ask, self._changed, self._look
        )
        self._note = self.scene.server.scene.add_label(
            f"{STAGE}/chosen", "", visible=False
        )
        self.calls.ask("show", self._show)

    @property
    def url(self) -> str:
        """Address of the page, with its token."""
        return self.scene.url

    def _move(self) -> None:
        self._adjustment.go_to(int(self._frame.value) - 1)
        self._show()

    def _add_actions(self, gui: viser.GuiApi) -> None:
        def button(label: str, icon: Any, call: Callable[[], None], hint: str) -> None:
            made = gui.add_button(label, icon=icon, hint=hint)
            made.on_click(lambda _: self.calls.ask(label, call))

        icons = viser.Icon
        button("Solve this frame", icons.TARGET, self._solve, "Search from nowhere.")
        button("Solve all frames", icons.PLAYER_TRACK_NEXT, self._solve_all, "")
        hint = "Measure lengths and places of tags from the whole recording."
        button("Calibrate", icons.RULER_MEASURE, self._calibrate, hint)
        button("Revert", icons.ARROW_BACK_UP, self._revert, "As at the beginning.")
        self._number = gui.add_number("Subject number", 1, min=1, max=99, step=1)
        hint = f"Write the person and the labels into {self._folder}."
        button("Save", icons.DEVICE_FLOPPY, self._save, hint)

    def _changed(self) -> None:
        """After a change by a control: another posture, and what is left."""
        if self._live.value and self._adjustment.enough:
            self._adjustment.solve_frame(anew=False)
        self._report("")

    def _solve(self) -> None:
        self._adjustment.solve_frame()
        self._report("")

    def _solve_all(self) -> None:
        def progress(done: int, total: int) -> None:
            self._say(f"solving: {done} of {total} frames")

        result = self._adjustment.solve_all(progress)
        self._report(f"solved {len(result.q)} frames: {result.verdict}")

    def _calibrate(self) -> None:
        self._say("calibrating")
        found = self._adjustment.calibrate()
        self._panel.synchronise()
        if self._adjustment.enough:
            self._adjustment.solve_frame(anew=False)
        rms = f"{1e3 * found.rms:.1f} mm rms"
        self._report(f"calibrated from {found.frames} frames: {rms}")

    def _revert(self) -> None:
        self._adjustment.revert()
        self._panel.synchronise()
        self._report("as at the beginning")

    def _save(self) -> None:
        number = f"{int(self._number.value):02d}"
        paths = self._adjustment.save(self._folder, number)
        names = ", ".join(path.name for path in paths)
        self._report(f"written to {self._folder}: {names}")

    def _look(self, name: str) -> None:
        """Write the name of a tag or a marker where it is."""
        self._chosen = name
        self.calls.ask("look", self._show_tags)

    def _report(self, message: str) -> None:
        self._message, self._wrong = message, False
        self._show()

    def _say(self, message: str, wrong: bool = False) -> None:
        self._message, self._wrong = message, wrong
        self._show_status(float("nan"))

    def _failed(self, error: Exception) -> None:
        known = isinstance(error, HumansError | OSError)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        self._say(text, wrong=True)

    def _show(self) -> None:
        """Show the frame: body, markers, distances."""
        adjustment = self._adjustment
        residuals = adjustment.residuals
        if adjustment.enough:
            q = adjustment.q
            self.scene.show(q)
            self.scene.centre(q[:2])
        elif not self._message:
            self._message, self._wrong = _TOO_FEW, True
        with self._panel.residuals_end:
            self._layer.show(seen_markers(adjustment, residuals))
        self._panel.show(residuals)
        self._show_status(adjustment.rms)
        self._show_tags()
        if adjustment.model is not self._drawn:  # it takes longest, so it comes last
            self.calls.ask("body", self._draw_body)

    def _draw_body(self) -> None:
        model = self._drawn = self._adjustment.model
        q = self._adjustment.q if self._adjustment.enough else model.neutral()
        self.scene.change_model(model, q)

    def _show_status(self, rms: float) -> None:
        adjustment, row = self._adjustment, self._adjustment.frame
        recording, result = adjustment.recording, adjustment.result
        of_frame = f"{1e3 * rms:.1f} mm" if np.isfinite(rms) else "–"
        of_all = "–" if result is None else f"{1e3 * result.rms:.1f} mm"
        rows = [
            [
                ("frame", f"{row + 1} of {len(recording)}"),
                ("time", f"{recording.times[row]:.3f} s"),
            ],
            [("rms", of_frame), ("all", of_all)],
        ]
        colour = "#c92a2a" if self._wrong else "inherit"
        self._status.content = render(
            "status", rows=rows, message=self._message, colour=colour
        )

    def _show_tags(self) -> None:
        """Show the body's tags, and the name of what is chosen where it is."""
        name, places = self._chosen, {}
        if self._adjustment.enough:
            places = self._adjustment.tag_places
            self._tags.points = np.array(list(places.values()), dtype=np.float32)
        self._tags.visible = bool(places)
        for row in self._adjustment.residuals:
            if row.label == name and row.tag != name:
                places[name] = row.measured
        place = places.get(name)
        self._note.visible = place is not None and bool(np.isfinite(place).all())
        if place is not None and self._note.visible:
            self._note.text, self._note.position = name, place

    def stop(self) -> None:
        """End the work and close the page."""
        self.calls.stop()
        self.scene.stop()


def seen_markers(
    adjustment: Adjustment, residuals: Sequence[MarkerResidual]
) -> SeenMarkers:
    """Markers of a frame as the scene draws them."""
    measured = np.array([row.measured for row in residuals]).reshape(-1, 3)
    pairs = np.stack(
        [measured, np.array([row.modelled for row in residuals]).reshape(-1, 3)], axis=1
    )
    seen, placed = np.isfinite(pairs).all(axis=2).T
    assigned = np.array([bool(r.tag) and adjustment.enough for r in residuals], bool)
    rejected = np.array([row.rejected for row in residuals], bool)
    held, wrong = seen & assigned & ~rejected, seen & assigned & rejected
    return SeenMarkers(
        measured=measured[held],
        rejected=measured[wrong],
        unknown=measured[seen & ~assigned],
        occluded=pairs[~seen & assigned & placed, 1],
        residuals=pairs[held],
        mistakes=pairs[wrong],
    )
