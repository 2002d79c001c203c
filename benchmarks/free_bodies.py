# SPDX-License-Identifier: Apache-2.0
"""A thousand free rigid bodies at 240 Hz: times real time, beside MuJoCo.

    python benchmarks/free_bodies.py [COUNT] [SECONDS]

Boxes of different sizes are thrown with spin, under gravity, without contact, in one
thread. Each method's energy error over the run stands beside its speed: a fast step is
worth what it gets right. MuJoCo (the extra ``bench``) has the same bodies and step.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from humans_sim.bodies import BodyState, RigidBodies, of_box
from humans_sim.bodies.motion import STEPS

RATE = 240.0
GRAVITY = np.array([0.0, 0.0, -9.81])


def scene(count: int) -> tuple[RigidBodies, BodyState, np.ndarray]:
    """Boxes in the air, and their sizes."""
    rng = np.random.default_rng(7)
    sizes = rng.uniform(0.1, 0.3, (count, 3))
    bodies = RigidBodies([of_box(1.0, tuple(size)) for size in sizes])
    state = bodies.state(
        rng.uniform(-50.0, 50.0, (count, 3)),
        velocities=rng.normal(size=(count, 3)),
        spins=rng.normal(scale=3.0, size=(count, 3)),
    )
    return bodies, state, sizes


def run_library(method: str, bodies: RigidBodies, state: BodyState, steps: int) -> None:
    """Time one of the methods."""
    weight = bodies.masses[:, None] * GRAVITY

    def forces(t: float, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
        return weight, np.zeros_like(state.L)

    def energy(state: BodyState) -> np.ndarray:
        height = np.einsum("n,ni,i->n", bodies.masses, state.x, GRAVITY)
        return bodies.kinetic_energy(state) - height

    step, now, h = STEPS[method], state, 1.0 / RATE
    step(bodies, state, forces, 0.0, h)  # compiled
    begun = time.perf_counter()
    for k in range(steps):
        now = step(bodies, now, forces, k * h, h)
    taken = time.perf_counter() - begun
    error = np.abs(energy(now) - energy(state)).max()
    print_row(method, steps, taken, error)


def print_row(name: str, steps: int, taken: float, error: float) -> None:
    """Print a line."""
    print(
        f"{name:22s} {steps / RATE / taken:7.1f} x real time  "
        f"{1e3 * taken / steps:6.2f} ms a step  largest energy error {error:.1e} J",
        flush=True,
    )


def mujoco(
    bodies: RigidBodies, state: BodyState, sizes: np.ndarray, steps: int
) -> None:
    """The same bodies in MuJoCo, with its two explicit integrators."""
    try:
        import mujoco as mj
    except ImportError:
        print("MuJoCo is not installed: make bench")
        return
    spins = bodies.spins(state)
    speeds = bodies.velocities(state)
    for name in ("Euler", "RK4"):
        parts = [
            f'<body pos="{x[0]} {x[1]} {x[2]}"><freejoint/><geom type="box" '
            f'size="{a / 2} {b / 2} {c / 2}" mass="1" contype="0" conaffinity="0"/>'
            "</body>"
            for x, (a, b, c) in zip(state.x, sizes, strict=True)
        ]
        xml = (
            f'<mujoco><option timestep="{1 / RATE}" integrator="{name}"/>'
            f"<worldbody>{''.join(parts)}</worldbody></mujoco>"
        )
        model = mj.MjModel.from_xml_string(xml)
        model.opt.enableflags |= mj.mjtEnableBit.mjENBL_ENERGY
        data = mj.MjData(model)
        data.qvel[:] = np.concatenate([speeds, spins], axis=1).ravel()
        mj.mj_forward(model, data)
        start = data.energy.sum()
        begun = time.perf_counter()
        for _ in range(steps):
            mj.mj_step(model, data)
        taken = time.perf_counter() - begun
        mj.mj_forward(model, data)
        # of all bodies together: MuJoCo reports no more
        print_row(f"MuJoCo {name} (all)", steps, taken, abs(data.energy.sum() - start))


def main() -> None:
    """Measure and print."""
    numbers = [float(word) for word in sys.argv[1:]]
    count, seconds = numbers + [1000.0, 5.0][len(numbers) :]
    bodies, state, sizes = scene(int(count))
    steps = round(seconds * RATE)
    print(f"{int(count)} free bodies, {RATE:g} Hz, {seconds:g} s, one thread")
    for method in STEPS:
        run_library(method, bodies, state, steps)
    mujoco(bodies, state, sizes, steps)


if __name__ == "__main__":
    main()
