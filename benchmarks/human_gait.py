# SPDX-License-Identifier: Apache-2.0
"""How Human36 walks: speed, joint curves beside normal gait, ground forces, falls.

At each speed the human walks by torques. Curves of hip, knee and ankle are means over
its strides, compared with normal gait in numbers (Perry and Burnfield) and, where
recordings are given (``--static``, ``--walk``, ``--marker-set``, ``--force-file``),
with the walk of a person: correlation r and rms [degrees]. A stride begins where a foot
comes to bear load, by the contacts in the simulation, by the plates of the recording.
Vertical forces are low-passed at 15 Hz, as those of force plates are; the largest one
just after a strike ("strike") also as it is, in time steps of 1 ms. ``--slopes`` climbs
[degrees], ``--turns`` walks on circles [rad/s], where the speed is that of the chord,
``--rises`` on stairs whose treads are a step long [m].
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.analysis.footfalls import PERCENT, Stride
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.person import calibrate_recordings
from humans_sim.control.gait.gait_cycle import GaitCycle, GaitSettings
from humans_sim.control.gait.gait_walk import GaitWalk
from humans_sim.control.gait.leg_fit import normal_angles
from humans_sim.models import Model
from humans_sim.observation.markers.filters import zero_phase

JOINTS = (("hip_pitch", 1.0), ("knee", -1.0), ("ankle_pitch", 1.0))
"""Joints and the sign of flexion."""
CUTOFF, LOADED = 15.0, 20.0
"""Of forces [Hz]; force from which a foot bears load [N]."""


def strides(side: str, t: np.ndarray, force: np.ndarray) -> list[Stride]:
    """From one loading of a foot to the next, 0.2 s in the air between them."""
    found: list[float] = []
    bears = t[force > LOADED]
    for before, time in zip(bears[:-1], bears[1:], strict=True):
        if time - before > 0.2:
            found.append(float(time))
    if len(bears) and bears[0] > t[0]:
        found.insert(0, float(bears[0]))
    pairs = zip(found[:-1], found[1:], strict=True)
    return [Stride(side, start, end) for start, end in pairs]


def mean_curves(
    model: Model, t: np.ndarray, q: np.ndarray, found: list[Stride]
) -> np.ndarray:
    """Mean flexion of hip, knee and ankle over strides (3, 101) [degrees]."""
    means = []
    for joint, sign in JOINTS:
        curves = []
        for stride in found:
            row = 7 + model.joint_names.index(f"{stride.side}_{joint}")
            curves.append(stride.curve(t, sign * np.degrees(q[:, row])))
        means.append(np.mean(curves, axis=0))
    return np.array(means)


def recorded(options: argparse.Namespace) -> np.ndarray:
    """The same of a recorded walk."""
    files = [options.static, options.walk]
    subject = calibrate_recordings(files, options.marker_set).subject
    result = hs.reconstruct(subject.model(), options.walk, subject.marker_set())
    found = []
    for plate in hs.read_force_file(options.force_file):
        force = np.abs(plate.force).max(axis=1)
        found += strides(plate.name[-1], plate.times, force)
    return mean_curves(result.model, result.t, result.q, found)


def foot_load(model: Model, run: hs.Run, side: str) -> np.ndarray:
    """Vertical force on a foot (n,) [N]."""
    names = [n for n in model.contact_names if n.startswith(side)]
    rows = [k for k, n in enumerate(run.table.names) if n.split("/")[0] in names]
    return np.asarray(run.forces[:, rows, 0].sum(axis=1))


def knee_range(model: Model, run: hs.Run) -> tuple[float, float, float]:
    """Flexion of the left knee [degrees]: stance least and most, swing most.

    Stance is while the other foot is in the air: after loading, before push-off.
    """
    knee = -np.degrees(run.joint("l_knee"))
    alone = foot_load(model, run, "r") <= 0.0
    alone &= foot_load(model, run, "l") > 0.0
    return float(knee[alone].min()), float(knee[alone].max()), float(knee.max())


def humps(run: hs.Run) -> tuple[float, float, float]:
    """Vertical force of a foot over the weight: first peak, trough, second peak."""
    model = hs.load_model("human36")
    load = foot_load(model, run, "l")
    force = load / (model.mass * 9.81)
    rate = 1.0 / float(np.mean(np.diff(run.t)))
    force = zero_phase(force[:, None], rate, CUTOFF)[:, 0]
    found = []
    for stride in strides("l", run.t, load):
        stance = stride.curve(run.t, force)[:63]
        middle = 20 + int(np.argmin(stance[20:42]))
        found.append((stance[:middle].max(), stance[middle], stance[middle:].max()))
    first, trough, second = np.median(found, axis=0)
    return float(first), float(trough), float(second)


def strike_force(model: Model, run: hs.Run, found: list[Stride]) -> float:
    """Largest vertical force in the first 15 % of a stride over the weight, median."""
    loads = {side: foot_load(model, run, side) for side in ("l", "r")}
    largest = []
    for stride in found:
        early = stride.start + 0.15 * (stride.end - stride.start)
        rows = (run.t >= stride.start) & (run.t < early)
        largest.append(loads[stride.side][rows].max())
    return float(np.median(largest)) / (model.mass * 9.81)


def main() -> None:
    """Walk at each speed, on each slope, and print a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speeds", type=float, nargs="+", default=[1.0])
    parser.add_argument("--slopes", type=float, nargs="+", default=[0.0])
    parser.add_argument("--turns", type=float, nargs="+", default=[0.0])
    parser.add_argument("--rises", type=float, nargs="+", default=[0.0])
    parser.add_argument("--strides", type=float, default=10.5)
    parser.add_argument("--method", default="time_stepping")
    parser.add_argument("--static", type=Path)
    parser.add_argument("--walk", type=Path)
    parser.add_argument("--marker-set")
    parser.add_argument("--force-file", type=Path)
    parser.add_argument("--save", type=Path, help="file for the last run")
    options = parser.parse_args()
    console = Console(width=150)
    model = hs.load_model("human36")
    normals = {"normal": normal_angles(PERCENT / 100.0)}
    if options.walk is not None:
        normals["recorded"] = recorded(options)
    table = Table(title=f"Human36 walks, {options.method}")
    for name in ("wanted", "speed", "strides", "beside", "r hip, knee, ankle"):
        table.add_column(name)
    for name in ("rms [deg]", "knee stance, swing", "force / weight", "strike", "cost"):
        table.add_column(name)
    table.add_column("check")
    places = options.slopes, options.turns, options.rises
    for speed, slope, turn, rise in itertools.product(options.speeds, *places):
        angle = math.radians(slope)
        settings = GaitSettings(speed=speed, slope=angle, turn=turn, rise=rise)
        cycle = GaitCycle(model, settings)
        walk, ground = GaitWalk(cycle), hs.Ground.slope(angle)
        if rise:
            ground = hs.Ground(solids=cycle.stairs(math.ceil(2 * options.strides) + 1))
        simulation = hs.Simulation(
            model,
            hs.IdealTorque(model),
            walk,
            method=options.method,
            ground=ground,
            stands=True,
        )
        end = options.strides * walk.cycle.period
        start = walk.start(), walk.start_velocity()
        try:
            run = simulation.run(*start, t_end=end, sampling_period=0.005)
        except hs.errors.SimulationError as error:
            console.print(f"{speed} m/s, {slope} deg, {turn} rad/s, {rise} m: {error}")
            continue
        summary = WalkSummary.of_run(run)
        found = [
            stride
            for side in ("l", "r")
            for stride in strides(side, run.t, foot_load(model, run, side))
        ]
        curves = mean_curves(model, run.t, run.q, found)
        bends = "{:.0f} to {:.0f}, {:.0f}".format(*knee_range(model, run))
        forces = " ".join(f"{value:.2f}" for value in humps(run))
        check = (
            "clean" if run.check() else ", ".join(f.name for f in run.check().failed)
        )
        for beside, normal in normals.items():
            pairs = list(zip(curves, normal, strict=True))
            r = " ".join(f"{np.corrcoef(a, b)[0, 1]:.3f}" for a, b in pairs)
            rms = " ".join(f"{np.sqrt(np.mean((a - b) ** 2)):.1f}" for a, b in pairs)
            table.add_row(
                f"{speed:g} m/s, {slope:g} deg, {turn:g} rad/s, {rise:g} m",
                f"{summary.speed:.3f}",
                f"{len(found)}",
                beside,
                r,
                rms,
                bends,
                forces,
                f"{strike_force(model, run, found):.2f}",
                f"{summary.cost_of_transport:.2f}",
                check,
            )
        if options.save is not None:
            run.save(options.save)
    console.print(table)


if __name__ == "__main__":
    main()
