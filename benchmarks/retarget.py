# SPDX-License-Identifier: Apache-2.0
"""A person's walk, squat and wave on robots: limits, feet, balance, likeness, time.

python benchmarks/retarget.py --walk walk.trc --static static_walk.trc --urdf g1.urdf
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np

import humans_sim as hs
from humans_sim.applications.example_recordings import (
    HEIGHT,
    MARKER_SET,
    MASS,
    MOTIONS,
    example_markers,
)
from humans_sim.applications.retarget import (
    board_motion,
    captured,
    captured_motion,
    has_boards,
    retarget_person,
)
from humans_sim.applications.retarget_simulation import (
    RetargetTrial,
    simulate_boards,
    simulate_motion,
)
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.control.retargeting.person_motion import SHANK, THIGH, PersonMotion

HEAD = (
    "motion robot player steps time[s] slower speed torque zmp[mm] falls slip[mm] "
    "limbs[deg] arms[deg] legs[deg] frame[ms]"
)


def motions(given: argparse.Namespace) -> dict[str, PersonMotion]:
    """What the person does, by name."""
    found = {}
    if given.walk is not None:
        postures = captured(
            given.walk, marker_set=given.marker_set, static=given.static
        )
        found["walk"] = captured_motion(postures)
    for name in MOTIONS:
        postures = captured(
            example_markers(name), marker_set=MARKER_SET, height=HEIGHT, mass=MASS
        )
        found[name] = captured_motion(postures)
    return found


def drafted(urdf: Path, folder: Path) -> hs.Model:
    """A robot of a bare URDF, its soles found."""
    copy = Path(shutil.copy(urdf, folder))
    if not copy.with_suffix(".yaml").exists():
        draft_robot(copy).save()
    return hs.load_model(copy)


def line(name: str, motion: hs.RobotMotion, player: str, trial: RetargetTrial) -> str:
    """A row of the table."""
    model = motion.model
    speed = (np.abs(motion.v[:, 6:]) / model.velocity_limits).max()
    torque = (np.abs(motion.torques) / model.effort_limits).max()
    parts = {"arms": [], "legs": []}
    for limb, angles in motion.errors.items():
        leg = limb.endswith((THIGH, SHANK))
        parts["legs" if leg else "arms"].append(angles)
    arms, legs = (np.degrees(np.median(np.concatenate(x))) for x in parts.values())
    return (
        f"{name} {model.name} {player} {motion.plan.steps} {motion.duration:.1f} "
        f"{motion.plan.slowdown:.2f} {speed:.2f} {torque:.2f} "
        f"{1e3 * motion.zmp_margin.min():.1f} {int(trial.fallen)} "
        f"{1e3 * trial.slip:.2f} {np.degrees(motion.median_error):.1f} {arms:.1f} "
        f"{legs:.1f} {1e3 * motion.frame_time:.1f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walk", type=Path, help="recording of a walk")
    parser.add_argument("--static", type=Path, help="the same person, standing")
    parser.add_argument("--marker-set", default="rajagopal")
    parser.add_argument("--urdf", type=Path, help="a second robot")
    given = parser.parse_args()
    rows = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        robots = [hs.load_model("khr1")]
        if given.urdf is not None:
            robots.append(drafted(given.urdf, Path(folder)))
        for name, person in motions(given).items():
            for robot in robots:
                retarget_person(person, robot)  # kernels are loaded now
                motion = retarget_person(person, robot)
                trials = {"servos": simulate_motion(motion)}
                if has_boards(robot):
                    poses = board_motion(motion, name)
                    trials["boards"] = simulate_boards(motion, poses)
                rows += [line(name, motion, *trial) for trial in trials.items()]
    table = [row.split() for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(word.ljust(w) for word, w in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
