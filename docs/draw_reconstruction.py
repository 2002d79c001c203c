# SPDX-License-Identifier: Apache-2.0
"""Draw a picture of docs/markers.md: a walk found from markers in trouble."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.observation.markers.synthetic import swapped, synthetic_trial
from humans_sim.view.reports.posture_report import Skeleton

IMAGES = Path(__file__).parent / "images"
SET = "plug-in-gait"
STRIDE, SPEED, DURATION = 1.1, 1.3, 2.2
MISSING = (0.5, 0.75)
"""All markers of the right shank and foot are hidden [s]."""
SWAPPED = (1.3, 1.6)
"""Right and left knee markers are mistaken for each other [s]."""
COLOURS = {"truth": "#222222", "static": "#d9822b", "smooth": "#1f6fb4"}


def walk(model: hs.Model, t: float) -> np.ndarray:
    """A walk in joint angles."""
    q = model.neutral()
    q[0] = SPEED * t
    for side, start in (("l", 0.0), ("r", np.pi)):
        phase = 2 * np.pi * t / STRIDE + start
        for name, angle in (
            ("hip_pitch", 0.1 + 0.4 * np.sin(phase)),
            ("knee", -0.5 * (1 + np.cos(phase))),
            ("ankle_pitch", 0.15 * np.cos(phase)),
            ("shoulder_pitch", -0.35 * np.sin(phase)),
            ("elbow_pitch", 0.5 - 0.2 * np.sin(phase)),
        ):
            q[7 + model.joint_names.index(f"{side}_{name}")] = angle
    return q


def main() -> None:
    """Make the trial, spoil it, reconstruct it, draw it."""
    model = hs.load_model("human36")
    trial = synthetic_trial(
        model, SET, lambda t: walk(model, t), duration=DURATION, noise=0.003
    )
    positions = trial.positions.copy()
    hidden = [n for n in trial.names if n in ("RTIB", "RANK", "RHEE", "RTOE")]
    rows = (trial.times >= MISSING[0]) & (trial.times < MISSING[1])
    for name in hidden:
        positions[rows, trial.names.index(name)] = np.nan
    trial = swapped(trial.moved(positions), ("RKNE", "LKNE"), *SWAPPED)
    found = {
        mode: hs.reconstruct(model, trial, SET, mode=mode)
        for mode in ("static", "smooth")
    }

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    skeleton = Skeleton.of(model)
    result = found["smooth"]
    for row in (10, 62, 110, 145, 190):
        points = skeleton.positions(model, result.q[row : row + 1])[0]
        for a, b, _ in skeleton.lines:
            left.plot(*points[[a, b]][:, [0, 2]].T, color=COLOURS["smooth"], lw=1.6)
        status = result.status[row]
        for value, colour in ((0, "#1a7f5a"), (3, "#cc2936")):
            at = result.trial.positions[row][status == value]
            left.plot(at[:, 0], at[:, 2], ".", color=colour, ms=4)
    left.set(aspect="equal", xlabel="x [m]", ylabel="height [m]")
    left.set_title("found body, markers measured (green) and rejected (red)", size=10)

    truth = [np.degrees(walk(model, t)[7:]) for t in trial.times]
    knee = model.joint_names.index("r_knee")
    right.plot(trial.times, [q[knee] for q in truth], color=COLOURS["truth"], lw=3)
    for mode, colour in list(COLOURS.items())[1:]:
        right.plot(trial.times, np.degrees(found[mode].joint("r_knee")), color=colour)
    for (start, end), word in ((MISSING, "shank hidden"), (SWAPPED, "knees swapped")):
        right.axvspan(start, end, color="#e8e2d8", zorder=0)
        right.text((start + end) / 2, 4, word, ha="center", size=9)
    right.set(xlabel="time [s]", ylabel="right knee [°]", ylim=(-85, 10))
    right.legend(list(COLOURS), loc="lower right", fontsize=9)
    right.grid(alpha=0.3)
    figure.savefig(IMAGES / "reconstruction.png", dpi=120)


if __name__ == "__main__":
    main()
