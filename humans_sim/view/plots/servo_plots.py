# SPDX-License-Identifier: Apache-2.0
"""Step responses of the servos of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.figure import Figure

from humans_sim.actuation.servo_tuning import StepResponse
from humans_sim.view.plots.figure_panels import dress

_COLUMNS = 4


def draw_step_responses(
    responses: Mapping[str, StepResponse], title: str, step: float
) -> Figure:
    """A small panel for each joint, with its rise time and overshoot.

    Args:
        responses: by joint.
        title: of the figure.
        step: of the commands [rad].
    """
    rows = math.ceil(len(responses) / _COLUMNS)
    figure = Figure(figsize=(12.0, 1.9 * rows + 0.9), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    for panel, (name, response) in zip(panels.flat, responses.items(), strict=False):
        panel.axhline(1.0, color="0.5", linewidth=0.8, linestyle="--")
        colour = "tab:red" if response.limited > 0.5 else "tab:blue"
        panel.plot(1e3 * response.times, response.angles, color=colour)
        rise = response.rise_time
        word = f"{1e3 * rise:.0f} ms" if math.isfinite(rise) else "does not arrive"
        panel.set_title(f"{name}: {word}, +{100 * response.overshoot:.0f} %")
        dress(panel)
        panel.title.set_fontsize(8)
    for panel in panels.flat[len(responses) :]:
        panel.set_visible(False)
    for panel in panels.flat[max(len(responses) - _COLUMNS, 0) : len(responses)]:
        panel.set_xlabel("time [ms]", fontsize=8)
        panel.tick_params(labelbottom=True)
    for panel in panels[:, 0]:
        panel.set_ylabel("share of step", fontsize=8)
    figure.suptitle(
        f"{title}: steps of {math.degrees(step):g} degrees, each joint alone; rise "
        "from 10 to 90 %, overshoot; red: at its torque limit",
        fontsize=10,
    )
    return figure
