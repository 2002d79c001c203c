# SPDX-License-Identifier: Apache-2.0
"""Recorded people: our angles beside those of OpenSim and Vicon, forces beside plates.

The recordings are no part of the repository: OpenSim's examples (Gait2354; the walk of
the model of Rajagopal et al.) and a Plug-in Gait recording with Vicon's own angles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.applications.person import calibrate_recordings
from humans_sim.observation.markers.c3d_writer import ezc3d_module
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibrate import Calibration
from humans_sim.observation.posture.result import Reconstruction

JOINTS = {
    "hip": ("hip_pitch", 1.0),
    "knee": ("knee", -1.0),
    "ankle": ("ankle_pitch", 1),
}
"""Our joint, and its sign: flexion of hip and knee, dorsiflexion of the ankle."""
SIDES = ("r", "l")
UPRIGHT = 8.0
"""Most that a leg's joint of a standing person may be from zero [deg]."""
WORSE = 0.015
"""Correlation that a motion may cost against the static trial alone."""
SHAPE = 3.0
"""Most root mean square difference of two curves without their offset [deg]."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A person who stands and walks.

    Attributes:
        name: short one.
        marker_set: worn.
        static, walk: files.
        mass: as its file has it, or as its plates weigh it over a stride [kg].
        forces: file of forces; empty: the plates are in the walk.
        angles: file of the other program's angles; empty: there are none.
        program: that gave them.
        least: correlation with them that hip, knee and ankle reach.
    """

    name: str
    marker_set: str
    static: str
    walk: str
    mass: float
    forces: str = ""
    angles: str = ""
    program: str = ""
    least: Mapping[str, float] | None = None


RECORDINGS = (
    Recording(
        "Gait2354",
        "gait2354",
        "mocap_gait2354/subject01_static.trc",
        "mocap_gait2354/subject01_walk1.trc",
        72.6,
        "mocap_gait2354/subject01_walk1_grf.mot",
        "mocap_gait2354/subject01_walk1_opensim_ik.mot",
        "OpenSim",
        {"hip": 0.99, "knee": 0.99, "ankle": 0.90},
    ),
    Recording(
        "Plug-in Gait",
        "plug-in-gait",
        "c3d/vicon_pig_static.c3d",
        "c3d/vicon_pig_walk.c3d",
        74.0,
        angles="c3d/vicon_pig_walk.c3d",
        program="Vicon",
        least={"hip": 0.99, "knee": 0.99, "ankle": 0.97},
    ),
    Recording(
        "Rajagopal",
        "rajagopal",
        "mocap/static_walk.trc",
        "mocap/walk.trc",
        85.0,
        "mocap/walk_forces.mot",
    ),
)


@dataclass(frozen=True, eq=False)
class Curve:
    """An angle of ours beside the same of another program, at its times [deg]."""

    side: str
    joint: str
    t: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def r(self) -> float:
        """Correlation."""
        return float(np.corrcoef(self.ours, self.theirs)[0, 1])

    @property
    def offset(self) -> float:
        """Mean of ours minus theirs [deg]."""
        return float((self.ours - self.theirs).mean())

    @property
    def shape(self) -> float:
        """Root mean square difference without the offset [deg]."""
        return float((self.ours - self.theirs).std())


@dataclass(frozen=True, eq=False)
class Outcome:
    """A person measured, and its walk.

    Attributes:
        calibration: of the person.
        standing: angles of the legs in the static trial, by joint [deg].
        walk: reconstructed.
        curves: of the walk, by side and joint.
    """

    calibration: Calibration
    standing: Mapping[str, float]
    walk: Reconstruction
    curves: Mapping[tuple[str, str], Curve]


def measure(data: Path, recording: Recording, *, motion: bool) -> Outcome:
    """Calibrate a person and reconstruct its walk, as the commands do.

    Args:
        data: folder of the recordings.
        recording: which.
        motion: calibrate from the walk too, not from the static trial alone.
    """
    static, walk = data / recording.static, data / recording.walk
    files = [static, walk] if motion else [static]
    calibration = calibrate_recordings(files, recording.marker_set, mass=recording.mass)
    model, worn = calibration.subject.model(), calibration.subject.marker_set()
    stood = hs.reconstruct(model, static, worn)
    standing = {
        f"{side}_{name}": float(np.degrees(stood.joint(f"{side}_{name}").mean()))
        for side in SIDES
        for name in ("hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll")
    }
    result = hs.reconstruct(model, walk, worn)
    return Outcome(calibration, standing, result, curves_of(data, recording, result))


def curves_of(
    data: Path, recording: Recording, result: Reconstruction
) -> dict[tuple[str, str], Curve]:
    """The walk's angles beside the other program's; empty without one."""
    curves = {}
    for (side, joint), (t, theirs) in other_angles(data, recording).items():
        name, sign = JOINTS[joint]
        ours = sign * np.degrees(result.joint(f"{side}_{name}"))
        ours = np.interp(t, result.t, ours)
        curves[side, joint] = Curve(side, joint, t, ours, theirs)
    return curves


