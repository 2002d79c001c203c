# SPDX-License-Identifier: Apache-2.0
"""How far the KHR-1 turns by slip, beside MuJoCo with the same drives and angles.

The pattern turns on both feet for six seconds; nothing is fed back. Whether the soles
pivot or slide is friction's to decide, so another simulator is the judge.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from peers import mujoco_biped as peer
from rich.console import Console
from rich.table import Table
from time_stepping import DAMPING, GAIN, PERIOD, ROTOR, SECONDS, Drives

import humans_sim as hs
from humans_sim.control.walking import WalkPattern, WalkSettings

STEP = 1e-3


def heading(x: float, y: float, z: float, w: float) -> float:
    """Heading of a quaternion [degrees]."""
    return math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def turn(model: hs.Model, rate: float, friction: float) -> tuple[float, float, float]:
    """Heading at the end [degrees]: planned, humans_sim, MuJoCo."""
    settings = replace(WalkSettings.of_model(model), pivot_share=1.0)
    pattern, rows = WalkPattern(model, settings), []
    for k in range(round(SECONDS / PERIOD) + 2):
        if k == 5:
            pattern.command(0.0, 0.0, rate)
        point = pattern.tick(k * PERIOD)
        rows.append(point.joints)
    drives = Drives(model, np.array(rows))
    start = model.standing(rows[0])
    simulation = hs.Simulation(
        model,
        drives,
        ground=hs.Ground(friction=friction),
        method="time_stepping",
        time_step=STEP,
    )
    stepper = simulation.start(start)
    stepper.advance(SECONDS)
    biped = peer.biped(model, STEP, friction, GAIN, DAMPING, ROTOR)
    data = peer.mujoco.MjData(biped)
    data.qpos[:] = peer.positions(start)
    for k in range(round(SECONDS / STEP)):
        data.ctrl[:] = drives.point(k * STEP)
        peer.mujoco.mj_step(biped, data)
    w, x, y, z = data.qpos[3:7]
    planned = math.degrees(point.left.yaw)
    return planned, heading(*stepper.q[3:7]), heading(x, y, z, w)


def main() -> None:
    """Print a table."""
    model = hs.load_model("khr1")
    table = Table(title=f"Degrees turned in {SECONDS:g} s")
    for name in ("friction", "rad/s", "planned", "humans_sim", "MuJoCo"):
        table.add_column(name, justify="right")
    for friction in (0.7, 0.4):
        for rate in (0.35, 0.15):
            degrees = turn(model, rate, friction)
            table.add_row(f"{friction}", f"{rate}", *(f"{x:.1f}" for x in degrees))
    Console().print(table)


if __name__ == "__main__":
    main()
