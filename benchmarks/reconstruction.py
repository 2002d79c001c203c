# SPDX-License-Identifier: Apache-2.0
"""Postures from 41 markers, frame by frame: ours beside OpenSim, in one run.

The trial is a walk made here, its markers noisy by 5 mm, or one from files:
``--static`` measures the person, ``--trial`` is reconstructed. OpenSim (``pip install
opensim``; not for Linux on arm64) gets our model, markers, weights and limits, and its
default accuracy; it starts from our first posture, so that it need not search for it.
Without OpenSim our figures stand alone.

Rows:

* ours: postures of prepared markers, mode static, robust against swapped markers; the
  same with standard deviations of all angles; and with plain squares, which is what
  OpenSim minimises;
* OpenSim tool: its InverseKinematicsTool, what users run;
* OpenSim solver: its InverseKinematicsSolver, the loop alone, called frame by frame;
* the tool and the solver on a model of OpenSim's own, if one is given: ``--osim``.

Frames a second leave out what comes before them: we search the first posture from
nowhere, OpenSim is given it, and its tool reads its files. That is a column of its own,
and "whole" compares everything. A frame's time is the median, the tool's the mean.

Everything is compiled before it is timed; rounds of the contenders alternate, and the
best round counts. Distances are over all markers, rejected ones included. Exits with 1
if our median is 0.5 ms or more, or if we are less than 20 times as fast as OpenSim's
tool or solver on our model. On a busy machine ``--cpu`` counts the time of this process
instead of the clock's: long frames are interrupted more often than short ones.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.synthetic import Motion, synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibrate import calibrate
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.search_settings import SolverSettings

try:
    from peers import opensim_markers as peer
except ImportError:
    peer = None  # type: ignore[assignment]

SET = "rajagopal"
SPEED, STRIDE, NOISE, DURATION = 1.3, 1.1, 0.005, 2.4
"""Of the walk [m/s, s, m, s]."""
SLOWEST = 0.5e-3
"""Median time that a frame may take [s]."""
TIMES_FASTER = 20.0
SAME = 1e-9
"""How far OpenSim may have a marker from ours in the same posture [m]."""


Clock = Callable[[], float]
Times = tuple[float, float, float, float]


class Contender(NamedTuple):
    """What is timed.

    Attributes:
        name: for the table.
        call: gives times of the first frame and all before it, of the others, of a
            usual one [s], and the rms distance [m].
        judged: whether we must be faster by ``TIMES_FASTER``.
    """

    name: str
    call: Callable[[], Times]
    judged: bool = False


def walking(model: hs.Model) -> Motion:
    """A walk along x: hips, knees, ankles, shoulders and elbows swing."""
    place = {name: 7 + i for i, name in enumerate(model.joint_names)}

    def posture(t: float) -> np.ndarray:
        q = model.neutral()
        q[0] = SPEED * t
        for side, start in (("l", 0.0), ("r", math.pi)):
            phase = 2 * math.pi * t / STRIDE + start
            q[place[f"{side}_hip_pitch"]] = 0.1 + 0.4 * math.sin(phase)
            q[place[f"{side}_knee"]] = -0.5 * (1 + math.cos(phase))
            q[place[f"{side}_ankle_pitch"]] = 0.15 * math.cos(phase)
            q[place[f"{side}_shoulder_pitch"]] = -0.35 * math.sin(phase)
            q[place[f"{side}_elbow_pitch"]] = 0.4 - 0.2 * math.sin(phase)
        return q

    return posture


def subject(
    trial: Path | None, static: Path | None
) -> tuple[hs.Model, MarkerSet, MarkerTrial]:
    """Model, markers that move with it, trial; made here where no files are given."""
    model = hs.load_model("human36")
    marker_set = load_marker_set(SET, model)
    aliases = {m.name: m.aliases for m in marker_set.markers}
    if static is not None:
        still = PipelineSettings(fill=False, filter=False)
        standing = prepare(read_markers(static), still, marker_set.names, aliases).trial
        person = calibrate(model, standing, SET).subject
        model, marker_set = person.model(), person.marker_set()
    marker_set = marker_set.of(m.name for m in marker_set.markers if not m.calibration)
    if trial is None:
        made = synthetic_trial(
            model, marker_set, walking(model), duration=DURATION, noise=NOISE
        )
        return model, marker_set, made
    read = read_markers(trial)
    return model, marker_set, prepare(read, None, marker_set.names, aliases).trial


def ours(
    model: hs.Model,
    trial: MarkerTrial,
    marker_set: MarkerSet,
    settings: SolverSettings,
    clock: Clock,
) -> Times:
    """The whole call; it times its frames itself, a few at a time, by the wall."""
    begun, wall = clock(), perf_counter()
    result = solve_postures(
        model, trial, marker_set, settings=settings, uncertainty=False
    )
    seconds, wall = clock() - begun, perf_counter() - wall
    frames = result.solve_times * seconds / wall
    rms = math.sqrt(np.nanmean(result.residuals**2))
    rest = float(frames.sum())
    return seconds - rest, rest, float(np.median(frames)), rms


def uncertain(
    model: hs.Model, trial: MarkerTrial, marker_set: MarkerSet, clock: Clock
) -> Times:
    """Ours with standard deviations: what they add is shared among the frames."""
    first, rest, frame, rms = ours(model, trial, marker_set, SolverSettings(), clock)
    begun = clock()
    solve_postures(model, trial, marker_set)
    added = clock() - begun - first - rest
    return first, rest + added, frame + added / len(trial), rms


def contenders(
    model: hs.Model,
    marker_set: MarkerSet,
    trial: MarkerTrial,
    osim: Path | None,
    folder: Path,
    clock: Clock,
) -> list[Contender]:
    """Ours, then OpenSim's where it is installed."""
    usual, plain = SolverSettings(), SolverSettings(outlier=math.inf)
    found = [
        Contender("ours", lambda: ours(model, trial, marker_set, usual, clock)),
        Contender("ours, with std", lambda: uncertain(model, trial, marker_set, clock)),
        Contender(
            "ours, squares", lambda: ours(model, trial, marker_set, plain, clock)
        ),
    ]
    if peer is None:
        return found
    first = solve_postures(model, trial.samples(slice(0, 1)), marker_set)
    (folder / "same").mkdir()
    same = peer.same_model(model, marker_set, trial, first.q[0], folder / "same", clock)
    expected = first.trial.positions[0] - first.differences[0]
    off = np.abs(peer.marker_places(same, trial.names) - expected)
    if np.nanmax(off) > SAME:
        raise RuntimeError(f"OpenSim's model differs by {np.nanmax(off):.1e} m")
    found += [
        Contender("OpenSim tool", same.tool, True),
        Contender("OpenSim solver", same.solver, True),
    ]
    if osim is not None:
        (folder / "own").mkdir()
        own = peer.own_model(osim, marker_set, trial, folder / "own", clock)
        what = f"{own.freedom} dof, {own.markers} markers"
        found += [
            Contender(f"tool, {what}", own.tool),
            Contender(f"solver, {what}", own.solver),
        ]
    return found


