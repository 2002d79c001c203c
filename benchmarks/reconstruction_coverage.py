# SPDX-License-Identifier: Apache-2.0
"""How often the true joint angle lies within the 95 % interval.

    python benchmarks/reconstruction_coverage.py [--seeds N] [--seconds S]

Walks in which every joint moves, 5 mm noise on each marker axis, all markers and with
30 and 50 % of them hidden in blocks of a quarter of a second; found frame by frame and
all at once; the markers as they are and prepared as ``reconstruct`` does by default
(gaps up to 0.1 s filled, 8 Hz filter). Joints that no marker sees are left aside.

Prints the share of angles within 1.96 standard deviations, the same where a joint was
hidden, root mean square and largest error, mean standard deviation, the noise that was
estimated and the frames that converged. Exits with 1 where a share of a row with at
most 30 % hidden is not 90 to 98 %.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.pipeline import prepare
from humans_sim.observation.markers.synthetic import Motion, synthetic_trial
from humans_sim.observation.posture.reconstruct import MODES, solve_postures

NOISE, RATE, BLOCK = 0.005, 100.0, 0.25
"""Of a marker on each axis [m], of the frames [Hz], mean length of a block [s]."""
WITHIN = 1.96
LEAST, MOST = 0.90, 0.98
STRIDE = 1.1
"""Time of a stride [s]."""


def walking(model: hs.Model) -> Motion:
    """A walk along x in which every joint moves, arms bent."""
    names = model.joint_names
    bent = {"elbow_pitch": 0.6, "elbow_yaw": 0.4}
    swings = {
        "hip_pitch": 0.4,
        "knee": 0.5,
        "ankle_pitch": 0.15,
        "shoulder_pitch": 0.35,
        "elbow_pitch": 0.2,
    }
    offsets = {"hip_pitch": 0.1, "knee": -0.6, **bent}
    low, high = model.lower_limits + 0.05, model.upper_limits - 0.05

    def posture(t: float) -> np.ndarray:
        q = model.neutral()
        q[0] = 1.3 * t
        phase = 2 * np.pi * t / STRIDE
        for k, name in enumerate(names):
            side, _, part = name.partition("_")
            shift = np.pi if side == "r" else 0.0
            angle = offsets.get(part, 0.0) + 0.06 * np.sin(phase + k)
            angle += swings.get(part, 0.0) * np.sin(phase + shift)
            q[7 + k] = min(max(angle, low[k]), high[k])
        return q

    return posture


def study(
    model: hs.Model,
    name: str,
    mode: str,
    prepared: bool,
    hidden: float,
    seeds: int,
    seconds: float,
) -> dict[str, float]:
    """Errors against standard deviations of a few walks."""
    motion = walking(model)
    marker_set = load_marker_set(name, model)
    marker_set = marker_set.of(m.name for m in marker_set.markers if not m.calibration)
    errors, spreads, bridged, noise, converged = [], [], [], [], []
    for seed in range(seeds):
        trial = synthetic_trial(
            model,
            marker_set,
            motion,
            duration=seconds,
            rate=RATE,
            noise=NOISE,
            dropout=hidden,
            gap=BLOCK,
            seed=seed,
        )
        truth = np.array([motion(float(t)) for t in trial.times])
        if prepared:
            trial = prepare(trial).trial
        result = solve_postures(model, trial, marker_set, mode=mode)
        assert result.std is not None and result.bridged is not None
        seen = [n not in result.unobservable for n in model.joint_names]
        errors.append((result.q - truth)[:, 7:][:, seen])
        spreads.append(result.std[:, 6:][:, seen])
        bridged.append(result.bridged[:, seen])
        noise.append(result.noise)
        converged.append(result.converged.mean())
    error, spread = np.concatenate(errors), np.concatenate(spreads)
    inside, led = np.abs(error) < WITHIN * spread, np.concatenate(bridged)
    return {
        "coverage": float(inside.mean()),
        "hidden coverage": float(inside[led].mean()) if led.any() else float("nan"),
        "hidden": float(led.mean()),
        "rms": float(np.degrees(np.sqrt((error**2).mean()))),
        "largest": float(np.degrees(np.abs(error).max())),
        "std": float(np.degrees(spread.mean())),
        "noise": 1e3 * float(np.mean(noise)),
        "converged": float(np.mean(converged)),
    }


def main() -> int:
    """Print a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--marker-set", default="plug-in-gait")
    parser.add_argument("--mode", choices=MODES, default=None)
    given = parser.parse_args()
    model = hs.load_model("human36")
    table = Table(
        "mode", "markers", "hidden", title=f"{given.marker_set}: 95 % intervals"
    )
    for column in (
        "within",
        "hidden ones",
        "of all",
        "rms °",
        "largest °",
        "std °",
        "noise mm",
        "converged",
    ):
        table.add_column(column, justify="right")
    missed = False
    for mode in MODES if given.mode is None else (given.mode,):
        for prepared in (False, True):
            for hidden in (0.0, 0.3, 0.5):
                row = study(
                    model,
                    given.marker_set,
                    mode,
                    prepared,
                    hidden,
                    given.seeds,
                    given.seconds,
                )
                table.add_row(
                    mode,
                    "filtered" if prepared else "raw",
                    f"{hidden:.0%}",
                    f"{row['coverage']:.1%}",
                    f"{row['hidden coverage']:.1%}",
                    f"{row['hidden']:.1%}",
                    f"{row['rms']:.2f}",
                    f"{row['largest']:.1f}",
                    f"{row['std']:.2f}",
                    f"{row['noise']:.2f}",
                    f"{row['converged']:.1%}",
                )
                missed |= hidden <= 0.3 and not LEAST <= row["coverage"] <= MOST
    Console().print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
