# SPDX-License-Identifier: Apache-2.0
"""A synthetic wrist in its four motions, at rest in each place of the hand.

    python examples/carpus_motions.py wrist.png

The bones are made of formulas: nothing here was compared with a person.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.view.reports.wrist_report import draw_wrist
from humans_sim.view.wrist_raster import WristRaster, view_of

WHOLE = __name__ == "__main__"
ANGLE, PLACES = (np.radians(20), 5) if WHOLE else (np.radians(3), 2)
MOTIONS = ("adduction", "abduction", "flexion", "extension")

wrist = hs.load_wrist("wrist", spacing=1.4e-3)
joints = hs.anatomy.Joints(wrist)
runs = {}
for kind in MOTIONS if WHOLE else MOTIONS[:2]:
    motion = hs.HandMotion(kind, ANGLE)
    run = runs[kind] = hs.move_quasistatic(wrist, motion, 3e5, PLACES)
    print(f"{kind} by {np.degrees(ANGLE):.0f} degrees, {run.wall:.0f} s")
    for line in hs.anatomy.plausibility(run).lines():
        print(f"  {line}")
    print(f"  joints that opened: {', '.join(joints.parted(run)) or 'none'}")


def picture():
    """The wrist at the end of each motion, ligaments coloured by tension."""
    figure = Figure(figsize=(9.0, 9.5), layout="constrained")
    for panel, (kind, run) in zip(
        figure.subplots(2, 2).flat, runs.items(), strict=True
    ):
        view = view_of(kind)
        draw_wrist(panel, WristRaster(run, view, 420), len(run.t) - 1)
        panel.set_title(f"{kind} {np.degrees(ANGLE):.0f} deg, {view} [mm]", fontsize=10)
    figure.suptitle(f"{wrist.title}: made of formulas")
    return figure


if __name__ == "__main__" and len(sys.argv) > 1:
    picture().savefig(sys.argv[1], dpi=100)
