# SPDX-License-Identifier: Apache-2.0
"""The puppet of 14 masses: it dances on its feet, splines through its masses are drawn.

python examples/puppet.py puppet.gif
"""

from __future__ import annotations

import sys

import humans_sim as hs

run = hs.simulate("puppet", t_end=1.6)
print(f"{run.q.shape[1] // 3} masses, {len(run.t)} samples")
print("bound of the period:", f"{1e3 * run.info['network']['longest_period']:.2f} ms")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    print("written:", hs.animate(run, sys.argv[1]))
