# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/contact_joints.md: the contact frame, and its accuracy."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from humans_sim.contact.joint.contact_joint import (
    ContactJoint,
    JointState,
    contact_velocity,
)
from humans_sim.contact.joint.planar_contact import Circle, Ellipse, PlanarContact
from humans_sim.contact.joint.surface_shapes import Plane, Sphere
from humans_sim.contact.joint.surfaces import Ellipsoid

ROOT = Path(__file__).parent
IMAGES = ROOT / "images"
ONE, TWO, FRAME = "C0", "C1", "k"
SHAPE = (0.5, 0.4, 0.3)
ROLL = contact_velocity(rolling=(0.4, 0.9))


def arrow(axis: Axes, start: np.ndarray, arrow_vector: np.ndarray, text: str) -> None:
    """A vector of the contact frame with its name."""
    axis.annotate(
        "",
        start + arrow_vector,
        start,
        arrowprops={"arrowstyle": "-|>", "color": FRAME, "lw": 1.6, "shrinkB": 0},
        zorder=5,
    )
    axis.text(
        *(start + 1.2 * arrow_vector + (0.06, 0.0)),
        text,
        ha="center",
        va="center",
        size=12,
        zorder=5,
    )


def contact_frame(axis: Axes) -> None:
    """Two contours, their circles of curvature and the frame between them."""
    contact = PlanarContact(Circle(1.0), Ellipse((0.9, 0.55)))
    state = contact.start((0.25, 1.0), (-0.45, -0.5))
    angles = np.linspace(0, 2 * np.pi, 200)
    place = state.relative()
    circle = np.array([np.cos(angles), np.sin(angles)])
    axis.fill(*circle, fc=ONE, alpha=0.15)
    axis.plot(*circle, color=ONE, lw=1.8)
    oval = place[:2, :2] @ (np.array([[0.9], [0.55]]) * circle) + place[:2, 2:]
    axis.fill(*oval, fc=TWO, alpha=0.15)
    axis.plot(*oval, color=TWO, lw=1.8)
    axis.text(-0.45, -0.25, "body 1", color=ONE, size=13, ha="center")
    axis.text(*(place[:2, 2] + (0.55, 0.1)), "body 2", color=TWO, size=13, ha="center")

    point = np.array([state.first.x, state.first.y])
    t = np.array([math.cos(state.first.angle), math.sin(state.first.angle)])
    n = np.array([-t[1], t[0]])
    _, curvature = contact.curvatures(state)
    middle = point + n / curvature
    lower = np.linspace(1.1, 1.9, 60) * np.pi + state.first.angle
    rim = middle[:, None] + np.array([np.cos(lower), np.sin(lower)]) / curvature
    axis.plot(*rim, color=TWO, lw=0.8, ls="--")
    for centre, color, name, off in (
        (np.zeros(2), ONE, "$cc_1$", (0.2, -0.03)),
        (middle, TWO, "$cc_2$", (0.03, 0.1)),
    ):
        axis.plot(*np.column_stack([centre, point]), color=color, lw=0.9, ls=":")
        axis.plot(*centre, "o", color=color, ms=5)
        axis.text(*(centre + off), name, color=color, ha="center", size=12)
    axis.plot(*point, "o", color=FRAME, ms=5, zorder=6)
    axis.text(*(point + (-0.17, 0.02)), "$L$", size=12)
    arrow(axis, point, 0.42 * t, "$t$")
    arrow(axis, point, 0.42 * n, "$n$")
    axis.text(-0.23, 0.5, "$1/C_1$", color=ONE, size=11)
    axis.text(*(middle + (-0.42, -0.3)), "$1/C_2$", color=TWO, size=11)
    axis.set(aspect="equal", xlim=(-1.35, 1.75), ylim=(-1.1, 2.6))
    axis.axis("off")


def carried_along(axis: Axes) -> None:
    """The same contact three times as body 2 rolls: the frame runs over both."""
    contact = PlanarContact(Circle(1.0), Ellipse((0.9, 0.55)))
    state = contact.start((-0.6, 0.8), (-0.75, -0.3))
    angles = np.linspace(0, 2 * np.pi, 200)
    circle = np.array([np.cos(angles), np.sin(angles)])
    axis.fill(*circle, fc=ONE, alpha=0.15)
    axis.plot(*circle, color=ONE, lw=1.8)
    path = []
    for k in range(81):
        point = np.array([state.first.x, state.first.y])
        path.append(point)
        if k in (0, 40, 80):
            place = state.relative()
            oval = place[:2, :2] @ (np.array([[0.9], [0.55]]) * circle) + place[:2, 2:]
            axis.fill(*oval, fc=TWO, alpha=0.08 + 0.001 * k)
            axis.plot(*oval, color=TWO, lw=1.4)
            mark = place[:2, :2] @ [0.0, 0.0] + place[:2, 2]
            nose = place[:2, :2] @ [0.8, 0.0] + place[:2, 2]
            axis.plot(*np.column_stack([mark, nose]), color=TWO, lw=1.0)
            axis.plot(*mark, "o", color=TWO, ms=4)
            t = np.array([math.cos(state.first.angle), math.sin(state.first.angle)])
            for arrow_vector in (t, np.array([-t[1], t[0]])):
                axis.annotate(
                    "",
                    point + 0.33 * arrow_vector,
                    point,
                    arrowprops={"arrowstyle": "-|>", "color": FRAME, "lw": 1.4},
                    zorder=5,
                )
        state = contact.step(state, 0.0, -2.0, 0.02)
    axis.plot(*np.array(path).T, color=FRAME, lw=2.2)
    axis.text(0.0, -0.05, "body 1", color=ONE, size=13, ha="center")
    axis.text(0.1, 0.55, "path of $L$ in body 1", size=11, ha="center")
    axis.set(aspect="equal", xlim=(-1.5, 2.1), ylim=(-1.1, 2.6))
    axis.axis("off")


