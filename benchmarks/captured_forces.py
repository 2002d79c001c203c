# SPDX-License-Identifier: Apache-2.0
"""Forces of walks: markers alone against force plates, and plates against torques.

With recordings (``--static``, ``--walk``, ``--marker-set``, and ``--force-file`` if the
walk has no plates of its own) the person is measured from the static trial and the
walk. Rows show how the vertical force from markers alone agrees with the plates, foot
by foot and in sum, and what is left over at the base with the plates, without and with
the shift that reduces it. Without recordings, a human walks by torques in a simulation
(scenario ``human-walk``); its contact forces serve as plates, and a row shows how the
torques of inverse dynamics agree with those that made it walk.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.analysis.force_comparison import residual_summary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.applications.person import calibrate_recordings
from humans_sim.observation.markers.filters import zero_phase
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction

CUTOFF = 6.0
JOINTS = ("hip_pitch", "hip_roll", "knee", "ankle_pitch")


def recorded(options: argparse.Namespace, console: Console) -> None:
    """A recorded walk."""
    files = [options.static, options.walk]
    subject = calibrate_recordings(files, options.marker_set).subject
    result = hs.reconstruct(subject.model(), options.walk, subject.marker_set())
    plates = (
        None if options.force_file is None else hs.read_force_file(options.force_file)
    )
    table = Table(title=f"{options.walk.name}: vertical force, markers alone")
    for column in ("plates' low pass", "what", "r", "rms [% weight]", "frames"):
        table.add_column(column)
    for cutoff, words in ((None, f"{CUTOFF:g} Hz"), (0.0, "none")):
        compared = hs.compare_with_plates(result, plates, plate_cutoff=cutoff)
        rows = {**compared.feet, "feet": compared.vertical, "sum": compared.total}
        for name, row in rows.items():
            rms, frames = f"{100 * row.rms:.1f}", str(row.frames)
            table.add_row(words, name, f"{row.correlation:.3f}", rms, frames)
    console.print(table)
    for note in compared.plates.notes:
        console.print(note)
    console.print(
        f"mass by the plates {compared.mass:.1f} kg; "
        f"plates cover {100 * compared.covered:.0f} % of the frames"
    )
    for reduced in (False, True):
        forces = hs.inverse_dynamics(result, plates, reduce_residual=reduced)
        left = residual_summary(forces)
        shift = 1e3 * np.abs(forces.shift).max()
        console.print(
            f"residual force x y z {_percent(left.force_rms)} % of body weight rms, "
            f"whole vector {100 * left.force_norm_rms:.1f}, "
            f"largest {100 * left.force_max:.1f}; "
            f"moment {100 * left.moment_norm_rms:.1f} % of body weight times stature"
            + (f"; with a shift of up to {shift:.1f} mm" if reduced else "")
        )


def simulated(console: Console) -> None:
    """A simulated walk: torques are known."""
    run = hs.simulate("human-walk", t_end=2.6)
    motion = RunMotion.of_run(run)
    model, n = motion.model, len(run.t)
    plates = []
    for sole in motion.soles:
        forces = sole.forces[
            :, :, [1, 2, 0]
        ]  # normal and tangents, on the world's axes
        total = forces.sum(axis=1)
        moment = np.cross(sole.points, forces).sum(axis=1)
        lift = np.where(total[:, 2] > 20.0, total[:, 2], np.nan)
        point = np.stack([-moment[:, 1], moment[:, 0], 0.0 * lift], 1) / lift[:, None]
        torque = np.nan_to_num(moment - np.cross(point, total))
        plates.append(hs.GroundReaction(sole.name, run.t, total, point, torque))
    tags = np.array([model.tags(q)[:-1] for q in run.q])
    trial = MarkerTrial(model.tag_names, run.t, tags, np.arange(1, n + 1))
    blank = np.zeros(tags.shape)
    result = Reconstruction(
        model,
        trial,
        run.q,
        blank,
        np.zeros(tags.shape[:2], dtype=np.uint8),
        np.ones(n, dtype=bool),
        np.ones(n, dtype=int),
        np.zeros(n),
        (),
        "static",
    )
    compared = hs.compare_with_plates(result, plates, mass=model.mass)
    forces_of = compared.plates
    rows = forces_of.measured & forces_of.inner
    expected = zero_phase(run.torques[:, 6:], trial.rate, CUTOFF)
    table = Table(title="a simulated walk: torques with plates [N m]")
    for column in ("joint", "rms of the walk", "rms of the difference"):
        table.add_column(column)
    for name in (f"{side}_{joint}" for joint in JOINTS for side in "lr"):
        k = model.joint_names.index(name)
        true = expected[rows, k]
        error = forces_of.torques[rows, k] - true
        table.add_row(name, f"{_rms(true):.2f}", f"{_rms(error):.2f}")
    console.print(table)
    vertical = compared.vertical
    console.print(
        f"vertical force, markers alone: r {vertical.correlation:.3f}, "
        f"{100 * vertical.rms:.1f} % of body weight rms"
    )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _percent(values: np.ndarray) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values)


def main() -> None:
    """Read the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--static", type=Path, help="a trial of standing still")
    parser.add_argument("--walk", type=Path, help="the walk")
    parser.add_argument("--marker-set", help="name or file of the marker set")
    parser.add_argument("--force-file", type=Path, help="forces of the ground (.mot)")
    options = parser.parse_args()
    console = Console()
    if options.walk is None:
        simulated(console)
    elif options.static is None or options.marker_set is None:
        parser.error("a walk needs --static and --marker-set")
    else:
        recorded(options, console)


if __name__ == "__main__":
    main()
