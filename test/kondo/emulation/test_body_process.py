# SPDX-License-Identifier: Apache-2.0
"""The process of a simulated body compiles before time counts."""

from __future__ import annotations

import subprocess
import sys

import pytest

WALK_AFTER_TRIAL = """
import gc

from numba.core.registry import CPUDispatcher

import humans_sim as hs
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import walk_stream
from humans_sim.kondo.emulation.simulated_robot import Advance, BodyPlan, _Server
from humans_sim.kondo.emulation.emulator import khr1_boards
from humans_sim.kondo.emulation.simulated_body import BodySettings
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS, FREE


def compiled():
    found = [o for o in gc.get_objects() if isinstance(o, CPUDispatcher)]
    return {(o.__module__, o.__name__, s) for o in found for s in o.signatures}


robot = load_robot()
walk = walk_stream(hs.load_model("khr1"), robot, 2, (0.05, 0.0, 0.0))
memories = [board.memory for board in khr1_boards()]
server = _Server(BodyPlan(robot, BodySettings(), walk.angles(walk.begin), memories))
before = compiled()
commands = []
for t, angles in walk:
    values = robot.channels.values(angles)
    for k in range(2):
        part = values[CHANNELS * k : CHANNELS * (k + 1)]
        commands.append((t, rcb1.SetPositions(k, 0, part)))
end = walk.duration + 0.1
commands += [(end, rcb1.SetPositions(k, 0, (FREE,) * CHANNELS)) for k in range(2)]
state = server.answer(Advance(end + 2.0, commands))
assert state.fallen and not state.failure, state
assert len(before) > 10
print(sorted(compiled() - before))
"""


@pytest.mark.study
def test_nothing_is_compiled_while_it_walks_and_falls() -> None:
    """A body that compiles is seconds late: its robot has gone limp by then."""
    done = subprocess.run(
        [sys.executable, "-c", WALK_AFTER_TRIAL],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
