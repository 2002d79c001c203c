# SPDX-License-Identifier: Apache-2.0
"""Speed of networks (link updates a second) and of pin screens (samples a second).

Run it as ``python benchmarks/soft_things.py``; one core is used. The block of springs
is also a flex of MuJoCo (requirements/bench.lock), springs along its edges.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec

import numpy as np

import humans_sim.soft as soft


def seconds(call, repeats: int) -> float:
    """Shortest processor time of a call [s]."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def networks(steps: int, repeats: int) -> None:
    """A block of springs, and one of stops."""
    laws = {
        "springs": soft.ViscoSpring(10.0, 0.001),
        "stops": soft.Stop(0.2, 10, 0.001),
    }
    for name, law in laws.items():
        network = soft.box((12, 12, 12), 0.1, 0.01, law)
        run = soft.NetworkSimulation(network, 1e-4)
        links = len(network.links)
        run.step()
        spent = seconds(lambda run=run: [run.step() for _ in range(steps)], repeats)
        print(
            f"network of {len(network.masses)} masses, {links} {name}: "
            f"{steps * links / spent:.3g} link updates/s"
        )


def flex(repeats: int) -> None:
    """The same block of springs as a flex of MuJoCo, contacts and gravity off."""
    import mujoco

    network = soft.box((12, 12, 12), 0.1, 0.01, soft.ViscoSpring(10.0, 0.001))
    points = " ".join(f"{x:.6g}" for p in network.positions for x in p)
    ends = " ".join(f"{link.ends[0]} {link.ends[1]}" for link in network.links)
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco><option timestep="1e-4" gravity="0 0 0">
        <flag contact="disable" constraint="disable"/></option>
      <worldbody><flexcomp name="block" type="direct" dim="1" mass="17.28"
        radius="0.001" point="{points}" element="{ends}">
        <edge stiffness="10" damping="0.001"/><contact selfcollide="none"/>
      </flexcomp></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[:] = 0.01 * np.random.default_rng(0).normal(size=model.nv)
    mujoco.mj_step(model, data)
    spent = seconds(lambda: [mujoco.mj_step(model, data) for _ in range(20)], repeats)
    rate = 20 * model.nflexedge / spent
    print(f"MuJoCo {mujoco.__version__}, {model.nflexedge} edges: {rate:.3g} a second")


def crowd(steps: int, repeats: int) -> None:
    """Grains in a heap."""
    rng = np.random.default_rng(0)
    network = soft.Network()
    cells = np.stack(np.meshgrid(*[np.arange(10.0)] * 3), axis=-1).reshape(-1, 3)
    grains = [
        network.add_mass(0.001, 0.0095 * cell + rng.normal(0, 1e-4, 3))
        for cell in cells
    ]
    network.add_crowd(grains, soft.Stop(0.01, 100.0, 0.02))
    run = soft.NetworkSimulation(network, 1e-3)
    run.step()
    spent = seconds(lambda: [run.step() for _ in range(steps)], repeats)
    print(f"crowd of 1000 grains: {steps / spent:.3g} samples/s (thesis: 1050 Hz)")


def screens(pins_moved: int, repeats: int) -> None:
    """Screens of several sizes, plain and with viscous neighbours."""
    for side in (100, 512):
        for name in ("IV", "V"):
            screen = soft.PinScreen((side, side), soft.design(name, 2))
            screen.set(np.random.default_rng(0).normal(0, 0.01, (side, side)))
            screen.run(2)
            steps = max(1, pins_moved // side**2)
            spent = seconds(lambda s=screen, n=steps: s.run(n), repeats)
            pins = f"{side} x {side} pins, prototype {name}"
            print(f"{pins}: {steps / spent:.4g} samples/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="of networks, at a time")
    parser.add_argument("--pins", type=int, default=20_000_000, help="at a time")
    parser.add_argument(
        "--repeats", type=int, default=5, help="of which the best counts"
    )
    given = parser.parse_args()
    networks(given.steps, given.repeats)
    if find_spec("mujoco") is None:
        print("MuJoCo: not installed")
    else:
        flex(given.repeats)
    crowd(given.steps, given.repeats)
    screens(given.pins, given.repeats)
