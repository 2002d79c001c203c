# SPDX-License-Identifier: Apache-2.0
"""Real tosses of a cube: our time stepping beside MuJoCo, both fitted the same way.

    python benchmarks/cube_tosses.py --data cube_tosses.npz [--fit] [--figure PNG]

The file holds tosses of an acrylic cube on a table: ``offsets`` (first frame of each),
``position``, ``quaternion_xyzw``, ``velocity`` (world), ``angular_velocity_body``,
``dt``; the ContactNets data set (Pfrommer, Halm and Posa 2020) in SI units.

Each toss is simulated from its first frame. Its position error is the mean distance of
the centres over the frames [cube widths], its angle error the mean angle between the
orientations [degrees]. Both simulators are fitted on the even tosses and judged on the
odd ones. The fit lowers the mean of position error + half the angle error [rad], which
is about how far the faces of the cube are off, by a search over a grid and then by
Nelder and Mead's method; MuJoCo, the cheaper one, gets more simulations.

- ours: friction and restitution of the ground;
- MuJoCo (the extra ``bench``): friction, and what stands for restitution there: time
  constant and damping ratio (``solref``) and impedance (``solimp``); elliptic cones.

Without ``--fit`` the parameters of the last fit are used. The exit code is 1 where
MuJoCo is nearer to the held-back tosses in position or in angle.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem

HALF, MASS, INERTIA = 0.0524, 0.37, 8.1e-4
"""Half the cube's width [m], mass [kg] and inertia about each axis [kg m^2], as the
authors of the data give them: the cube is a shell, a solid one had 6.8e-4 kg m^2."""
CORNERS = HALF * np.array(list(itertools.product((-1, 1), repeat=3)))
SUBSTEPS = 7
"""Steps in a frame of 6.76 ms."""
SEARCHES, MUJOCO_SEARCHES = 40, 100
"""Simulations of all fitting tosses in Nelder and Mead's method."""

FITTED = (0.1777, 0.0504)
"""Friction and restitution of the last fit."""
MUJOCO_FITTED = (0.1795, 0.0031, 1.4359, 0.8399)
"""Friction, time constant [s], damping ratio and impedance of the last fit."""
GRID = tuple(itertools.product((0.16, 0.18, 0.20), (0.0, 0.05, 0.125)))
MUJOCO_GRID = tuple(
    itertools.product(
        (0.16, 0.18, 0.20), (0.003, 0.006, 0.015), (0.7, 1.0, 1.4), (0.9, 0.99)
    )
)


class Toss(NamedTuple):
    """A recorded toss: positions [m] and orientations of its frames, first velocity."""

    position: np.ndarray
    orientation: Rotation
    velocity: np.ndarray
    period: float


class TossErrors(NamedTuple):
    """Mean errors of each toss: position [cube widths] and angle [degrees]."""

    position: np.ndarray
    angle: np.ndarray

    @property
    def cost(self) -> float:
        """What the fit lowers: about how far the faces are off [cube widths]."""
        return float(np.mean(self.position + 0.5 * np.radians(self.angle)))


Simulator = Callable[[Toss], tuple[np.ndarray, np.ndarray]]
"""From a toss to positions and quaternions (x, y, z, w) of its frames."""


def read(path: Path) -> list[Toss]:
    """All tosses of a file."""
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    bounds, tosses = arrays["offsets"], []
    for first, end in itertools.pairwise(bounds):
        turned = Rotation.from_quat(arrays["quaternion_xyzw"][first:end])
        position = arrays["position"][first:end].copy()
        twist = (arrays["velocity"][first], arrays["angular_velocity_body"][first])
        tosses.append(
            Toss(position, turned, np.concatenate(twist), float(arrays["dt"]))
        )
    return tosses


def first_place(toss: Toss) -> np.ndarray:
    """Where the cube begins: out of the table, where the recording has it inside."""
    place = toss.position[0].copy()
    lowest = float((toss.orientation[0].apply(CORNERS)[:, 2] + place[2]).min())
    place[2] -= min(0.0, lowest)
    return place


