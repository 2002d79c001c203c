# SPDX-License-Identifier: Apache-2.0
"""Panels of the actuation of a run: voltages, set points, command signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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


class SignalPanel(NamedTuple):
    """Curves of one quantity.

    Attributes:
        title: of the panel.
        label: of its axis, with the unit.
        names: of what is driven.
        values: (n, k).
    """

    title: str
    label: str
    names: tuple[str, ...]
    values: np.ndarray


def actuation_panels(run: Run) -> list[SignalPanel]:
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
            label = f"{word} [{units[places[0]]}]"
            panels.append(
                SignalPanel(title, label, tuple(driven_columns), run.signals[:, places])
            )
    return panels
