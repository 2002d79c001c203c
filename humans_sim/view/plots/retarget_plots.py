# SPDX-License-Identifier: Apache-2.0
"""A picture of a motion that a robot took over from a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from humans_sim.view.plots.figure_panels import LEFT, RIGHT, stacked

if TYPE_CHECKING:
    from humans_sim.control.retargeting.robot_motion import RobotMotion
    from humans_sim.results.run import Run

_REST = 0.5
"""Time of a simulation before the motion [s]."""
_SHOWN = 6
"""Joints of a panel: those that move most."""
_FOOT = 0.8
"""Width of the bars of standing feet."""


def plot_retarget(motion: RobotMotion, run: Run | None = None) -> Figure:
    """Feet, balance, joints of legs and of the rest, and limbs beside the person's.

    Args:
        motion: the plan.
        run: of the simulated robot; its joints are dotted.
    """
    model = motion.model
    legs = sorted({j for n, limb in _leg_limbs(motion) for j in limb})
    others = [j for j in range(len(model.joint_names)) if j not in legs]

    def joints(title: str, places: list[int]) -> Any:
        return lambda panel: _joints(panel, motion, run, title, places)

    figure = stacked(
        [
            lambda panel: _feet(panel, motion),
            lambda panel: _balance(panel, motion),
            joints("legs [deg]", legs),
            joints("arms and trunk [deg]", others),
            lambda panel: _limbs(panel, motion),
        ],
        "time of the robot [s]",
    )
    figure.suptitle(f"{model.name}: a person's motion in {motion.duration:.1f} s")
    return figure


def _leg_limbs(motion: RobotMotion) -> list[tuple[str, tuple[int, ...]]]:
    from humans_sim.control.walking.sole_legs import sole_legs, sole_sides

    legs = sole_legs(motion.model, *sole_sides(motion.model))
    return [("leg", leg.joints) for leg in legs]


def _feet(panel: Any, motion: RobotMotion) -> None:
    from humans_sim.control.walking.footsteps import Side

    sides = ((Side.LEFT, "left", LEFT), (Side.RIGHT, "right", RIGHT))
    for row, (side, word, colour) in enumerate(sides):
        bars = [
            (phase.start, phase.end - phase.start)
            for phase in motion.plan.phases
            if phase.swing is not side
        ]
        panel.broken_barh(
            bars, (row - 0.5 * _FOOT, _FOOT), facecolors=colour, label=f"{word} stands"
        )
    panel.set_yticks([0, 1], ["left", "right"])
    panel.set_ylabel("feet")


def _balance(panel: Any, motion: RobotMotion) -> None:
    panel.plot(motion.t, 1e3 * motion.zmp_margin, color="tab:green",
               label="zero-moment point\nto the edge")  # fmt: skip
    panel.axhline(0.0, color="tab:red", linewidth=1.0)
    panel.set_ylabel("inside by [mm]")


def _joints(
    panel: Any, motion: RobotMotion, run: Run | None, title: str, places: list[int]
) -> None:
    spans = np.ptp(motion.joints[:, places], axis=0) if places else np.zeros(0)
    chosen = [places[k] for k in np.argsort(-spans)[:_SHOWN]]
    for number, place in enumerate(sorted(chosen)):
        colour = f"C{number}"
        panel.plot(
            motion.t,
            np.degrees(motion.joints[:, place]),
            color=colour,
            label=motion.model.joint_names[place],
        )
        if run is not None:
            inside = (run.t >= _REST) & (run.t <= _REST + motion.duration)
            panel.plot(
                run.t[inside] - _REST,
                np.degrees(run.q[inside, 7 + place]),
                color=colour,
                linestyle=":",
            )
    if run is not None:
        panel.plot([], [], color="black", linestyle=":", label="simulated")
    panel.set_ylabel(title)


def _limbs(panel: Any, motion: RobotMotion) -> None:
    start, end = motion.plan.knots[0, [0, -1]]
    for name, angles in motion.errors.items():
        times = np.linspace(start, end, len(angles))
        style = "-" if name.startswith("l_") else "--"
        part = list(dict.fromkeys(n[2:] for n in motion.errors)).index(name[2:])
        values = np.degrees(angles)
        panel.plot(times, values, linestyle=style, label=name, color=f"C{part}")
    panel.axhline(15.0, color="0.5", linewidth=0.8)
    panel.set_ylabel("limbs off the\nperson's [deg]")