def ours(friction: float, restitution: float) -> Simulator:
    """Time stepping of a box on the ground."""
    box = SceneBody.box("cube", MASS, (2 * HALF,) * 3)
    spread = dataclasses.replace(box.properties, inertia=INERTIA * np.eye(3))
    scene = SceneSystem(
        [dataclasses.replace(box, properties=spread)],
        hs.Ground(friction=friction, restitution=restitution),
    )

    def simulate(toss: Toss) -> tuple[np.ndarray, np.ndarray]:
        q = np.array(scene.configuration({"cube": tuple(first_place(toss))}))
        q[3:7] = toss.orientation[0].as_quat()
        simulation = hs.Simulation(
            scene, method="time_stepping", time_step=toss.period / SUBSTEPS
        )
        run = simulation.run(
            q,
            toss.velocity,
            t_end=(len(toss.position) - 1) * toss.period,
            sampling_period=toss.period,
        )
        return run.q[:, :3], run.q[:, 3:7]

    return simulate


_MUJOCO = """
<mujoco>
  <option timestep="{step!r}" gravity="0 0 -9.81" cone="elliptic"/>
  <default>
    <geom condim="3" friction="{friction!r} 0 0" solref="{constant!r} {damping!r}"
      solimp="{impedance!r} {impedance!r} 0.001 0.5 2"/>
  </default>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body>
      <freejoint/>
      <inertial pos="0 0 0" mass="{mass!r}"
        diaginertia="{inertia!r} {inertia!r} {inertia!r}"/>
      <geom type="box" size="{half!r} {half!r} {half!r}"/>
    </body>
  </worldbody>
</mujoco>
"""


def in_mujoco(
    friction: float, constant: float, damping: float, impedance: float
) -> Simulator:
    """The same cube in MuJoCo."""
    import mujoco

    models: dict[float, mujoco.MjModel] = {}

    def simulate(toss: Toss) -> tuple[np.ndarray, np.ndarray]:
        step = toss.period / SUBSTEPS
        if step not in models:
            models[step] = mujoco.MjModel.from_xml_string(
                _MUJOCO.format(
                    step=step,
                    friction=friction,
                    constant=constant,
                    damping=damping,
                    impedance=impedance,
                    mass=MASS,
                    inertia=INERTIA,
                    half=HALF,
                )
            )
        data = mujoco.MjData(models[step])
        data.qpos[:3] = first_place(toss)
        data.qpos[3:] = np.roll(toss.orientation[0].as_quat(), 1)
        data.qvel[:] = toss.velocity
        frames = [data.qpos.copy()]
        for _ in range(len(toss.position) - 1):
            mujoco.mj_step(models[step], data, SUBSTEPS)
            frames.append(data.qpos.copy())
        states = np.array(frames)
        return states[:, :3], np.roll(states[:, 3:], -1, axis=1)

    return simulate


def errors(simulate: Simulator, tosses: Sequence[Toss]) -> TossErrors:
    """Errors of a simulator on some tosses."""
    found = []
    for toss in tosses:
        position, quaternions = simulate(toss)
        away = np.linalg.norm(position - toss.position, axis=1).mean() / (2 * HALF)
        between = Rotation.from_quat(quaternions).inv() * toss.orientation
        found.append((away, np.degrees(between.magnitude().mean())))
    return TossErrors(*np.array(found).T)


