# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/explanation/equations.md "Pushes".

The capture point of the KHR-1 beyond the edge of its sole, with one and two steps.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from humans_sim.control.walking.capture_step import capturable_distance

IMAGE = Path(__file__).parent / "images" / "capture_steps.png"
OMEGA = 6.5
"""Of the KHR-1 that tips as one piece [1/s]."""
REACH, DURATION = 0.09, 0.19
"""Of a step [m, s]."""
STARTS = {0.020: "one step", 0.033: "two steps", 0.045: "not caught"}
"""Beyond the edge after the push [m], and what catches it."""
MOST = 0.17
"""Beyond the edge, where a curve ends [m]."""


def distances(start: float, steps: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and distances beyond the edge [m]; a step takes its reach off."""
    t, d, begin = [0.0], [start], start
    for k in range(steps):
        inner = np.linspace(0.0, DURATION, 60)
        grown = begin * np.exp(OMEGA * inner)
        t += list(k * DURATION + inner)
        d += list(grown)
        begin = float(grown[-1]) - REACH
        t.append((k + 1) * DURATION)
        d.append(begin)
        if begin <= 0 or begin > MOST:
            break
    return np.array(t), np.array(d)


def main() -> None:
    """Three pushes: caught by one step, by two, and not at all."""
    figure, axes = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
    growth = math.exp(OMEGA * DURATION)
    colours = ("#0072b2", "#009e73", "#d55e00")
    for (start, text), colour in zip(STARTS.items(), colours, strict=True):
        t, d = distances(start)
        label = f"{1e3 * start:.0f} mm after the push: {text}"
        axes.plot(t, 1e3 * d, color=colour, label=label)
        axes.plot(t[-1], 1e3 * d[-1], "o", color=colour, ms=4)
    for n, text in ((1, "one step"), (2, "two"), (200, "any number")):
        limit = 1e3 * capturable_distance(REACH, growth, n)
        axes.axhline(limit, color="0.5", lw=0.8, ls=":")
        axes.annotate(
            f"{text}: {limit:.0f} mm",
            (0.585, limit),
            xytext=(0.59, limit + {1: -12.0, 2: -3.0}.get(n, 6.0)),
            fontsize=8,
            annotation_clip=False,
        )
    axes.axhline(0.0, color="black", lw=0.8)
    axes.set(xlim=(0.0, 0.58), ylim=(-35, 1e3 * MOST), xlabel="time [s]")
    axes.set_ylabel("capture point beyond the edge [mm]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=7)
    figure.savefig(IMAGE, dpi=150)


if __name__ == "__main__":
    main()
