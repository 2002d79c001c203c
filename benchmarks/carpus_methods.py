# SPDX-License-Identifier: Apache-2.0
"""The synthetic wrist by the thesis' method and by others, in one table.

    python benchmarks/carpus_methods.py [--angle 15] [--spacing 1.4] [--only penalty]
    python benchmarks/carpus_methods.py --stiffness 2e3 2e4 2e5 --only "penalty, no lig"

Adduction and extension in a second. Balls are coarse (voxels of 1.4 mm), so that all of
it takes about ten minutes; the thesis' models have voxels of 0.5 mm, and its balls
reach half a voxel, 0.25 mm, too far: "thesis' balls" are that much larger, so that
bones overlap at the beginning, as they do where contours of neighbours touch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from humans_sim.anatomy import (
    HandMotion,
    Joints,
    PenaltyLaw,
    Wrist,
    WristRun,
    load_wrist,
    move_by_penalty,
    move_quasistatic,
    move_wrist,
    plausibility,
)

GROWN = 2.5e-4
Mover = Callable[[Wrist, HandMotion], WristRun]
METHODS: dict[str, tuple[bool, bool, Mover]] = {
    "penalty, no ligaments, thesis' balls": (True, False, move_by_penalty),
    "penalty, no ligaments": (False, False, move_by_penalty),
    "penalty, ligaments": (False, True, move_by_penalty),
    "quasi-static, ligaments": (False, True, move_quasistatic),
    "complementarity, no ligaments": (False, False, move_wrist),
    "complementarity, ligaments": (False, True, move_wrist),
}
HEAD = (
    "method | steps | shortest, median [us] | kinetic, stored energy [mJ] | deep | "
    "balls in contact | overlap [mm] | joints open > 2 mm | widest [mm] | left | "
    "time [s]"
)


def row(name: str, run: WristRun, joints: Joints, seconds: float) -> str:
    """What a run did, in one line."""
    report, opened = plausibility(run), joints.opened(run)
    kinetic, stored = run.energy.max(axis=0)
    steps = 1e6 * run.steps
    return " | ".join(
        (
            name,
            f"{len(steps)}",
            f"{steps.min():.3g}, {np.median(steps):.3g}",
            f"{1e3 * kinetic:.2g}, {1e3 * stored:.3g}",
            f"{report.most_deep:.1%}",
            f"{report.most_touching:.1%}",
            f"{1e3 * max(run.depths.max(), 0.0):.4f}",
            f"{int((opened > 2e-3).sum())} of {len(opened)}",
            f"{1e3 * opened.max():.2f}",
            ", ".join(report.left) or "none",
            f"{seconds:.0f}",
        )
    )


def with_stiffness(values: list[float]) -> dict[str, tuple[bool, bool, Mover]]:
    """The thesis' method with several stiffnesses of contact."""
    return {
        f"{name}, K = {value:g} N/m": (
            grown,
            tied,
            partial(move_by_penalty, law=PenaltyLaw(value)),
        )
        for value in values
        for name, (grown, tied, move) in METHODS.items()
        if move is move_by_penalty
    }


def main() -> None:
    """Move the wrist by each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angle", type=float, default=15.0, help="[deg]")
    parser.add_argument("--spacing", type=float, default=1.4, help="of voxels [mm]")
    parser.add_argument("--only", default="", help="methods whose name begins so")
    parser.add_argument("--motions", nargs="*", default=["adduction", "extension"])
    text = "K of the thesis' law, one row each [N/m]; its default unless given"
    parser.add_argument("--stiffness", type=float, nargs="*", default=[], help=text)
    options = parser.parse_args()
    methods = with_stiffness(options.stiffness) if options.stiffness else METHODS
    wrist = load_wrist("wrist", 1e-3 * options.spacing)
    joints = Joints(wrist)
    balls = sum(len(bone.model) for bone in wrist.bones)
    count = f"{len(wrist.bones)} bones of {balls} balls"
    print(f"{wrist.title}, {count}, {options.angle:g} deg")
    for kind in options.motions:
        print(f"\n{kind}\n{HEAD}")
        for name, (grown, tied, move) in methods.items():
            if not name.startswith(options.only):
                continue
            bones = wrist.grown(GROWN) if grown else wrist
            bones = bones if tied else bones.bare()
            angle = np.radians(options.angle)
            motion = HandMotion(kind, angle, settling=0.1 if tied else 0.0)
            begin = time.process_time()
            run = move(bones, motion)
            print(row(name, run, joints, time.process_time() - begin), flush=True)


if __name__ == "__main__":
    main()