def fit(
    name: str,
    simulator: Callable[..., Simulator],
    grid: Sequence[tuple[float, ...]],
    tosses: Sequence[Toss],
) -> tuple[float, ...]:
    """Parameters of the least cost on the tosses: grid on a third of them, then all."""
    limits, searches = ((0.01, 2.0), (0.0, 1.0)), SEARCHES
    if simulator is in_mujoco:
        limits = ((0.01, 2.0), (2e-3, 0.2), (0.05, 5.0), (0.5, 0.999))
        searches = MUJOCO_SEARCHES
    costs = [errors(simulator(*point), tosses[::3]).cost for point in grid]
    best = np.array(grid[int(np.argmin(costs))])
    print(f"{name}: best of the grid {best.round(4)}", flush=True)

    def cost(point: np.ndarray) -> float:
        value = errors(simulator(*point.tolist()), tosses).cost
        print(f"  {name} {np.round(point, 4)}: {value:.4f}", flush=True)
        return value

    sides = [best]
    for axis in range(len(best)):
        side = best.copy()
        side[axis] = side[axis] * 0.95 if side[axis] > 0.0 else 0.03
        sides.append(side)
    result = minimize(
        cost,
        best,
        method="Nelder-Mead",
        bounds=limits,
        options={"initial_simplex": np.array(sides), "maxfev": searches},
    )
    return tuple(float(value) for value in result.x)


def draw(path: Path, ours_errors: TossErrors, others: TossErrors) -> None:
    """Errors of the held-back tosses, sorted, and toss by toss."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    labels = ("position error [cube widths]", "angle error [degrees]")
    for axis, label, mine, other in zip(axes, labels, ours_errors, others, strict=True):
        share = np.arange(1, len(mine) + 1) / len(mine)
        axis.plot(np.sort(mine), share, color="#0b6e99", label="humans_sim")
        axis.plot(np.sort(other), share, color="#d1702e", label="MuJoCo")
        for values, colour in ((mine, "#0b6e99"), (other, "#d1702e")):
            axis.axvline(values.mean(), color=colour, linestyle=":", linewidth=1)
        axis.set_xlabel(label)
        axis.set_ylabel("share of the tosses")
        axis.set_ylim(0, 1)
        axis.set_xlim(0)
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower right", title="dotted: means", frameon=False)
    figure.savefig(path, dpi=110)


def main() -> int:
    """Print the table; 0 where ours is nearer in position and in angle."""
    parser = argparse.ArgumentParser(description="Real tosses of a cube.")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--fit", action="store_true", help="fit both simulators anew")
    parser.add_argument("--figure", type=Path, help="draw the errors into this file")
    options = parser.parse_args()
    path: Path = options.data
    tosses = read(path / "cube_tosses.npz" if path.is_dir() else path)
    fitting, held_back = tosses[::2], tosses[1::2]
    mine, other = FITTED, MUJOCO_FITTED
    if options.fit:
        other = fit("MuJoCo", in_mujoco, MUJOCO_GRID, fitting)
        mine = fit("ours", ours, GRID, fitting)
    rows = [
        ("as measured", ours(0.18, 0.125)),
        ("ours, fitted", ours(*mine)),
        ("MuJoCo, fitted", in_mujoco(*other)),
    ]
    print(f"ours: friction {mine[0]:.4f}, restitution {mine[1]:.4f}")
    print(
        f"MuJoCo: friction {other[0]:.4f}, solref {other[1]:.5f} {other[2]:.4f}, "
        f"solimp {other[3]:.4f}"
    )
    print(f"{'':16} {'fitting half':>22} {'held-back half':>22}")
    judged = []
    for name, simulator in rows:
        halves = [errors(simulator, half) for half in (fitting, held_back)]
        cells = [
            f"{np.mean(e.position):8.4f} w {np.mean(e.angle):7.2f} deg" for e in halves
        ]
        print(f"{name:16}", *(f"{cell:>22}" for cell in cells), flush=True)
        judged.append(halves[1])
    _, ours_errors, others = judged
    for label, a, b in zip(("position", "angle"), ours_errors, others, strict=True):
        difference = b - a
        spread = difference.std(ddof=1) / math.sqrt(len(difference))
        print(
            f"{label}: MuJoCo's error - ours {difference.mean():.4f} +- {spread:.4f}; "
            f"ours less in {int((difference > 0).sum())} of {len(difference)} tosses"
        )
    if options.figure:
        draw(options.figure, ours_errors, others)
    nearer = all(a.mean() < b.mean() for a, b in zip(ours_errors, others, strict=True))
    return 0 if nearer else 1


if __name__ == "__main__":
    sys.exit(main())
