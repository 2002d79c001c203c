# SPDX-License-Identifier: Apache-2.0
"""A page on which a person is adjusted to a recording, with the residual beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import viser

from humans_sim.applications.adjustment import Adjustment, MarkerResidual
from humans_sim.core.errors import HumansError
from humans_sim.view.browser.adjust_panel import AdjustPanel
from humans_sim.view.browser.latest_calls import LatestCalls
from humans_sim.view.browser.marker_layer import (
    RESIDUAL_COLOUR,
    MarkerLayer,
    SeenMarkers,
)
from humans_sim.view.browser.scene import DEFAULT_PORT, STAGE, Scene
from humans_sim.view.html_templates import render

_BALL, _TAG = 1 / 110, 1 / 170
"""Sizes of a recorded marker and of a tag, over the height of the body."""
_NEAR = 0.78
"""From how far the body is seen [body heights]."""
_TOO_FEW = "fewer than three recorded markers stand for tags: assign them under Labels"


class AdjustPage:
    """Serves the page of an adjustment.

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
        """Serve the page.

        Args:
            adjustment: of a person to a recording.
            folder: where it is saved.
            host: address to listen on; the default is reached from this machine only.
            port: first port to try; 0 takes any free one.
        """
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
        self._add_frame(gui)
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

    def _add_frame(self, gui: viser.GuiApi) -> None:
        last = len(self._adjustment.recording)
        slider = gui.add_slider("Frame", 1, max(last, 2), 1, 1, disabled=last < 2)

        def move() -> None:
            self._adjustment.go_to(int(slider.value) - 1)
            self._show()

        slider.on_update(lambda _: self.calls.ask("frame", move))

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
        self._report(
            f"calibrated from {found.frames} frames: {1e3 * found.rms:.1f} mm rms"
        )

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

    def _say(self, message: str) -> None:
        self._message, self._wrong = message, False
        self._show_status(float("nan"))

    def _failed(self, error: Exception) -> None:
        known = isinstance(error, HumansError | OSError)
        self._message = str(error) if known else f"{type(error).__name__}: {error}"
        self._wrong = True
        self._show_status(float("nan"))

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
        if adjustment.model is not self._drawn:
            self.calls.ask("body", self._draw_body)

    def _draw_body(self) -> None:
        """Draw the body with its lengths of now: it takes longest, so it comes last."""
        model = self._drawn = self._adjustment.model
        q = self._adjustment.q if self._adjustment.enough else model.neutral()
        self.scene.change_model(model, q)

    def _show_status(self, rms: float) -> None:
        adjustment, row = self._adjustment, self._adjustment.frame
        recording, result = adjustment.recording, adjustment.result
        of_all = "–" if result is None else f"{1e3 * result.rms:.1f} mm"
        rows = [
            [
                ("frame", f"{row + 1} of {len(recording)}"),
                ("time", f"{recording.times[row]:.3f} s"),
            ],
            [("rms", _millimetres(rms)), ("all", of_all)],
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
    seen = [row for row in residuals if np.isfinite(row.measured).all()]
    held = [row for row in seen if row.tag and not row.rejected]
    wrong = [row for row in seen if row.tag and row.rejected]
    hidden = [
        row.modelled
        for row in residuals
        if row.tag and np.isnan(row.measured).any() and np.isfinite(row.modelled).all()
    ]
    if not adjustment.enough:
        held, wrong, hidden = [], [], []
    unknown = [row.measured for row in seen if not row.tag or not adjustment.enough]
    return SeenMarkers(
        measured=_rows([row.measured for row in held]),
        rejected=_rows([row.measured for row in wrong]),
        unknown=_rows(unknown),
        occluded=_rows(hidden),
        residuals=_pairs(held),
        mistakes=_pairs(wrong),
    )


def _rows(points: Sequence[np.ndarray]) -> np.ndarray:
    return np.array(points).reshape(-1, 3)


def _pairs(rows: Sequence[MarkerResidual]) -> np.ndarray:
    return np.array([[row.measured, row.modelled] for row in rows]).reshape(-1, 2, 3)


def _millimetres(distance: float) -> str:
    return f"{1e3 * distance:.1f} mm" if np.isfinite(distance) else "–"
