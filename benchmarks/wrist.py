# SPDX-License-Identifier: Apache-2.0
"""The synthetic wrist moved by 30 degrees in four directions, with two step sizes.

    OPENBLAS_NUM_THREADS=1 python benchmarks/wrist.py [adduction abduction ...]

Times are of the processor, without building. Thesis 000 (1994): a time step took 25
minutes at 256^3; its thresholds are 5 % of a bone's balls in contact, 2 % of the
contacts deep.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from humans_sim.anatomy import (
    HandMotion,
    Wrist,
    WristRun,
    load_wrist,
    move_wrist,
    plausibility,
)
from humans_sim.anatomy.wrist.hand_motion import AXES

STEPS = (0.01, 0.005)
COLUMNS = (
    ("motion", 10),
    ("step [ms]", 9),
    ("time [s]", 8),
    ("Newton", 6),
    ("unsettled", 9),
    ("frictionless", 12),
    ("overlap [m]", 11),
    ("friction", 8),
    ("ball [N]", 8),
    ("tension [N]", 11),
    ("touching", 8),
    ("deep", 5),
    ("kinetic [J]", 11),
    ("stored [J]", 10),
    ("left", 4),
)


def moved(wrist: Wrist, kind: str, step: float) -> tuple[WristRun, float]:
    """A run, and its processor time [s]."""
    begin = time.process_time()
    run = move_wrist(wrist, HandMotion(kind), step)
    return run, time.process_time() - begin


def row(run: WristRun, step: float, seconds: float) -> list[str]:
    """Greatest values of a run."""
    report = plausibility(run)
    kinetic, stored = run.energy.max(axis=0)
    return [
        run.motion.kind,
        f"{1e3 * step:g}",
        f"{seconds:.1f}",
        f"{run.newton}",
        f"{run.unsettled}",
        f"{run.frictionless}",
        f"{max(0.0, float(run.depths.max())):.0e}",
        f"{run.friction.max():.4f}",
        f"{run.forces.max():.0f}",
        f"{run.tensions.max():.0f}",
        f"{report.most_touching:.1%}",
        f"{report.most_deep:.1%}",
        f"{kinetic:.1e}",
        f"{stored:.3f}",
        f"{len(report.left)}",
    ]


def print_row(cells: list[str]) -> None:
    """Aligned under the titles."""
    widths = [width for _, width in COLUMNS]
    pairs = zip(cells, widths, strict=True)
    print("  ".join(cell.rjust(width) for cell, width in pairs), flush=True)


def main(kinds: list[str]) -> None:
    """All motions, and how far the ends of two step sizes are apart."""
    begin = time.process_time()
    wrist = load_wrist("wrist")
    balls = sum(len(bone.model) for bone in wrist.bones)
    print(f"built in {time.process_time() - begin:.1f} s: {balls} balls")
    move_wrist(wrist, HandMotion("adduction", 0.01, 0.02, 0.02, 0.0))  # compiles
    print_row([title for title, _ in COLUMNS])
    apart = {}
    for kind in kinds:
        ends = []
        for step in STEPS:
            run, seconds = moved(wrist, kind, step)
            print_row(row(run, step, seconds))
            ends.append(run.x[-1])
        shifts = 1e3 * np.linalg.norm(ends[0] - ends[1], axis=1)
        apart[kind] = (float(shifts.max()), wrist.names[int(shifts.argmax())])
    for kind, (shift, bone) in apart.items():
        print(f"{kind}: ends of the two step sizes within {shift:.3f} mm ({bone})")


if __name__ == "__main__":
    main(sys.argv[1:] or list(AXES))
