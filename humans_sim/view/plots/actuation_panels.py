# SPDX-License-Identifier: Apache-2.0
"""Panels of the actuation of a run: voltages, set points, command signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.view.plots.curve_panels import (
    HELD,
    JOINTS,
    JUMPS,
    STEPS,
    CurvePanel,
)

if TYPE_CHECKING:
    from humans_sim.results.run import Run

_QUANTITIES = {
    ("motors", "voltage"): ("voltages of the motors", "voltage"),
    ("motors", "current"): ("currents of the motors", "current"),
    ("servos", "set_point"): ("set points of the servos", "angle"),
    ("muscles", "u"): ("command signals u", "u"),
    ("muscles", "alpha"): ("recruitment alpha", "alpha"),
    ("hoist", "tension"): ("tensions of the cables", "force"),
}
"""Title of the panel and word of its axis, by kind and quantity of signals."""
_SHAPES = {
    ("motors", "current"): JUMPS,
    ("muscles", "u"): STEPS,
    ("muscles", "alpha"): STEPS,
}
"""What follows the speed of a joint jumps with it; what is commanded makes steps."""


def actuation_panels(run: Run) -> list[CurvePanel]:
    """The quantities of a run's actuation that are worth a panel, in a fixed order."""
    names = list(run.info.get("signal_names", ()))
    units = list(run.info.get("signal_units", ()))
    columns: dict[tuple[str, str], dict[str, int]] = {key: {} for key in _QUANTITIES}
    for k, name in enumerate(names[: run.signals.shape[1]]):
        kind, _, rest = name.partition("/")
        driven, _, quantity = rest.rpartition("/")
        if driven and (kind, quantity) in columns:
            columns[kind, quantity][driven] = k
    panels = []
    for key, driven_columns in columns.items():
        if driven_columns:
            title, word = _QUANTITIES[key]
            places = list(driven_columns.values())
            unit, values = units[places[0]], run.signals[:, places]
            if unit == "rad":
                unit, values = "°", np.degrees(values)
            panels.append(
                CurvePanel(
                    title,
                    f"{word} [{unit}]",
                    tuple(driven_columns),
                    values,
                    1.0 + np.ptp(np.nan_to_num(values), axis=0),
                    JOINTS,
                    _SHAPES.get(key, HELD),
                )
            )
    return panels
