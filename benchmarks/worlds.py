# SPDX-License-Identifier: Apache-2.0
"""Many standing KHR-1 stepped by threads: humans_sim's worlds beside MuJoCo's rollout.

Every world holds its posture by the drives of ``time_stepping.py``, begins with other
joints, and lands and comes to rest before anything is timed. Both take the same time
steps with as many threads, one after the other in turns in one run, on a clock: what
else runs on the machine slows both. MuJoCo's robot touches the ground with the eight
corners of its soles; humans_sim does so, too, and in a second row with its whole body,
which touches itself as well.

Below stands where the time goes: the processor's time of a step, and the share of it in
compiled series of steps.
Run: python benchmarks/worlds.py [--worlds N] [--threads N] [--seconds S] [--rest S]
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from time_stepping import DAMPING, FRICTION, GAIN, HEAD, PERIOD, ROTOR, TURN, Drives

import humans_sim as hs
from humans_sim.dynamics.time_stepping import model_steps

try:
    import mujoco.rollout
    from peers import mujoco_biped as peer
except ImportError:
    peer = None  # type: ignore[assignment]

STEP, ROUNDS, CHANGE = 1e-3, 5, 0.01
"""Of a step [s]; how often each is timed; of joints at the start [rad]."""


class Ours:
    """Worlds of humans_sim."""

    def __init__(self, model: hs.Model, q: np.ndarray, threads: int, body: bool):
        begun = time.perf_counter()
        self.worlds = hs.Worlds(
            model,
            len(q),
            Drives(model, turning_head(model)),
            ground=hs.Ground(friction=FRICTION),
            contacts=hs.Contacts(whole_body=body, self_collision=body),
            time_step=STEP,
            threads=threads,
        )
        self.built = time.perf_counter() - begun
        self.worlds.reset(q)

    def advance(self) -> None:
        """All worlds by a period."""
        self.worlds.step(PERIOD)

    def heights(self) -> np.ndarray:
        """Of the bases [m]."""
        return np.asarray(self.worlds.q[:, 2])


class Theirs:
    """The same of MuJoCo."""

    def __init__(self, model: hs.Model, q: np.ndarray, threads: int):
        begun = time.perf_counter()
        self.model = peer.biped(model, STEP, FRICTION, GAIN, DAMPING, ROTOR)
        self.data = [peer.mujoco.MjData(self.model) for _ in range(threads)]
        self.built = time.perf_counter() - begun
        full = peer.mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.state = np.zeros((len(q), peer.mujoco.mj_stateSize(self.model, full)))
        for row, start in zip(self.state, q, strict=True):
            self.data[0].qpos[:] = peer.positions(start)
            peer.mujoco.mj_getState(self.model, self.data[0], row, full)
        self.control = np.tile(model.neutral()[7:], (1, round(PERIOD / STEP), 1))

    def advance(self) -> None:
        """All worlds by a period."""
        states, _ = mujoco.rollout.rollout(
            self.model, self.data, self.state, self.control, persistent_pool=True
        )
        self.state = states[:, -1].copy()

    def heights(self) -> np.ndarray:
        """Of the bases [m]; the time comes first in a state."""
        return np.asarray(self.state[:, 3])


def turning_head(model: hs.Model) -> np.ndarray:
    """Two postures a period apart: what is at rest would not be computed (2, n)."""
    angles = np.tile(model.neutral()[7:], (2, 1))
    angles[1, HEAD] += TURN
    return angles


def starts(model: hs.Model, n: int) -> np.ndarray:
    """Standing, each with other joints, a millimetre above the floor (n, nq)."""
    random, joints = np.random.default_rng(0), model.neutral()[7:]
    rows = []
    for change in random.uniform(-CHANGE, CHANGE, (n, len(joints))):
        angles = np.clip(joints + change, model.lower_limits, model.upper_limits)
        rows.append(model.standing(angles))
        rows[-1][2] += 1e-3
    return np.array(rows)


def share_of_kernels(ours: Ours) -> tuple[float, float]:
    """Processor's time of a step of one thread [s], share of it in the kernel."""
    spent, series = 0.0, model_steps.model_series

    def timed(*arguments: object) -> object:
        nonlocal spent
        begun = time.thread_time()
        try:
            return series(*arguments)
        finally:
            spent += time.thread_time() - begun

    threads, ours.worlds.threads = ours.worlds.threads, 1
    model_steps.model_series = timed
    begun = time.thread_time()
    try:
        ours.advance()
    finally:
        model_steps.model_series, ours.worlds.threads = series, threads
    total = time.thread_time() - begun
    return total / len(ours.worlds) / round(PERIOD / STEP), spent / total


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.4, help="of each timing")
    parser.add_argument("--rest", type=float, default=0.6, help="before all timings")
    given = parser.parse_args()
    console, model = Console(width=100), hs.load_model("khr1")
    machine = f"On {platform.machine()}, Python {platform.python_version()}"
    console.print(machine if peer is None else f"{machine}, MuJoCo {peer.VERSION}")
    q = starts(model, given.worlds)
    Ours(model, q[:1], 1, True).advance()  # compiles
    sides: dict[str, Ours | Theirs] = {
        "whole body": Ours(model, q, given.threads, True),
        "eight corners": Ours(model, q, given.threads, False),
    }
    if peer is not None:
        sides["MuJoCo"] = Theirs(model, q, given.threads)
    for side in sides.values():
        for _ in range(round(given.rest / PERIOD)):
            side.advance()
    periods = max(1, round(given.seconds / PERIOD))
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            begun = time.perf_counter()
            for _ in range(periods):
                side.advance()
            steps = given.worlds * periods * round(PERIOD / STEP)
            rates[name].append(steps / (time.perf_counter() - begun))
    title = f"{given.worlds} standing KHR-1, {given.threads} threads, steps of 1 ms"
    table = Table(title=title, title_justify="left")
    for column in ("", "steps/s", "of MuJoCo", "built in s", "lowest base m"):
        table.add_column(column, justify="right")
    for name, side in sides.items():
        ratios = np.divide(rates[name], rates["MuJoCo"]) if peer is not None else [0.0]
        table.add_row(
            name,
            f"{np.median(rates[name]):.0f}",
            "n/a" if peer is None else f"{np.median(ratios):.2f}",
            f"{side.built:.2f}",
            f"{side.heights().min():.4f}",
        )
    console.print(table)
    for name, side in sides.items():
        if isinstance(side, Ours):
            each, share = share_of_kernels(side)
            console.print(
                f"{name}: {1e6 * each:.0f} us a step and thread, {100 * share:.0f} % "
                "of it in compiled steps"
            )
            if side.worlds.failed.any():
                raise SystemExit(f"{name}: {side.worlds}, {side.worlds.messages}")


if __name__ == "__main__":
    main()
