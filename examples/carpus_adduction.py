# SPDX-License-Identifier: Apache-2.0
"""A synthetic wrist in adduction: how its bones turn, which ligaments pull.

    python examples/carpus_adduction.py wrist.html

writes a page that shows it. Few balls and a few degrees, so that it takes a moment:
``humans-sim run carpus-adduction --view`` has the whole motion.
"""

from __future__ import annotations

import sys

import numpy as np

import humans_sim as hs

wrist = hs.load_wrist("wrist", spacing=1.4e-3)
motion = hs.HandMotion(
    "adduction", np.radians(4), duration=0.1, settling=0.04, holding=0.06
)
run = hs.move_wrist(wrist, motion, step=0.02)
for line in hs.anatomy.plausibility(run).lines():
    print(line)
strongest = int(run.tensions[-1].argmax())
print(f"strongest: {wrist.ligaments.names[strongest]}, {run.tensions[-1].max():.0f} N")
for finding in run.check().findings:
    print(finding.word, finding.name, finding.where)
if __name__ == "__main__" and len(sys.argv) > 1:
    hs.animate(run, sys.argv[1])
