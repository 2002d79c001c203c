# SPDX-License-Identifier: Apache-2.0
"""Pictures of the forces of a motion: each foot, beside plates, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from humans_sim.analysis.footfalls import stretches
from humans_sim.analysis.force_comparison import ForceComparison, compared_rows
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.view.plots.figure_panels import LEFT, MIDDLE, RIGHT, stacked


def force_figures(
    dynamics: InverseDynamics, comparison: ForceComparison | None = None
) -> dict[str, Figure]:
    """The pictures, by their titles."""
    figures = {"Vertical force of each foot": vertical_forces(dynamics, comparison)}
    figures["Residual at the base"] = residual(dynamics)
    return figures


def vertical_forces(
    dynamics: InverseDynamics, comparison: ForceComparison | None = None
) -> Figure:
    """Vertical force of each foot; with plates, theirs and that of markers alone."""

    def draw(sole: str) -> Callable[[Any], None]:
        def panel_of(panel: Any) -> None:
            panel.set_title(sole)
            panel.set_ylabel("force [body weights]")
            colour = LEFT if sole.startswith("l") else RIGHT
            force = dynamics.feet[sole][:, 2] / dynamics.weight
            if comparison is None:
                panel.plot(dynamics.t, force, color=colour, lw=1.4, label="estimated")
                return
            alone = comparison.alone.feet[sole][:, 2] / dynamics.weight
            known = compared_rows(dynamics, sole)
            plate = np.where(known, force, np.nan)
            panel.plot(dynamics.t, plate, color=MIDDLE, lw=2.2, label="plates")
            panel.plot(
                dynamics.t, alone, color=colour, lw=1.2, label="from markers alone"
            )
            agreement = comparison.feet.get(sole)
            if agreement is not None:
                panel.set_title(
                    f"{sole}: r {agreement.correlation:.3f}, "
                    f"{100 * agreement.rms:.1f} % of body weight rms"
                )

        return panel_of

    return stacked([draw(sole) for sole in dynamics.feet], "time [s]")


def residual(dynamics: InverseDynamics) -> Figure:
    """Force and moment left over at the base; shaded where not all is measured."""
    t, left = dynamics.t, dynamics.residual

    def shade(panel: Any) -> None:
        if dynamics.loads is None:
            return
        for first, last in stretches(~dynamics.measured):
            panel.axvspan(t[first], t[last], color="0.93", lw=0, zorder=0)

    def force(panel: Any) -> None:
        panel.set_title("force left over, of body weight")
        panel.set_ylabel("force [%]")
        for k, axis in enumerate("xyz"):
            panel.plot(t, 100 * left[:, k] / dynamics.weight, lw=1.2, label=axis)
        shade(panel)

    def moment(panel: Any) -> None:
        panel.set_title("moment left over about the base")
        panel.set_ylabel("moment [N m]")
        for k, axis in enumerate("xyz"):
            panel.plot(t, left[:, 3 + k], lw=1.2, label=axis)
        shade(panel)

    return stacked([force, moment], "time [s]")