def other_angles(
    data: Path, recording: Recording
) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """Times [s] and flexion angles [deg] of another program, by side and joint."""
    if recording.program == "OpenSim":
        table = read_motion(data / recording.angles)
        names = {
            "hip": ("hip_flexion", 1.0),
            "knee": ("knee_angle", -1.0),
            "ankle": ("ankle_angle", 1.0),
        }
        return {
            (side, joint): (table["time"], sign * table[f"{name}_{side}"])
            for side in SIDES
            for joint, (name, sign) in names.items()
        }
    if recording.program != "Vicon":
        return {}
    file = ezc3d_module().c3d(str(data / recording.angles))
    labels = file["parameters"]["POINT"]["LABELS"]["value"]
    times = hs.read_markers(data / recording.angles).times
    angles = {}
    for side in SIDES:
        for joint in JOINTS:
            label = f"{side.upper()}{joint.capitalize()}Angles"
            row = next(k for k, n in enumerate(labels) if n.startswith(label))
            values = file["data"]["points"][0, row]
            known = np.isfinite(values) & (values != 0.0)
            angles[side, joint] = times[known], values[known]
    return angles


def read_motion(path: Path) -> dict[str, np.ndarray]:
    """Columns of a motion file of OpenSim."""
    head, _, table = path.read_text().partition("endheader")
    del head
    names, *lines = table.strip().splitlines()
    values = np.array([[float(word) for word in line.split()] for line in lines])
    return dict(zip(names.split(), values.T, strict=True))


def direct_ankle(data: Path, recording: Recording) -> dict[str, float]:
    """Correlation of the ankle with the other program's, from markers alone, by side.

    Foot and shank are their own markers, as clusters that turn (Gait2354) or as lines
    between two (Plug-in Gait), seen from the side: no model, no chain of joints. It is
    what a difference in definitions leaves to be had.
    """
    walk = hs.read_markers(data / recording.walk)
    static = hs.read_markers(data / recording.static)
    known = other_angles(data, recording)
    correlations = {}
    for side in SIDES:
        if recording.program == "Vicon":
            foot = _line(walk, f"{side.upper()}HEE", f"{side.upper()}TOE")
            shank = _line(walk, f"{side.upper()}KNE", f"{side.upper()}ANK")
        else:
            first = f"{side.upper()}."
            parts = ("Heel", "Midfoot.Sup", "Midfoot.Lat")
            parts += ("Toe.Lat", "Toe.Med", "Toe.Tip")
            toe = static.names.index(f"{first}Toe.Tip")
            heel = static.names.index(f"{first}Heel")
            forward = (static.positions[:, toe] - static.positions[:, heel]).mean(0)
            foot = _turned(static, walk, [first + p for p in parts], forward)
            parts = ("Shank.Upper", "Shank.Front", "Shank.Rear")
            down = np.array([0.0, 0.0, -1.0])
            shank = _turned(static, walk, [first + p for p in parts], down)
        # On a treadmill nobody gets on: feet show where ahead is.
        ahead = foot.mean(axis=0) * [1.0, 1.0, 0.0]
        ahead /= np.linalg.norm(ahead)
        angle = _pitch(foot, ahead) - _pitch(shank, ahead)
        t, theirs = known[side, "ankle"]
        ours = np.interp(t, walk.times, angle)
        correlations[side] = float(np.corrcoef(ours, theirs)[0, 1])
    return correlations


def _line(trial: MarkerTrial, start: str, end: str) -> np.ndarray:
    places = [trial.positions[:, trial.names.index(name)] for name in (start, end)]
    return places[1] - places[0]


def _turned(
    static: MarkerTrial, walk: MarkerTrial, names: list[str], vector: np.ndarray
) -> np.ndarray:
    """A vector of the static trial that turns with a cluster of markers (n, 3)."""
    stood = static.positions[:, [static.names.index(n) for n in names]].mean(axis=0)
    stood = stood - stood.mean(axis=0)
    moving = walk.positions[:, [walk.names.index(n) for n in names]]
    return np.array(
        [
            Rotation.align_vectors(frame - frame.mean(axis=0), stood)[0].apply(vector)
            for frame in moving
        ]
    )


def _pitch(vectors: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Angle in the plane of the walk [deg]."""
    return np.unwrap(
        np.degrees(np.arctan2(vectors[:, 2], vectors @ ahead)), period=360.0
    )


def forces_beside_plates(
    data: Path, recording: Recording, outcome: Outcome
) -> hs.ForceComparison:
    """Vertical forces of a walk from markers alone, beside plates."""
    plates = hs.read_force_file(data / recording.forces) if recording.forces else None
    return hs.compare_with_plates(outcome.walk, plates)


def misses(recording: Recording, static: Outcome, both: Outcome) -> list[str]:
    """What static trial and motion together do not reach; empty: all is as it must."""
    failures = []
    if not both.walk.rms < static.walk.rms:
        failures.append(f"{recording.name}: the walk's residual is not lower")
    for name, angle in both.standing.items():
        if abs(angle) > UPRIGHT:
            failures.append(f"{recording.name}: standing {name} is {angle:.1f} degrees")
    for key, curve in both.curves.items():
        label = f"{recording.name}: {curve.side} {curve.joint}"
        assert recording.least is not None
        if curve.r < recording.least[curve.joint]:
            failures.append(f"{label} correlates by {curve.r:.3f}")
        if curve.r < static.curves[key].r - WORSE:
            failures.append(f"{label} is worse than from the static trial alone")
        if curve.shape > SHAPE:
            failures.append(f"{label} differs by {curve.shape:.1f} degrees in shape")
    return failures
