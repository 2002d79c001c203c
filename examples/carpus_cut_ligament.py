# SPDX-License-Identifier: Apache-2.0
"""A cut scapho-lunate ligament: the synthetic wrist before and after.

    python examples/carpus_cut_ligament.py cut.png

Both straps between scaphoid and lunate are cut, that of the back (19 in the thesis'
figure) and the assumed one of the palm. Bones, attachments and stiffnesses are made of
formulas and assumptions: it shows what these ties do in this model, not what happens to
a patient.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from humans_sim import anatomy

WHOLE = __name__ == "__main__"
ANGLE, PLACES = (np.radians(20), 9) if WHOLE else (np.radians(3), 2)
CUT = ("scapho-lunate", "palmar-scapho-lunate")

intact = anatomy.load_wrist("wrist", spacing=1.4e-3)
joints = anatomy.Joints(intact)
pair = joints.names.index("scaphoid-lunate")


def flexion(run, bone):
    """Turn of a bone about the axis of flexion, from the wrist as it was made [deg]."""
    vectors = Rotation.from_matrix(run.bone(bone)[1]).as_rotvec()
    return np.degrees(vectors[:, 0])


curves = {}
for kind in ("adduction", "abduction") if WHOLE else ("adduction",):
    for name, wrist in (("intact", intact), ("cut", intact.cut(*CUT))):
        motion = anatomy.HandMotion(kind, ANGLE)
        run = anatomy.move_quasistatic(wrist, motion, 3e5, PLACES)
        gap = [
            1e3 * joints.gaps(*place)[pair]
            for place in zip(run.x, run.frames, strict=True)
        ]
        curves[kind, name] = (
            np.degrees(run.angles),
            np.array(gap),
            flexion(run, "scaphoid"),
            flexion(run, "lunate"),
        )
        _, gap, scaphoid, lunate = curves[kind, name]
        print(
            f"{kind} by {np.degrees(ANGLE):.0f} degrees, {name}: gap at most "
            f"{gap.max():.2f} mm; at the end the scaphoid has flexed by "
            f"{scaphoid[-1]:.1f} degrees, the lunate by {lunate[-1]:.1f}, "
            f"{scaphoid[-1] - lunate[-1]:.1f} between them; at rest everywhere: "
            f"{run.unsettled == 0}"
        )


def picture():
    """Gap of the two bones and their flexion over the angle of the hand."""
    figure = Figure(figsize=(9.0, 6.5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, kind in enumerate(("adduction", "abduction")):
        for name, style in (("intact", "-"), ("cut", "--")):
            hand, gap, scaphoid, lunate = curves[kind, name]
            panels[0, column].plot(hand, gap, style, color="C3", label=name)
            for bone, turn, colour in (
                ("scaphoid", scaphoid, "C0"),
                ("lunate", lunate, "C1"),
            ):
                label = f"{bone}, {name}"
                panels[1, column].plot(hand, turn, style, color=colour, label=label)
        panels[0, column].set_title(kind)
        panels[1, column].set_xlabel("hand [deg]")
    panels[0, 0].set_ylabel("gap of scaphoid and lunate [mm]")
    panels[1, 0].set_ylabel("flexion (+), extension (-) [deg]")
    for panel in panels[:, 1]:
        panel.legend(frameon=False, fontsize=9)
    figure.suptitle("Scapho-lunate ligament cut: synthetic wrist, no patient")
    return figure


if __name__ == "__main__" and len(sys.argv) > 1:
    picture().savefig(sys.argv[1], dpi=110)
