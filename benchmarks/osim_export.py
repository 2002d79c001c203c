# SPDX-License-Identifier: Apache-2.0
"""Our ``.osim`` and ``.mot`` in OpenSim: are the markers where we have them?

A calibrated person and a motion are written for OpenSim in each convention that has an
``.osim``; OpenSim loads both, takes every coordinate from the motion, and its marker
positions, its mass and its centre of mass are compared with ours. The motion is a walk
from files (``--static``, ``--trial``, ``--marker-set``) or a synthetic one, and as many
postures anywhere within the joint limits.

OpenSim is not for every machine (``pip install opensim``; not for Linux on arm64), so
that the two halves can be run apart: ``write FOLDER`` needs no OpenSim, ``compare
FOLDER`` nothing of ours. Without a word both are done in a folder that is deleted.
Exits with 1 if a marker is more than 1 mm away. Where there is no OpenSim it says so,
compares nothing and exits with 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

CONVENTIONS = ("humans", "opensim", "rajagopal")
LARGEST = 1e-3
"""Distance between OpenSim's markers and ours that is too far [m]."""


def write(folder: Path, arguments: argparse.Namespace) -> None:
    """Write models, motions and our positions."""
    from dataclasses import replace

    import humans_sim as hs
    from humans_sim.models.points import to_humans
    from humans_sim.observation.markers.synthetic import synthetic_trial
    from humans_sim.observation.posture.tree_kernels import marker_bodies

    name = arguments.marker_set
    human = hs.load_model("human36")
    if arguments.static is None:
        trial = synthetic_trial(human, name, duration=1.0, noise=0.003)
        result = hs.reconstruct(human, trial, name)
        subject = hs.Subject(
            human.name,
            1.741,
            human.mass,
            dict(human.parts.lengths),
            hs.load_marker_set(name, human).markers,
        )
    else:
        from humans_sim.applications.person import calibrate_recordings

        subject = calibrate_recordings([arguments.static], name).subject
        result = hs.reconstruct(subject.model(), arguments.trial, subject.marker_set())
    rows = np.linspace(0, len(result.t) - 1, arguments.frames).astype(int)
    rng = np.random.default_rng(0)
    q = [result.q[row] for row in rows]
    q += [result.model.random_configuration(rng) for _ in rows]
    motion = replace(
        result,
        trial=replace(
            result.trial,
            times=np.arange(len(q)) / 100,
            positions=result.trial.positions[[*rows, *rows]],
            frames=np.arange(len(q)),
            filled=result.trial.filled[[*rows, *rows]],
            camera_residuals=None,
            source=None,
        ),
        q=np.array(q),
    )
    markers = subject.marker_set().markers
    bodies, local = marker_bodies(result.model, markers)
    positions, centres = [], []
    import pinocchio as pin

    data = result.model.data()
    for row in q:
        pin.forwardKinematics(result.model.pin, data, row)
        places = [
            data.oMi[int(b) + 1].act(at) for b, at in zip(bodies, local, strict=True)
        ]
        positions.append(to_humans(np.array(places)))
        centres.append(to_humans(result.model.tags(row)[-1]))
    for convention in CONVENTIONS:
        hs.write_osim(subject, folder / f"{convention}.osim", convention=convention)
        motion.to_mot(folder / f"{convention}.mot", convention)
    np.savez(
        folder / "ours.npz",
        names=[marker.name for marker in markers],
        positions=positions,
        centres=centres,
        mass=result.model.mass,
    )


def compare(folder: Path) -> int:
    """Load everything in OpenSim and print what differs; the exit code."""
    try:
        import opensim
    except ImportError as error:
        print(f"no OpenSim here, nothing is compared: {error}")
        return 0
    opensim.Logger.setLevelString("Warn")
    opensim.Logger.removeFileSink()  # else opensim.log is left behind
    ours = np.load(folder / "ours.npz")
    print(f"OpenSim {opensim.GetVersion()}, {len(ours['positions'])} frames, ", end="")
    print(f"{len(ours['names'])} markers; largest distances [m]")
    worst = 0.0
    for path in sorted(folder.glob("*.osim")):
        model = opensim.Model(str(path))
        state = model.initSystem()
        motion = opensim.Storage(str(path.with_suffix(".mot")))
        model.getSimbodyEngine().convertDegreesToRadians(motion)
        labels = motion.getColumnLabels()
        columns = [labels.get(k) for k in range(1, labels.getSize())]
        coordinates = model.getCoordinateSet()
        if {coordinates.get(k).getName() for k in range(coordinates.getSize())} != set(
            columns
        ):
            raise RuntimeError(f"{path.stem}: .mot and .osim have other coordinates")
        far, off = 0.0, 0.0
        for k, (at, centre) in enumerate(
            zip(ours["positions"], ours["centres"], strict=True)
        ):
            values = motion.getStateVector(k).getData()
            for i, name in enumerate(columns):
                coordinates.get(name).setValue(state, values.get(i), False)
            model.realizePosition(state)
            for name, ours_at in zip(ours["names"], at, strict=True):
                place = model.getMarkerSet().get(str(name)).getLocationInGround(state)
                far = max(far, float(np.linalg.norm(_vector(place) - ours_at)))
            com = model.calcMassCenterPosition(state)
            off = max(off, float(np.linalg.norm(_vector(com) - centre)))
        mass = abs(model.getTotalMass(state) - float(ours["mass"]))
        print(
            f"{path.stem:10} markers {far:.1e}, centre of mass {off:.1e}, "
            f"mass {mass:.1e} kg, {coordinates.getSize()} coordinates, "
            f"{model.getBodySet().getSize()} bodies"
        )
        worst = max(worst, far)
    return int(worst > LARGEST)


def _vector(place: object) -> np.ndarray:
    return np.array([place.get(i) for i in range(3)])  # type: ignore[attr-defined]


def main() -> int:
    """Write, compare or both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", choices=("write", "compare"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--static", type=Path, help="a recording of standing still")
    parser.add_argument("--trial", type=Path, help="a motion of the same person")
    parser.add_argument("--marker-set", default="rajagopal")
    parser.add_argument("--frames", type=int, default=20)
    arguments = parser.parse_args()
    if (arguments.task is None) != (arguments.folder is None):
        parser.error("write and compare need a folder")
    if (arguments.static is None) != (arguments.trial is None):
        parser.error("--static and --trial go together")
    if arguments.task == "write":
        arguments.folder.mkdir(exist_ok=True)
        write(arguments.folder, arguments)
        return 0
    if arguments.task == "compare":
        return compare(arguments.folder)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments)
        return compare(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
