# SPDX-License-Identifier: Apache-2.0
"""What was understood of a robot: its tree of joints, legs and soles, as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.sole_legs import sole_legs
from humans_sim.models import Model
from humans_sim.models.legs.chains import PITCH, Leg
from humans_sim.models.soles import corner_places, sole_named

_LEFT, _RIGHT, _REST = "tab:blue", "tab:red", "#9aa0a8"
_LINE = 0.08
"""Of the leg's length: names of joints nearer than this stand below each other."""
_VIEWS = (("from the right", 0, "x forwards [m]"), ("from the front", 1, "y left [m]"))


def draw_robot(model: Model, settings: WalkSettings) -> Figure:
    """Side view, front view and soles of a robot that stands before it walks.

    Args:
        model: the robot.
        settings: of its walk.

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
        "+ below the ankle, x wanted centre of pressure",
        (0.02, 0.98),
        xycoords="axes fraction",
        va="top",
        fontsize=8,
    )
