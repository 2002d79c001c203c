# SPDX-License-Identifier: Apache-2.0
"""Panels of the coordinates of a run: positions in metres, angles in degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.results.coordinates import (
    METRE,
    RADIAN,
    UNKNOWN,
    Coordinates,
    shown_coordinates,
)
from humans_sim.results.export import has_free_base
from humans_sim.view.plots.curve_panels import (
    ANGLES,
    BASE,
    BENDS,
    JOINTS,
    OTHERS,
    POSITIONS,
    CurvePanel,
)

if TYPE_CHECKING:
    from humans_sim.results.run import Run

_MOVES = 1e-6
"""Least range of a joint that is worth a curve [rad]."""


def coordinate_panels(run: Run) -> list[CurvePanel]:
    """The coordinates of a run, a panel for each unit.

    A biped shows the angles of the joints that move, or its base where none does, and
    then the bodies beside it.
    """
    if not has_free_base(run):
        return _by_unit(shown_coordinates(run), "")
    joints = [k for k, n in enumerate(run.position_names) if n in run.velocity_names]
    panels = [_joint_angles(run, joints)]
    beside = 7 + len(joints)
    if beside < run.q.shape[1]:
        panels += _by_unit(shown_coordinates(run, beside), " of the bodies")
    return panels


def _by_unit(shown: Coordinates, of_what: str) -> list[CurvePanel]:
    panels = []
    for unit, title, label, family in (
        (METRE, "positions", "position [m]", POSITIONS),
        (RADIAN, "angles", "angle [°]", ANGLES),
        (UNKNOWN, "coordinates", "coordinate [m or rad]", OTHERS),
    ):
        others = unit == UNKNOWN
        chosen = [
            k
            for k, own in enumerate(shown.units)
            if own == unit or (others and own not in (METRE, RADIAN))
        ]
        if not chosen:
            continue
        values = shown.values[:, chosen]
        if unit == RADIAN:
            values = np.degrees(values)
        names = [shown.names[k] for k in chosen]
        weights = 1.0 + np.ptp(values, axis=0)
        panels.append(
            CurvePanel(title + of_what, label, names, values, weights, family, BENDS)
        )
    return panels


def _joint_angles(run: Run, joints: list[int]) -> CurvePanel:
    span = np.ptp(run.q[:, joints], axis=0)
    if (span > _MOVES).any():
        return CurvePanel(
            "joint angles that change",
            "angle [°]",
            [run.position_names[k] for k in joints],
            np.rad2deg(run.q[:, joints]),
            np.where(span > _MOVES, span, 0.0),
            JOINTS,
            BENDS,
        )
    return CurvePanel(
        "base, from its place at the start (no joint moves)",
        "displacement [m]",
        ("x", "y", "z"),
        run.q[:, :3] - run.q[0, :3],
        np.ones(3),
        BASE,
        BENDS,
    )
