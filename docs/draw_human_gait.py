# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/walking.md: joints of a walking human beside normal gait.

Give a stored run of the scenario ``human-gait``; without one it is simulated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.control.gait.leg_fit import ANKLE, HIP, KNEE, PHASE_ENDS, normal_angles
from humans_sim.observation.markers.filters import zero_phase

IMAGES = Path(__file__).parent / "images"
JOINTS = (("hip_pitch", 1.0, HIP), ("knee", -1.0, KNEE), ("ankle_pitch", 1.0, ANKLE))
TITLES = ("hip flexion", "knee flexion", "ankle dorsiflexion")
PHASE = np.linspace(0.0, 1.0, 101)
CUTOFF = 15.0
"""Of the ground force [Hz]."""


def load(model: hs.Model, run: hs.Run) -> np.ndarray:
    """Vertical force on the left foot over the weight (n,), as it is."""
    names = [n for n in model.contact_names if n.startswith("l_")]
    rows = [run.table.names.index(name) for name in names]
    return np.asarray(run.forces[:, rows, 0].sum(axis=1)) / (model.mass * 9.81)


def strikes(t: np.ndarray, force: np.ndarray) -> list[float]:
    """Times at which the foot comes to bear load after 0.2 s in the air [s]."""
    on, found, last = force > 0.02, [], -np.inf
    for time, bears in zip(t, on, strict=True):
        if bears and time - last > 0.2 and last > -np.inf:
            found.append(float(time))
        if bears:
            last = float(time)
    return found


def over_strides(axis: Axes, times: list[float], t: np.ndarray, y: np.ndarray) -> None:
    """Each stride as a thin line, the mean as a thick one."""
    pairs = list(zip(times[:-1], times[1:], strict=True))
    curves = [np.interp(a + (b - a) * PHASE, t, y) for a, b in pairs]
    for curve in curves:
        axis.plot(100 * PHASE, curve, color="C0", alpha=0.25, linewidth=0.8)
    mean = np.mean(curves, axis=0)
    axis.plot(100 * PHASE, mean, color="C0", linewidth=2.0, label="Human36")


def picture(run: hs.Run) -> Figure:
    """Hip, knee and ankle beside normal gait, and the force on a foot."""
    model = hs.load_model("human36")
    force = load(model, run)
    times = strikes(run.t, force)
    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    axes = figure.subplots(2, 2)
    normal = normal_angles(PHASE)
    for k, (joint, sign, ends) in enumerate(JOINTS):
        axis = axes.flat[k]
        angle = sign * np.degrees(run.joint(f"l_{joint}"))
        over_strides(axis, times, run.t, angle)
        axis.plot(100 * PHASE, normal[k], "--", color="0.35", label="normal gait")
        axis.plot(100 * PHASE_ENDS, ends, "o", color="0.35", markersize=4)
        axis.set_title(f"{TITLES[k]} [degrees]", fontsize=10)
    rate = 1.0 / float(np.mean(np.diff(run.t)))
    smooth = zero_phase(force[:, None], rate, CUTOFF)[:, 0]
    axis = axes.flat[3]
    over_strides(axis, times, run.t, smooth)
    axis.axhline(1.0, color="0.6", linewidth=0.8)
    axis.set_title("vertical force on the foot [weight]", fontsize=10)
    for axis in axes.flat:
        axis.set_xlim(0, 100)
        axis.grid(alpha=0.3)
        axis.set_xlabel("% of a stride")
    axes.flat[1].legend(frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    stored = hs.load_run(sys.argv[1]) if sys.argv[1:] else hs.simulate("human-gait")
    picture(stored).savefig(IMAGES / "human_gait.png", dpi=110)
    middle = (stored.t > 6.0) & (stored.t < 7.2)
    rows = np.flatnonzero(middle)
    hs.animate(stored[rows[0] : rows[-1] + 1], IMAGES / "human_gait_strip.png")
