# SPDX-License-Identifier: Apache-2.0
"""A cut scapho-lunate ligament: the synthetic wrist before and after.

    python examples/carpus_cut_ligament.py cut.png

Both straps between scaphoid and lunate are cut, that of the back (19 in the thesis'
figure) and the assumed one of the palm; then a pull of 100 N presses the capitate
towards the radius, as tendons of a closed fist do. Bones, attachments and stiffnesses
are made of formulas and assumptions: it shows what these ties do in this model, not
what happens to a patient.
"""

import sys
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import humans_sim as hs

WHOLE = __name__ == "__main__"
ANGLE, PLACES = (np.radians(20), 9) if WHOLE else (np.radians(3), 2)
CUT = ("scapho-lunate", "palmar-scapho-lunate")

intact = hs.load_wrist("wrist", spacing=1.4e-3)
joints = hs.anatomy.Joints(intact)
pair = joints.names.index("scaphoid-lunate")


def pressed(wrist, force=100.0):
    """The wrist with two long tendons that pull its capitate to the radius [N]."""
    capitate, radius = (wrist.number(name) for name in ("capitate", "radius"))
    tendons = []
    for side in (-4e-3, 4e-3):
        ends = np.array([[0.0, 5e-3, side], [3e-3, -60e-3, side]])
        length = float(np.linalg.norm(ends[1] - ends[0]))
        one = ends[0] - wrist.centres[capitate]
        other = ends[1] - wrist.centres[radius]
        pull = 0.5 * force / length  # nearly the same wherever the capitate is
        law = (0.0, 20 * length, pull)
        name = f"tendon {len(tendons)}"
        tendons.append(hs.Ligament(name, capitate, one, radius, other, *law))
    ties = hs.Ligaments([*wrist.ligaments.ligaments, *tendons])
    return replace(wrist, ligaments=ties, numbers=(*wrist.numbers, 0, 0))


def flexion(run, bone):
    """Turn of a bone about the axis of flexion, from the wrist as it was made [deg]."""
    vectors = Rotation.from_matrix(run.bone(bone)[1]).as_rotvec()
    return np.degrees(vectors[:, 0])


cut = intact.cut(*CUT)
cases = [("adduction", "intact", intact, PLACES), ("adduction", "cut", cut, PLACES)]
if WHOLE:
    cases += [
        ("adduction", "intact, 100 N", pressed(intact), PLACES),
        ("adduction", "cut, 100 N", pressed(cut), PLACES),
        ("abduction", "intact", intact, PLACES),
        ("abduction", "cut", cut, PLACES),
        ("abduction", "cut, second rest", cut, 5),  # found by longer steps of the hand
    ]
curves = {}
for kind, name, wrist, count in cases:
    run = hs.move_quasistatic(wrist, hs.HandMotion(kind, ANGLE), 3e5, count)
    places = zip(run.x, run.frames, strict=True)
    gap = np.array([1e3 * joints.gaps(*place)[pair] for place in places])
    turns = flexion(run, "scaphoid"), flexion(run, "lunate")
    curves[kind, name] = np.degrees(run.angles), gap, *turns
    print(
        f"{kind} by {np.degrees(ANGLE):.0f} degrees, {name}: gap at most "
        f"{gap.max():.2f} mm, {gap[-1]:.2f} mm at the end; the scaphoid has flexed "
        f"by {turns[0][-1]:.1f} degrees, the lunate by {turns[1][-1]:.1f}; "
        f"{1e3 * run.energy[-1].sum():.1f} mJ; at rest everywhere: "
        f"{run.unsettled == 0}",
        flush=True,
    )


def picture():
    """Gap of the two bones and their flexion over the angle of the hand."""
    figure = Figure(figsize=(9.0, 6.5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    for (kind, name), (hand, gap, scaphoid, lunate) in curves.items():
        column = int(kind == "abduction")
        style = "--" if name.startswith("cut") else "-"
        style = ":" if name.endswith("rest") else style
        colour = "C7" if name.endswith("N") else "C3"
        panels[0, column].plot(hand, gap, style, color=colour, label=name)
        if not name.endswith("N"):
            below = panels[1, column]
            below.plot(hand, scaphoid, style, color="C0", label=f"scaphoid, {name}")
            below.plot(hand, lunate, style, color="C1", label=f"lunate, {name}")
        panels[0, column].set_title(kind)
        panels[1, column].set_xlabel("hand [deg]")
    panels[0, 0].set_ylabel("gap of scaphoid and lunate [mm]")
    panels[1, 0].set_ylabel("flexion (+), extension (-) [deg]")
    for panel in (panels[0, 0], panels[1, 1]):
        panel.legend(frameon=False, fontsize=9)
    figure.suptitle("Scapho-lunate ligament cut: synthetic wrist, no patient")
    return figure


if __name__ == "__main__" and len(sys.argv) > 1:
    picture().savefig(sys.argv[1], dpi=110)
