# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/walking.md "Falls": the KHR-1 gets up from both sides."""

from __future__ import annotations

from pathlib import Path

import humans_sim as hs
from humans_sim.applications.walk_control import rising_walker, walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand

IMAGES = Path(__file__).parent / "images"
BEGIN, END = 3.4, 15.2
"""Of the strip [s]."""
PERIOD = 0.02


def main() -> None:
    """A film of the scenario, and a strip of a push from the front."""
    hs.animate(hs.simulate("khr1-fall"), IMAGES / "khr1_fall.gif")
    walker = Walker(hs.load_model("khr1"))
    robot = walking_robot(
        walker,
        [ScheduledCommand(0.3, Velocity(0.06, 0.0, 0.0))],
        rising=rising_walker(walker),
        pushes=[hs.Push(2.0, (-1.2, 0.0, 0.0), point=(0.0, 0.0, 0.06), duration=0.1)],
    )
    run = robot.simulation.run(t_end=END, sampling_period=PERIOD)
    hs.animate(run[round(BEGIN / PERIOD) :], IMAGES / "khr1_fall_back.png")


if __name__ == "__main__":
    main()
