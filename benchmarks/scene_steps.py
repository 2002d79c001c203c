# SPDX-License-Identifier: Apache-2.0
"""Cost of scenes of boxes by time steps: humans_sim beside MuJoCo.

A tossed cube, a block that falls onto an edge and topples, and a stack of boxes that
settles. Both have the same boxes, friction and time step; timed are whole runs by the
processor's time, the second one of a process: humans_sim from Python with all that it
records, MuJoCo's steps in C. The laws of contact differ: rigid here, MuJoCo's give way.
Beside the cost stands how high the highest box ends, and the deepest overlap.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.dynamics.scenes import SceneBody, SceneSystem

try:
    import mujoco
except ImportError:
    mujoco = None

FRICTION, STEP = 0.5, 1e-3
Box = tuple[tuple[float, float, float], tuple[float, ...], tuple[float, ...]]
"""Size [m]; place and quaternion x, y, z, w; linear velocity and spin."""


def scenes(boxes: int) -> dict[str, tuple[float, list[Box]]]:
    """Lengths of the runs [s] and boxes, by name."""
    still, straight = (0.0,) * 6, (0.0, 0.0, 0.0, 1.0)
    size = (0.2, 0.2, 0.1)
    stack: list[Box] = [
        (size, (0.0, 0.0, 0.0502 + 0.1002 * k, *straight), still) for k in range(boxes)
    ]
    tilt = (0.0, np.sin(0.2), 0.0, np.cos(0.2))
    toss = (1.0, 0.3, 0.5, 3.0, 5.0, 1.0)
    return {
        "tossed cube": (1.0, [((0.1,) * 3, (0.0, 0.0, 0.4, *tilt), toss)]),
        "toppling block": (1.0, [((0.1, 0.1, 0.4), (0.0, 0.0, 0.26, *tilt), still)]),
        f"stack of {boxes}": (2.0, stack),
    }


def ours(seconds: float, boxes: list[Box]) -> tuple[float, float, float]:
    """Time of a run [s], height of the highest box, deepest overlap [m]."""
    bodies = [SceneBody.box(f"b{k}", 1.0, box[0]) for k, box in enumerate(boxes)]
    scene: SceneSystem = SceneSystem(bodies, hs.Ground(friction=FRICTION))
    q = np.concatenate([box[1] for box in boxes])
    v = np.concatenate([box[2] for box in boxes])
    simulation = hs.Simulation(scene, method="time_stepping", time_step=STEP)
    spent = 0.0
    for _ in range(2):
        begun = time.thread_time()
        run = simulation.run(q, v, t_end=seconds, sampling_period=0.02)
        spent = time.thread_time() - begun
    overlap = run.check()["deepest overlap of solids"].value
    return spent, float(run.q[-1].reshape(-1, 7)[:, 2].max()), float(overlap)


def theirs(seconds: float, boxes: list[Box]) -> tuple[float, float, float]:
    """The same of MuJoCo; the overlap at the end."""
    parts = [f'<option timestep="{STEP}" cone="elliptic"/><worldbody>']
    parts.append(f'<geom type="plane" size="9 9 1" friction="{FRICTION} 0 0"/>')
    for size, _, _ in boxes:
        half = " ".join(str(0.5 * s) for s in size)
        parts.append(
            f'<body><freejoint/><geom type="box" size="{half}" mass="1" condim="3" '
            f'friction="{FRICTION} 0 0"/></body>'
        )
    text = f"<mujoco>{''.join(parts)}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for k, (_, place, velocity) in enumerate(boxes):
        x, y, z, w = place[3:]
        data.qpos[7 * k : 7 * k + 7] = (*place[:3], w, x, y, z)
        data.qvel[6 * k : 6 * k + 6] = velocity
    begun = time.thread_time()
    for _ in range(round(seconds / 0.02)):
        mujoco.mj_step(model, data, round(0.02 / STEP))
    spent = time.thread_time() - begun
    deepest = max(0.0, *(-data.contact.dist[: data.ncon]), 0.0)
    return spent, float(data.qpos.reshape(-1, 7)[:, 2].max()), float(deepest)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=10, help="of the stack")
    boxes = parser.parse_args().boxes
    peer = "no MuJoCo" if mujoco is None else f"MuJoCo {mujoco.__version__}"
    console = Console(width=100)
    console.print(f"On {platform.machine()}, {peer}; steps of {1e3 * STEP:g} ms")
    table = Table("scene", "by")
    for column in ("time ms", "x real time", "ratio", "top m", "overlap m"):
        table.add_column(column, justify="right")
    for name, (seconds, scene) in scenes(boxes).items():
        rows = [("humans_sim", ours(seconds, scene))]
        if mujoco is not None:
            rows.append(("MuJoCo", theirs(seconds, scene)))
        for by, (spent, top, overlap) in rows:
            table.add_row(
                name,
                by,
                f"{1e3 * spent:.1f}",
                f"{seconds / spent:.0f}",
                f"{spent / rows[-1][1][0]:.1f}",
                f"{top:.4f}",
                f"{overlap:.0e}",
            )
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
