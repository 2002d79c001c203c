# SPDX-License-Identifier: Apache-2.0
"""How far the odometry of walking robots drifts, beside what it says of its error.

Robots walk by their servos; the position observer follows them by joints and soles,
with the attitude of an inertial unit and without. Drift is what is lost per metre
walked and per full turn; errors are compared with the estimate's own covariance.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.analysis.run_comparison import ObservedRun, observe_run
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.observation.base.drift import heading_of

STRIDES = {"khr1": (0.06, 0.02, 0.3), "bip": (0.15, 0.03, 0.08)}
"""Velocities forwards, to the left [m/s] and turning [rad/s] of the robots."""
GOAL = 0.95
"""Share of samples whose error is to lie within three standard deviations."""

_STRIDE = 100
"""Samples that are averaged for a path: 2 s, some strides."""


class Course(NamedTuple):
    """Parts of a walk: metres forwards, metres to the left, angle turned [rad]."""

    name: str
    parts: tuple[tuple[float, float, float], ...]


COURSES = (
    Course("straight", ((0.6, 0.0, 0.0),)),
    Course("sideways", ((0.0, 0.3, 0.0),)),
    Course("turning", ((0.0, 0.0, math.pi),)),
    Course("3 m with a turn", ((1.3, 0, 0), (0.4, 0, math.pi / 2), (1.3, 0, 0))),
)


def walked(name: str, course: Course, share: float, height: float) -> hs.Run:
    """A walk along a share of a course, whose lengths are for a KHR-1."""
    model = hs.load_model(name)
    scale = float(model.neutral()[2]) / height * share
    walker = Walker(model)
    begin, commands = 0.5, []
    for ahead, left, angle in course.parts:
        way = np.array([scale * ahead, scale * left, share * angle])
        time = float(np.max(np.abs(way) / STRIDES[name]))
        commands.append(ScheduledCommand(begin, Velocity(*(way / time))))
        begin += time
    commands.append(ScheduledCommand(begin, None))
    simulation, _ = walking_robot(walker, commands)
    return simulation.run(
        walker.start(), t_end=begin + 1.5, sampling_period=0.02, progress=False
    )


class Drift(NamedTuple):
    """What an estimate lost.

    Attributes:
        distance: walked [m].
        turned: without sign [rad].
        place: error at the end [m].
        heading: error at the end [rad].
        within: shares of samples whose place and rotation, and whose velocity, are
            within three standard deviations in all components.
    """

    distance: float
    turned: float
    place: float
    heading: float
    within: tuple[float, float]


def drift_of(run: hs.Run, seen: ObservedRun) -> Drift:
    """Compare an estimate with the truth."""
    errors, stds = [], []
    for q, estimate in zip(run.q, seen.estimates, strict=True):
        truth, found = pin.XYZQUATToSE3(q[:7]), pin.XYZQUATToSE3(estimate.pose)
        turn = pin.log3(found.rotation @ truth.rotation.T)
        errors.append([*(found.translation - truth.translation), *turn])
        stds.append(np.sqrt(np.diag(estimate.covariance)))
    inside = np.abs(errors) <= 3 * np.array(stds)
    speeds = np.array([estimate.velocity_std for estimate in seen.estimates])
    moving = np.abs(seen.velocity_error) <= 3 * speeds
    # Without the sway from foot to foot.
    stride = np.ones(_STRIDE) / _STRIDE
    path = np.column_stack([np.convolve(x, stride, "valid") for x in run.q[:, :2].T])
    last = np.array(errors[-1])
    turned = [heading_of(pin.Quaternion(q).matrix()) for q in run.q[:, 3:7]]
    return Drift(
        float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()),
        float(np.abs(np.diff(np.unwrap(turned)[::_STRIDE]).sum())),
        float(np.linalg.norm(last[:2])),
        abs(float(last[5])),
        (float(inside.all(axis=1).mean()), float(moving.all(axis=1).mean())),
    )


def main() -> None:
    """Print a table; exit code 1 where an error is not what the covariance says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["khr1"], choices=STRIDES)
    parser.add_argument("--share", type=float, default=1.0, help="of the courses")
    parser.add_argument("--folder", type=Path, help="where runs are kept")
    given = parser.parse_args()
    table = Table("robot", "walk", "inertial unit")
    for title in ("walked", "lost", "[m/m]", "heading lost", "a turn", "pose", "twist"):
        table.add_column(title, justify="right")
    height, missed = float(hs.load_model("khr1").neutral()[2]), False
    for name in given.models:
        for course in COURSES:
            run = kept(name, course, given.share, height, given.folder)
            for led in (False, True):
                model = hs.load_model(name)
                seen = observe_run(model, run, attitude=led)
                found = drift_of(run, seen)
                # Soles that turn on the floor are seen by an inertial unit alone.
                missed |= led and min(found.within) < GOAL
                turns = found.turned / (2 * math.pi)
                table.add_row(
                    *(name, course.name, "yes" if led else "no"),
                    f"{found.distance:.2f} m, {math.degrees(found.turned):.0f}°",
                    f"{1e3 * found.place:.1f} mm",
                    f"{found.place / found.distance:.4f}",
                    f"{math.degrees(found.heading):.2f}°",
                    f"{math.degrees(found.heading) / turns:.2f}°"
                    if turns > 0.1
                    else "",
                    *(f"{100 * share:.1f} %" for share in found.within),
                )
    Console(width=120).print(table)
    raise SystemExit(int(missed))


def kept(
    name: str, course: Course, share: float, height: float, folder: Path | None
) -> hs.Run:
    """A walk, from its file where there is one."""
    if folder is None:
        return walked(name, course, share, height)
    file = folder / f"{name} {course.name} {share:g}.npz"
    if not file.exists():
        walked(name, course, share, height).save(file)
    return hs.load_run(file)


if __name__ == "__main__":
    main()
