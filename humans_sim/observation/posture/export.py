# SPDX-License-Identifier: Apache-2.0
"""A reconstruction as files of others: MCAP, tables of angles and forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from humans_sim.core.files import write_lines
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction, holds
from humans_sim.results.ros_files import (
    WORLD,
    Message,
    MessageMaker,
    RosTopics,
    Stamp,
    base_transform,
    head,
    joint_state,
    nanoseconds,
    stamp_of,
    write_topics,
    xyz,
)


def write_mcap(
    result: Reconstruction, path: Path | str, scene: RosTopics | None = None
) -> Path:
    """Write a reconstruction for rosbag2, Foxglove and PlotJuggler.

    ``/joint_states`` (sensor_msgs/msg/JointState)
        Angles of the joints; a posture has no speeds and torques.
    ``/tf`` (tf2_msgs/msg/TFMessage)
        The base in the frame ``world``.
    ``/markers`` (humans_msgs/msg/MarkerFrame)
        The markers that the posture was found from.
    ``/reconstruction_quality`` (humans_msgs/msg/ReconstructionQuality)
        How well the posture explains them.

    Args:
        result: what was reconstructed.
        path: the file; rosbag2 knows it by the ending ``.mcap``. It is written whole or
            not at all.
        scene: more topics, to see the person by, of
            :func:`~humans_sim.view.run_topics.posture_topics`.

    Returns:
        The path.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
    """
    source = result.trial.source
    about = {
        "model": result.model.name,
        "mode": result.mode,
        "source": None if source is None else source.name,
    }
    scene = RosTopics() if scene is None else scene
    topics = RosTopics(scene.latched, {**_topics(result), **scene.sampled})
    return write_topics(Path(path), result.t.tolist(), topics, about)


def _topics(result: Reconstruction) -> dict[str, tuple[str, MessageMaker]]:
    """Type and maker of the messages that every frame has, by topic."""
    trial, names = result.trial, result.model.joint_names

    def quality(k: int, stamp: Stamp) -> Message:
        status, std, hidden = result.status[k], result.std, result.bridged
        return quality_message(
            head(stamp, WORLD),
            int(trial.frames[k]),
            result.names,
            status,
            result.differences[k],
            holds(status),
            result.converged[k],
            result.iterations[k],
            float(result.solve_times[k]),
            result.unobservable,
        ) | {
            "joint_names": [] if std is None else list(names),
            "joint_std": [] if std is None else std[k, 6:].astype(float).tolist(),
            "hidden_joints": []
            if hidden is None
            else [names[j] for j in np.flatnonzero(hidden[k])],
            "marker_noise": result.noise,
        }

    return {
        "/joint_states": (
            "sensor_msgs/JointState",
            lambda k, stamp: joint_state(stamp, names, result.q[k, 7:]),
        ),
        "/tf": (
            "tf2_msgs/TFMessage",
            lambda k, stamp: base_transform(result.q[k], stamp),
        ),
        "/markers": (
            "humans_msgs/MarkerFrame",
            lambda k, stamp: marker_frame(
                head(stamp, WORLD), int(trial.frames[k]), trial, k
            ),
        ),
        "/reconstruction_quality": ("humans_msgs/ReconstructionQuality", quality),
    }


def marker_frame(header: Message, number: int, trial: MarkerTrial, row: int) -> Message:
    """A humans_msgs/MarkerFrame of a sample of a trial."""
    positions, cameras = trial.positions[row], trial.camera_residuals
    return {
        "header": header,
        "frame_number": number,
        "names": list(trial.names),
        "positions": [xyz(position) for position in positions],
        "occluded": np.isnan(positions).any(axis=1).tolist(),
        "residuals": [] if cameras is None else cameras[row].tolist(),
    }


def quality_message(
    header: Message,
    number: int,
    names: Sequence[str],
    status: np.ndarray,
    differences: np.ndarray,
    used: np.ndarray,
    converged: bool,
    iterations: int,
    seconds: float,
    unobservable: Sequence[str],
) -> Message:
    """A humans_msgs/ReconstructionQuality, without standard deviations.

    Args:
        header: time and frame of the markers.
        number: of the frame.
        names: labels of its markers.
        status: of each (m,), numbers of :class:`MarkerStatus`.
        differences: measured minus reconstructed (m, 3) [m].
        used: markers that count for the distances (m,).
        converged: whether the search ended at a minimum.
        iterations: it took.
        seconds: it took.
        unobservable: joints that no marker used can see.
    """
    distances = np.linalg.norm(differences[used], axis=1)
    return {
        "header": header,
        "frame_number": number,
        "converged": bool(converged),
        "iterations": int(iterations),
        "solve_time": stamp_of(nanoseconds(seconds)),
        "rms": float(np.sqrt(np.mean(distances**2))) if distances.size else np.nan,
        "max_residual": float(distances.max()) if distances.size else np.nan,
        "marker_names": list(names),
        "marker_status": status.astype(np.uint8).tolist(),
        "residuals": [xyz(difference) for difference in differences],
        "unobservable_joints": list(unobservable),
        "marker_noise": np.nan,
    }


def write_angles_csv(
    result: Reconstruction, path: Path | str, convention: str | Path = HUMANS
) -> Path:
    """Write a line of names, then one a sample: time [s], angles [degrees].

    The position of the base is in metres, on the axes x forward, y up, z right.

    Args:
        result: what was reconstructed.
        path: the file; written whole or not at all.
        convention: name of a convention, or the path of one's own.

    Returns:
        The path.
    """
    angles = result.angles(convention)
    values = [result.t[:, None], angles.in_degrees()]
    return _write_table(Path(path), ["time", *angles.names], values)


def _write_table(
    path: Path, names: Sequence[str], values: Sequence[np.ndarray]
) -> Path:
    lines = [",".join(names)]
    lines += [",".join(map(repr, row)) for row in np.hstack(values).tolist()]
    write_lines(path, lines)
    return path


GROUND = ("ground_fx", "ground_fy", "ground_fz", "ground_mx", "ground_my", "ground_mz")
"""Columns of the ground's force and moment [N, N m]."""


class Forces(Protocol):
    """Forces of a motion by inverse dynamics."""

    @property
    def t(self) -> np.ndarray:
        """Times (n,) [s]."""

    @property
    def torques(self) -> np.ndarray:
        """Of the joints (n, joints) [N m]."""

    @property
    def ground(self) -> np.ndarray | None:
        """Force and moment of the ground (n, 6) [N, N m]; None where unknown."""


def write_forces_csv(
    forces: Forces,
    joints: Sequence[str],
    path: Path | str,
    columns: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Write a line of names, then one a sample: time [s], torques, the ground.

    Args:
        forces: what inverse dynamics say.
        joints: names of the joints.
        path: the file; written whole or not at all.
        columns: what follows, by name (n,) each.

    Returns:
        The path.
    """
    names = ["time", *joints]
    values = [forces.t[:, None], forces.torques]
    if forces.ground is not None:
        names += GROUND
        values.append(forces.ground)
    for name, column in (columns or {}).items():
        names.append(name)
        values.append(column[:, None])
    return _write_table(Path(path), names, values)
