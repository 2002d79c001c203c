# SPDX-License-Identifier: Apache-2.0
"""Sliders for the velocity of a walk."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from humans_sim.control.walking.footsteps import Velocity
from humans_sim.view.browser.limits import Limits


class VelocitySliders:
    """A folder with a slider for each velocity that can be asked for, and a stop."""

    def __init__(
        self,
        gui: viser.GuiApi,
        limits: Limits,
        walk: Callable[[Velocity, int | None], None],
        visible: bool = True,
    ) -> None:
        """Add the folder to a page.

        Args:
            gui: of the page.
            limits: what can be asked for.
            walk: called with a velocity and the number of the browser that asks.
            visible: whether the folder is seen from the beginning.
        """
        self._walk, self._setting = walk, False
        self._folder = gui.add_folder("Walk", visible=visible)
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        bounds = (
            ("vx", "Forward [m/s]", -limits.backward, limits.forward),
            ("vy", "Left [m/s]", -limits.sideways, limits.sideways),
            ("wz", "Turn [rad/s]", -limits.turn, limits.turn),
        )
        with self._folder:
            for name, label, low, high in bounds:
                if high > low:
                    step = _step(high - low)
                    low, high = (step * round(x / step) for x in (low, high))
                    slider = gui.add_slider(label, low, high, step, 0.0)
                    slider.on_update(self._on_velocity)
                    self._sliders[name] = slider
            self._stop = gui.add_button("Stop", icon=viser.Icon.HAND_STOP)

        @self._stop.on_click
        def _(event: Any) -> None:
            self.set(Velocity())
            self._walk(Velocity(), event.client_id)

    def _on_velocity(self, event: Any) -> None:
        if not self._setting:
            self._walk(
                Velocity(**{k: float(s.value) for k, s in self._sliders.items()}),
                event.client_id,
            )

    def set(self, velocity: Velocity) -> None:
        """Put the sliders where a velocity has them, as near as they go."""
        self._setting = True
        try:
            for name, slider in self._sliders.items():
                value = getattr(velocity, name)
                slider.value = float(np.clip(value, slider.min, slider.max))
        finally:
            self._setting = False

    @property
    def visible(self) -> bool:
        """Whether the folder is seen."""
        return bool(self._folder.visible)

    def show(self) -> None:
        """Show the folder from now on."""
        self._folder.visible = True

    def enable(self, enabled: bool) -> None:
        """Whether the sliders can be used; others than enabled ones are not heard."""
        for control in (*self._sliders.values(), self._stop):
            control.disabled = not enabled


def _step(span: float) -> float:
    """A round step that divides a span into a hundred or so."""
    return float(10.0 ** math.floor(math.log10(span / 50.0)))