def arguments() -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trial", type=Path, help="markers of a motion (.trc, .c3d)")
    parser.add_argument("--static", type=Path, help="the same person standing still")
    parser.add_argument(
        "--osim", type=Path, help="a scaled OpenSim model of the person"
    )
    parser.add_argument("--cpu", action="store_true", help="time of this process")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> int:
    """Print a table; returns the exit code."""
    options, console = arguments(), Console()
    clock = process_time if options.cpu else perf_counter
    model, marker_set, trial = subject(options.trial, options.static)
    n, m = trial.positions.shape[:2]
    best: dict[str, Times] = {}
    with tempfile.TemporaryDirectory() as folder:
        tried = contenders(model, marker_set, trial, options.osim, Path(folder), clock)
        for entry in tried[:3]:
            entry.call()  # compiled before it is timed
        for _ in range(options.rounds):
            for entry in tried:
                answer = entry.call()
                if entry.name not in best or answer[1] < best[entry.name][1]:
                    best[entry.name] = answer
    name = "a walk made here" if options.trial is None else options.trial.name
    table = Table(
        "contender",
        title=f"{name}: {n} frames, {m} markers, {model.nv} coordinates; "
        f"{'processor' if options.cpu else 'wall'} time, "
        f"{platform.machine()}, Python {platform.python_version()}"
        + (f", OpenSim {peer.VERSION}" if peer else ""),
        title_justify="left",
    )
    for column in (
        "frames/s",
        "ms",
        "first",
        "rms mm",
        "faster",
        "whole",
    ):
        table.add_column(column, justify="right")
    us = best["ours"]
    missed = us[2] >= SLOWEST
    for entry in tried:
        first, rest, frame, rms = best[entry.name]
        ratio = rest / us[1]
        table.add_row(
            entry.name,
            f"{n / rest:.1f}",
            f"{1e3 * frame:.3f}",
            f"{1e3 * first:.0f}",
            f"{1e3 * rms:.2f}",
            f"{ratio:.1f} x",
            f"{(first + rest) / (us[0] + us[1]):.1f} x",
        )
        missed |= entry.judged and ratio < TIMES_FASTER
    console.print(table)
    if peer is None:
        console.print("OpenSim is not installed here: ours stands alone.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
