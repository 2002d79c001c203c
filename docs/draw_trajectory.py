# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/control.md: one segment of a trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory

IMAGES = Path(__file__).parent / "images"
MIDDLES = {"near the middle": 0.4, "equal to the start": 0.0, "beyond the end": 1.3}
"""Intermediate positions between 0 and 1."""


def segment() -> Figure:
    """Position, velocity and acceleration through three intermediate positions."""
    figure = Figure(figsize=(7.5, 6.5), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    times = np.linspace(-0.2, 2.2, 601)
    for i, (name, middle) in enumerate(MIDDLES.items()):
        points = np.array([[0.0], [middle], [1.0]])
        path = Trajectory(points, (0.0, 2.0), (ContactPhase.DOUBLE,))
        for axis, curve in zip(axes, path.sample(times)[:3], strict=True):
            axis.plot(times, curve[:, 0], color=f"C{i}", label=name)
        axes[0].plot(1.0, middle, "o", color=f"C{i}")
    for place, offset in (((0.0, 0.0), 9), ((2.0, 1.0), -16)):
        axes[0].plot(*place, "ks")
        axes[0].annotate(
            "stable", place, (0, offset), textcoords="offset points", ha="center"
        )
    axes[0].legend(title="intermediate position", frameon=False, loc="upper left")
    axes[0].set(xlim=(times[0], times[-1]), ylim=(-0.15, 1.75))
    labels = ("position", "velocity [1/s]", "acceleration [1/s²]")
    for axis, label in zip(axes, labels, strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.axvline(1.0, color="k", linewidth=0.6, linestyle=":")
    axes[2].set_xlabel("time [s]")
    figure.align_ylabels()
    return figure


if __name__ == "__main__":
    segment().savefig(IMAGES / "trajectory.png", dpi=110)
