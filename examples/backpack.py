# SPDX-License-Identifier: Apache-2.0
"""A heavy backpack: it cannot come after the body, so both are simulated together.

python examples/backpack.py
"""

from __future__ import annotations

import humans_sim as hs

scenario = hs.read_scenario("backpack").with_changes(end=0.2)
try:
    scenario.run()
except hs.errors.CouplingError as refusal:
    print("refused:", refusal)
run = scenario.with_changes(coupling="two_way").run()
print("together, physically right:", bool(run.check()))
