# SPDX-License-Identifier: Apache-2.0
"""Pictures of a robot: its tree of joints, legs and soles, as understood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from humans_sim.actuation.servo_set import StepResponse
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.sole_legs import sole_legs, sole_sides
from humans_sim.models import Model
from humans_sim.models.legs import PITCH, Leg, corner_places, sole_named
from humans_sim.view.plots.figure_panels import LEFT, RIGHT, dress, stacked

if TYPE_CHECKING:
    from humans_sim.control.retargeting.robot_motion import RobotMotion
    from humans_sim.results.run import Run


_LEFT, _RIGHT, _REST = "tab:blue", "tab:red", "#9aa0a8"
_LINE = 0.08
"""Of the leg's length: names of joints nearer than this stand below each other."""
_VIEWS = (("from the right", 0, "x forwards [m]"), ("from the front", 1, "y left [m]"))


def draw_robot(model: Model, settings: WalkSettings) -> Figure:
    """Side view, front view and soles of a robot that stands before it walks.

    Raises:
        ControlError: its legs do not reach the ground so.
    """
    legs = sole_legs(model, settings.left, settings.right)
    posture = WalkPattern(model, settings).standing()
    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.2))
    data = model.data()
    pin.forwardKinematics(model.pin, data, posture)
    places = np.array([pose.translation for pose in data.oMi])
    for panel, (title, along, label) in zip(axes[:2], _VIEWS, strict=True):
        _tree(panel, model, places, legs, along)
        _soles(panel, model, settings, posture, along)
        com = model.com(posture)
        panel.plot(com[along], com[2], "o", color="k", ms=9, mfc="gold", zorder=5)
        panel.axhline(0.0, color="k", lw=0.8)
        panel.set(title=title, xlabel=label, ylabel="z up [m]", aspect="equal")
        panel.margins(0.3, 0.05)
        if along == 1:
            panel.invert_xaxis()  # the robot's left is the viewer's right
    _name_joints(axes[0], places, legs[1])
    _footprints(axes[2], model, settings)
    figure.suptitle(
        f"{model.name}: what was understood; centre of mass "
        f"{settings.com_height:.3f} m high"
    )
    return figure


def _tree(
    panel: Any, model: Model, places: np.ndarray, legs: tuple[Leg, Leg], along: int
) -> None:
    colours = {j + 2: c for leg, c in zip(legs, (_LEFT, _RIGHT), strict=True)
               for j in leg.joints}  # fmt: skip
    for joint in range(2, model.pin.njoints):
        ends = places[[model.pin.parents[joint], joint]]
        colour = colours.get(joint, _REST)
        panel.plot(ends[:, along], ends[:, 2], "-", color=colour, lw=2)
        panel.plot(*ends[1, [along, 2]], ".", color=colour, ms=6)


def _soles(
    panel: Any, model: Model, settings: WalkSettings, q: np.ndarray, along: int
) -> None:
    for name, colour in ((settings.left, _LEFT), (settings.right, _RIGHT)):
        pose = model.frame_pose(q, name)
        corners = corner_places(model, sole_named(model, name))
        points = np.array([pose.act(corner) for corner in corners])
        panel.plot(points[:, along], points[:, 2], "-", color=colour, lw=4)


def _name_joints(panel: Any, places: np.ndarray, leg: Leg) -> None:
    """Names of a leg's joints beside it, those at one place in one line."""
    roles = dict(zip(leg.pitches(), ("hip", "knee", "ankle"), strict=False))
    spots: list[tuple[float, list[str]]] = []
    for n, joint in enumerate(leg.joints):
        name = leg.names[n]
        if leg.kinds[n] == PITCH and n in roles:
            name += f" ({roles[n]})"
        height = float(places[joint + 2, 2])
        if spots and abs(spots[-1][0] - height) < _LINE * leg.length:
            spots[-1][1].append(name)
        else:
            spots.append((height, [name]))
    for height, names in spots:
        panel.annotate(
            "\n".join(names),
            (1.03, height),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="center",
            fontsize=7,
            color=_RIGHT,
        )


def _footprints(panel: Any, model: Model, settings: WalkSettings) -> None:
    """Soles from above as they stand, with the places of pressure and a step."""
    half = 0.5 * settings.stance_width
    for name, side, colour in (
        (settings.left, 1, _LEFT),
        (settings.right, -1, _RIGHT),
    ):
        corners = corner_places(model, sole_named(model, name))[:, :2]
        around = np.vstack([corners, corners[:1]]) + [0.0, side * half]
        panel.fill(around[:, 1], around[:, 0], color=colour, alpha=0.25)
        panel.plot(around[:, 1], around[:, 0], color=colour, label=name)
        place = (side * (half - settings.zmp_inward), settings.zmp_forward)
        panel.plot(*place, "x", color=colour, ms=8)
        panel.plot(side * half, 0.0, "+", color="k", ms=10)
    ahead = around + [settings.max_forward, 0.0]
    panel.plot(
        ahead[:, 1], ahead[:, 0], ":", color=_RIGHT, label="longest step forwards"
    )
    panel.invert_xaxis()
    panel.set(title="soles from above", xlabel="y left [m]", ylabel="x forwards [m]")
    panel.set_aspect("equal")
    panel.margins(0.25, 0.1)
    panel.legend(loc="lower center", fontsize=8)
    panel.annotate(
        "+ below the ankle, x desired centre of pressure",
        (0.02, 0.98),
        xycoords="axes fraction",
        va="top",
        fontsize=8,
    )


_COLUMNS = 4


def draw_step_responses(
    responses: Mapping[str, StepResponse], title: str, step: float
) -> Figure:
    """A small panel for each joint: rise time, overshoot of a step [rad]."""
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


_REST_TIME = 0.5
"""Time of a simulation before the motion [s]."""
_SHOWN = 6
"""Joints of a panel: those that move most."""
_FOOT = 0.8
"""Width of the bars of standing feet."""


def plot_retarget(motion: RobotMotion, run: Run | None = None) -> Figure:
    """Feet, balance, joints, limbs beside the person's; a simulated run is dotted."""
    model = motion.model
    sides = sole_legs(model, *sole_sides(model))
    legs = sorted({joint for leg in sides for joint in leg.joints})
    others = [j for j in range(len(model.joint_names)) if j not in legs]

    joints = partial(_joints, motion=motion, run=run)
    panels = [
        partial(_feet, motion=motion),
        partial(_balance, motion=motion),
        partial(joints, title="legs [deg]", places=legs),
        partial(joints, title="arms and trunk [deg]", places=others),
        partial(_limbs, motion=motion),
    ]
    figure = stacked(panels, "time of the robot [s]")
    figure.suptitle(f"{model.name}: a person's motion in {motion.duration:.1f} s")
    return figure


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
        name, angles = motion.model.joint_names[place], motion.joints[:, place]
        panel.plot(motion.t, np.degrees(angles), color=colour, label=name)
        if run is not None:
            inside = (run.t >= _REST_TIME) & (run.t <= _REST_TIME + motion.duration)
            angles = np.degrees(run.q[inside, 7 + place])
            panel.plot(run.t[inside] - _REST_TIME, angles, ":", color=colour)
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
