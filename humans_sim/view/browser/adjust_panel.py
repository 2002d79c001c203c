# SPDX-License-Identifier: Apache-2.0
"""Controls of the page on which a person is adjusted to a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser

from humans_sim.applications.adjustment import Adjustment, MarkerResidual, mirrored
from humans_sim.view.browser.marker_layer import REJECTED_COLOUR, RESIDUAL_COLOUR
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
        gui: of the page.
        adjustment: what is set.
        ask: has a call done.
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
        """Add the controls, in tabs, to a page."""
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
            slider.on_update(self._on_length(name))
            self._lengths[name] = slider

        @self._stature.on_update
        def _(event: Any) -> None:
            if event.client_id is not None:
                self._ask("stature", self._take_stature)

    def _take_stature(self) -> None:
        self._adjustment.set_stature(float(self._stature.value) / 1e3)
        self._show_lengths()
        self._show_place()
        self._changed()

    def _on_length(self, name: str) -> Callable[[Any], None]:
        def take() -> None:
            both, slider = bool(self._both_lengths.value), self._lengths[name]
            self._adjustment.set_length(name, float(slider.value) / 1e3, both)
            other = self._lengths.get(mirrored(name))
            if both and other is not None and other is not slider:
                _put(other, float(slider.value))
            self._show_place()
            self._changed()

        def update(event: Any) -> None:
            if event.client_id is not None:
                self._ask(f"length {name}", take)

        return update

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

        def update(event: Any) -> None:
            if event.client_id is not None:
                self._ask("tag", take)

        for slider in self._place:
            slider.on_update(update)

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

        def update(event: Any) -> None:
            if event.client_id is not None:
                self._ask("label", take)

        self._stands.on_update(update)

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