def frames() -> Figure:
    """The contact frame, standing and rolling."""
    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3.1, 3.6])
    contact_frame(left)
    carried_along(right)
    return figure


def lowest(semi_axes: tuple[float, ...], relative: pin.SE3) -> float:
    """Distance of an ellipsoid from the plane [m]."""
    down = relative.rotation[2] * semi_axes
    return abs(relative.translation[2] - math.sqrt(down @ down))


def naive(joint: ContactJoint, state: JointState, dt: float) -> JointState:
    """Integrate the velocity of the body, then look for the contact again."""
    body = state.second.act(pin.Motion(ROLL)).vector
    relative = state.relative * pin.exp6(body * dt)
    found = joint.nearest(relative, state.first.translation)
    return JointState(found.first, relative.actInv(found.first))


def start(joint: ContactJoint) -> JointState:
    """An ellipsoid or a sphere put on the plane."""
    return joint.start((0.0, 0.0, 0.0), (0.3, 0.2, -0.2), 0.3)


def one_step(axis: Axes) -> None:
    """Gap after one step: naive and by curvature."""
    steps = np.geomspace(1e-3, 0.5, 16)
    for shape, name, mark in (
        ((0.4, 0.4, 0.4), "sphere", "s"),
        (SHAPE, "ellipsoid", "o"),
    ):
        solid = Sphere(0.4) if name == "sphere" else Ellipsoid(shape)
        joint = ContactJoint(Plane(), solid, update="torus", correct=False)
        state = start(joint)
        gaps = [lowest(shape, naive(joint, state, dt).relative) for dt in steps]
        axis.loglog(steps, gaps, f"{mark}-", color="C3", ms=4, label=f"naive, {name}")
        gaps = [lowest(shape, joint.step(state, ROLL, dt).relative) for dt in steps]
        gaps = np.maximum(gaps, 1e-17)
        label = f"by curvature, {name}"
        axis.loglog(steps, gaps, f"{mark}-", color="C0", ms=4, label=label)
    axis.loglog(steps, 0.04 * steps**2, color="0.6", lw=0.8, ls="--")
    axis.text(1.6e-3, 2.5e-8, "order 2", color="0.4", size=9)
    axis.loglog(steps, 0.02 * steps**3, color="0.6", lw=0.8, ls="--")
    axis.text(2.5e-3, 4e-11, "order 3", color="0.4", size=9)
    axis.set(xlabel="step [s]", ylabel="gap after one step [m]", ylim=(3e-18, 1e-1))


def one_second(axis: Axes) -> None:
    """Error of the placement after one second."""
    joint = ContactJoint(Plane(), Ellipsoid(SHAPE))
    truth = start(joint)
    for _ in range(1024):
        truth = joint.step(truth, ROLL, 1 / 1024)
    counts = 2 ** np.arange(2, 9)
    for name, color, label in (
        ("naive", "C3", "naive"),
        ("loose", "C0", "torus, not corrected"),
        ("torus", "C2", "torus, corrected"),
        ("lie", "C4", "lie"),
    ):
        update = "lie" if name == "lie" else "torus"
        joint = ContactJoint(
            Plane(), Ellipsoid(SHAPE), update=update, correct=name != "loose"
        )
        errors = []
        for count in counts:
            state = start(joint)
            for _ in range(count):
                if name == "naive":
                    state = naive(joint, state, 1 / count)
                else:
                    state = joint.step(state, ROLL, 1 / count)
            off = state.relative.homogeneous - truth.relative.homogeneous
            errors.append(np.abs(off).max())
        axis.loglog(1 / counts, errors, "o-", color=color, ms=4, label=label)
    axis.set(xlabel="step [s]", ylabel="error of the placement after 1 s")


def accuracy() -> Figure:
    """Errors of one step and of one second."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    one_step(left)
    one_second(right)
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=9, loc="lower right")
    left.legend(frameon=False, fontsize=9, loc=(0.45, 0.2))
    return figure


if __name__ == "__main__":
    frames().savefig(IMAGES / "contact_frame.png", dpi=110)
    accuracy().savefig(IMAGES / "contact_accuracy.png", dpi=110)
    example = runpy.run_path(str(ROOT.parent / "examples" / "rolling_sphere.py"))
    example["picture"]().savefig(IMAGES / "rolling_sphere.png", dpi=110)
