# SPDX-License-Identifier: Apache-2.0
"""A reconstruction as files of others: MCAP, tables of angles and forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from humans_sim.core.files import write_atomically
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.posture.result import Reconstruction, holds
from humans_sim.results.ros_files import (
    WORLD,
    MessageMaker,
    RosTopics,
    base_transform,
    head,
    nanoseconds,
    stamp_of,
    write_topics,
    xyz,
)


def write_mcap(
    result: Reconstruction, path: Path | str, scene: RosTopics | None = None
) -> Path:
    """Write a reconstruction for rosbag2, Foxglove and PlotJuggler; gives the path.

    ``/joint_states`` (sensor_msgs/msg/JointState)
        Angles of the joints; a posture has no speeds and torques.
    ``/tf`` (tf2_msgs/msg/TFMessage)
        The base in the frame ``world``.
    ``/markers`` (humans_msgs/msg/MarkerFrame)
        The markers that the posture was found from.
    ``/reconstruction_quality`` (humans_msgs/msg/ReconstructionQuality)
        How well the posture explains them.

    Messages are stamped with the times of the trial, rounded to 1 ns. More topics, to
    see the person by, are those of a scene
    (:func:`~humans_sim.view.run_topics.posture_topics`).

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
    sampled: dict[str, tuple[str, MessageMaker]] = {
        "/joint_states": ("sensor_msgs/JointState", partial(_joint_states, result)),
        "/tf": (
            "tf2_msgs/TFMessage",
            lambda k, stamp: base_transform(result.q[k], stamp),
        ),
        "/markers": ("humans_msgs/MarkerFrame", partial(_markers, result)),
        "/reconstruction_quality": (
            "humans_msgs/ReconstructionQuality",
            partial(_quality, result),
        ),
    }
    topics = RosTopics(scene.latched, {**sampled, **scene.sampled})
    return write_topics(Path(path), result.t.tolist(), topics, about)


def _joint_states(
    result: Reconstruction, k: int, stamp: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "header": head(stamp),
        "name": list(result.model.joint_names),
        "position": result.q[k, 7:].tolist(),
        "velocity": [],
        "effort": [],
    }


def _markers(
    result: Reconstruction, k: int, stamp: Mapping[str, int]
) -> dict[str, Any]:
    trial = result.trial
    cameras = trial.camera_residuals
    return {
        "header": head(stamp, WORLD),
        "frame_number": int(trial.frames[k]),
        "names": list(result.names),
        "positions": [xyz(position) for position in trial.positions[k]],
        "occluded": np.isnan(trial.positions[k]).any(axis=1).tolist(),
        "residuals": [] if cameras is None else cameras[k].tolist(),
    }


def _quality(
    result: Reconstruction, k: int, stamp: Mapping[str, int]
) -> dict[str, Any]:
    distances = np.linalg.norm(result.differences[k][holds(result.status[k])], axis=1)
    return {
        "header": head(stamp, WORLD),
        "frame_number": int(result.trial.frames[k]),
        "converged": bool(result.converged[k]),
        "iterations": int(result.iterations[k]),
        "solve_time": stamp_of(nanoseconds(float(result.solve_times[k]))),
        "rms": float(np.sqrt(np.mean(distances**2))) if distances.size else np.nan,
        "max_residual": float(distances.max()) if distances.size else np.nan,
        "marker_names": list(result.names),
        "marker_status": result.status[k].astype(np.uint8).tolist(),
        "residuals": [xyz(difference) for difference in result.differences[k]],
        "unobservable_joints": list(result.unobservable),
        **_spread(result, k),
    }


def _spread(result: Reconstruction, k: int) -> dict[str, Any]:
    """How sure the joints of a frame are."""
    names = result.model.joint_names
    std, hidden = result.std, result.bridged
    return {
        "joint_names": [] if std is None else list(names),
        "joint_std": [] if std is None else std[k, 6:].astype(float).tolist(),
        "hidden_joints": []
        if hidden is None
        else [names[j] for j in np.flatnonzero(hidden[k])],
        "marker_noise": result.noise,
    }


def write_angles_csv(
    result: Reconstruction, path: Path | str, convention: str | Path = HUMANS
) -> Path:
    """Write a line of names, then one a sample: time [s], angles [degrees].

    Names and signs are those of a convention. The position of the base is in metres, on
    the axes x forward, y up, z right.
    """
    path = Path(path)
    angles = result.angles(convention)
    values = np.column_stack([result.t, angles.in_degrees()])
    lines = [",".join(["time", *angles.names])]
    lines += [",".join(map(repr, row)) for row in values.tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
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

    More columns (n,) follow by their names.
    """
    path = Path(path)
    names = ["time", *joints]
    values = [forces.t[:, None], forces.torques]
    if forces.ground is not None:
        names += GROUND
        values.append(forces.ground)
    for name, column in (columns or {}).items():
        names.append(name)
        values.append(column[:, None])
    lines = [",".join(names)]
    lines += [",".join(map(repr, row)) for row in np.hstack(values).tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
    return path
