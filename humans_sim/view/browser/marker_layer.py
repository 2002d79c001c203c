# SPDX-License-Identifier: Apache-2.0
"""Optical markers in a scene, beside the body that was found from them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import viser

from humans_sim.view.browser.scene import STAGE, Scene
from humans_sim.view.html_templates import render

MEASURED_COLOUR, REJECTED_COLOUR = (31, 90, 200), (214, 30, 40)
UNKNOWN_COLOUR, OCCLUDED_COLOUR = (110, 110, 115), (172, 190, 214)
RESIDUAL_COLOUR = (240, 130, 10)
BALL = 1 / 65
"""Size of a marker, over the height of the body."""
_LINE = 1 / 350
"""Thickness of the line from a marker to where the body has it, over that height."""
_CALM = 0.2
"""Least time between two tables: faster numbers cannot be read [s]."""
_NAMES = {
    "measured": ("used", MEASURED_COLOUR),
    "rejected": ("rejected", REJECTED_COLOUR),
    "unknown": ("not in the marker set", UNKNOWN_COLOUR),
    "occluded": ("not seen", OCCLUDED_COLOUR),
}
"""What kinds of markers are called, and their colours."""


@dataclass(frozen=True, eq=False)
class SeenMarkers:
    """Markers of one time, in the world [m].

    Attributes:
        measured: that the body was found from (k, 3).
        rejected: taken for mistakes (k, 3).
        unknown: that the marker set does not have (k, 3).
        occluded: where the body has markers that were not seen (k, 3).
        residuals: measured markers, and where the body has them (k, 2, 3).
        mistakes: the same of the rejected (k, 2, 3).
    """

    measured: np.ndarray
    rejected: np.ndarray
    unknown: np.ndarray
    occluded: np.ndarray
    residuals: np.ndarray
    mistakes: np.ndarray

    @property
    def rms(self) -> float:
        """Root mean square length of the residuals [m]; NaN without any."""
        if not len(self.residuals):
            return float("nan")
        gaps = self.residuals[:, 0] - self.residuals[:, 1]
        return float(np.sqrt((gaps**2).sum(axis=1).mean()))


class MarkerLayer:
    """Draws markers into a scene; nothing is there before the first of them.

    Args:
        ball: size of a marker, over the height of the body.
    """

    def __init__(self, scene: Scene, ball: float = BALL) -> None:
        self._scene, self._ball = scene, ball
        self._drawn: dict[str, viser.PointCloudHandle | viser.LineSegmentsHandle] = {}
        self._table: viser.GuiHtmlHandle | None = None
        self._table_time = 0.0

    def show(self, seen: SeenMarkers) -> None:
        """Show markers; the body becomes transparent, since many lie within."""
        if self._table is None:
            self._begin()
        for name, handle in self._drawn.items():
            points = getattr(seen, name)
            handle.visible = len(points) > 0
            if len(points):
                handle.points = points.astype(np.float32)
        now = time.monotonic()
        if self._table is not None and now - self._table_time > _CALM:
            self._table_time = now
            self._table.content = legend(seen)

    def hide(self) -> None:
        """Take all markers away; the body is solid again."""
        if self._table is None:
            return
        for handle in self._drawn.values():
            handle.remove()
        self._drawn.clear()
        self._table.remove()
        self._table = None
        self._scene.see_through(False)

    def _begin(self) -> None:
        api, size = self._scene.server.scene, self._scene.size
        for name, (_, colour) in _NAMES.items():
            self._drawn[name] = api.add_point_cloud(
                f"{STAGE}/markers/{name}",
                np.zeros((1, 3), np.float32),
                colour,
                point_size=self._ball * size,
                point_shape="circle",
                precision="float32",
                visible=False,
            )
        lines = {"residuals": RESIDUAL_COLOUR, "mistakes": REJECTED_COLOUR}
        for name, colour in lines.items():
            self._drawn[name] = api.add_line_segments(
                f"{STAGE}/markers/{name}",
                np.zeros((1, 2, 3), np.float32),
                colour,
                thickness=_LINE * size,
                visible=False,
            )
        self._table = self._scene.server.gui.add_html("")
        self._scene.see_through(True)


def legend(seen: SeenMarkers) -> str:
    """Table of the kinds of markers: their colours and how many there are."""
    rows: list[tuple[str, tuple[int, int, int], str, object]] = [
        ("●", colour, name, len(getattr(seen, kind)))
        for kind, (name, colour) in _NAMES.items()
    ]
    fit = f"{1000 * seen.rms:.1f} mm" if len(seen.residuals) else "-"
    rows.append(("–", RESIDUAL_COLOUR, "measured to body, rms", fit))
    return render("marker_legend", rows=rows)
