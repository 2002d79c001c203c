# SPDX-License-Identifier: Apache-2.0
"""A ground that gives way, seen from above, in films and reports."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from humans_sim.soft.ground.footprints import GroundHistory
from humans_sim.view.browser.ground_layer import touched_pins

_MARGIN = 4
"""Pins around what was touched that are shown."""


class GroundFromAbove:
    """Draws what of a ground was touched, in one light for all times.

    Args:
        history: the course of the ground.

    Attributes:
        width: of what is shown, along y [m].
    """

    def __init__(self, history: GroundHistory) -> None:
        """Choose the part that is shown, and the light."""
        first, last, left, right = touched_pins(history.heights)
        shape = history.heights.shape[1:]
        rows = slice(max(0, first - _MARGIN), min(shape[0], last + _MARGIN + 1))
        columns = slice(max(0, left - _MARGIN), min(shape[1], right + _MARGIN + 1))
        self.history = history.cut(rows, columns)
        self.width = self.history.spacing * (self.history.heights.shape[2] - 1)
        self._steepest = max(
            self.history.at(float(t)).steepest() for t in history.times[::5]
        )

    def picture(self, t: float) -> np.ndarray:
        """At a time [s], x to the right (rows, columns, 3)."""
        return self.history.at(t).picture(steepest=max(self._steepest, 1e-5))

    def draw(self, panel: Any, t: float, sides: tuple[float, float]) -> None:
        """Draw it at a time into empty matplotlib axes.

        Args:
            panel: the axes.
            t: [s].
            sides: left and right end along x [m].
        """
        field = self.history
        far = field.spacing * (np.array(field.heights.shape[1:]) - 1)
        x, y = field.origin[:2]
        picture = self.picture(t)
        panel.set_axis_off()
        panel.add_patch(_plate(panel, picture[0, 0]))
        panel.imshow(
            picture,
            extent=(x, x + far[0], y, y + far[1]),
            aspect="auto",
            interpolation="bilinear",
        )
        panel.set_xlim(*sides)
        panel.set_ylim(y, y + far[1])
        panel.axhline(y + far[1], color="white", linewidth=4.0)

    def png(self, t: float) -> bytes:
        """The same as a file, four pixels a pin and more."""
        from PIL import Image

        picture = Image.fromarray(self.picture(t))
        times = max(1, round(900 / picture.width))
        picture = picture.resize((times * picture.width, times * picture.height))
        stream = io.BytesIO()
        picture.save(stream, format="PNG")
        return stream.getvalue()


def _plate(panel: Any, colour: np.ndarray) -> Any:
    """The ground where nothing touched it."""
    from matplotlib.patches import Rectangle

    return Rectangle(
        (0, 0), 1, 1, transform=panel.transAxes, color=colour / 255.0, zorder=-1
    )
