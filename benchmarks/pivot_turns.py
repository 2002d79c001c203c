# SPDX-License-Identifier: Apache-2.0
"""How far the KHR-1 turns by slip, beside MuJoCo with the same drives and angles.

The pattern turns on both feet for six seconds; nothing is fed back. Whether the soles
pivot or slide is friction's to decide, so another simulator is the judge.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np
from peers import mujoco_biped as peer
from rich.console import Console
from rich.table import Table
from time_stepping import DAMPING, GAIN, PERIOD, ROTOR, Drives

import humans_sim as hs
from humans_sim.control.walking import WalkPattern, WalkSettings

STEP = 1e-3


def heading(x: float, y: float, z: float, w: float) -> float:
    """Heading of a quaternion [degrees]."""
    return math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def turn(
    model: hs.Model, rate: float, friction: float, seconds: float
) -> tuple[float, float, float]:
    """Heading at the end [degrees]: planned, humans_sim, MuJoCo."""
    settings = replace(WalkSettings.of_model(model), pivot_share=1.0)
    pattern, rows = WalkPattern(model, settings), []
    for k in range(round(seconds / PERIOD) + 2):
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
    for k in range(round(seconds / PERIOD)):
        drives.begin(k)
        stepper.advance((k + 1) * PERIOD)
    biped = peer.biped(model, STEP, friction, GAIN, DAMPING, ROTOR)
    data = peer.mujoco.MjData(biped)
    data.qpos[:] = peer.positions(start)
    for k in range(round(seconds / STEP)):
        data.ctrl[:] = drives.point(k * STEP)
        peer.mujoco.mj_step(biped, data)
    w, x, y, z = data.qpos[3:7]
    planned = math.degrees(point.left.yaw)
    return planned, heading(*stepper.q[3:7]), heading(x, y, z, w)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each turn")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.35, 0.15])
    given = parser.parse_args()
    model = hs.load_model("khr1")
    table = Table(title=f"Degrees turned in {given.seconds:g} s")
    for name in ("friction", "rad/s", "planned", "humans_sim", "MuJoCo"):
        table.add_column(name, justify="right")
    for friction in (0.7, 0.4):
        for rate in given.rates:
            degrees = turn(model, rate, friction, given.seconds)
            table.add_row(f"{friction}", f"{rate}", *(f"{x:.1f}" for x in degrees))
    Console().print(table)


if __name__ == "__main__":
    main()
