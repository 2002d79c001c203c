# SPDX-License-Identifier: Apache-2.0
"""Parts of ROS 2 messages as dictionaries, for files that are written without ROS 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models.description import BASE_LINK

WORLD = "world"
"""The frame that does not move."""
_LAST_SECOND = 2**31 - 1
"""The latest time a ROS 2 stamp can hold [s]."""


def nanoseconds(time: float) -> int:
    """A time [s] as a whole number of nanoseconds.

    Raises:
        ParameterError: a ROS 2 stamp cannot hold it.
    """
    if not 0 <= time < _LAST_SECOND:
        raise ParameterError(
            f"a time of {time} s cannot be written to MCAP: ROS 2 stamps go from 0 to "
            f"{_LAST_SECOND} s; let the run start at 0 s"
        )
    return round(time * 1e9)


def stamp_of(time: int) -> dict[str, int]:
    """Stamp (or duration) of a time [ns]."""
    seconds, rest = divmod(time, 10**9)
    return {"sec": seconds, "nanosec": rest}


def head(stamp: Mapping[str, int], frame: str = "") -> dict[str, Any]:
    """A std_msgs/Header."""
    return {"stamp": stamp, "frame_id": frame}


def xyz(vector: np.ndarray) -> dict[str, float]:
    """A point or a vector."""
    x, y, z = vector.tolist()
    return {"x": x, "y": y, "z": z}


def quaternion(vector: np.ndarray) -> dict[str, float]:
    """An orientation, w last."""
    return {**xyz(vector[:3]), "w": float(vector[3])}


def link_transform(
    stamp: Mapping[str, int], parent: str, child: str, pose: np.ndarray
) -> dict[str, Any]:
    """A geometry_msgs/TransformStamped of a place and a quaternion (7,)."""
    return {
        "header": head(stamp, parent),
        "child_frame_id": child,
        "transform": {"translation": xyz(pose[:3]), "rotation": quaternion(pose[3:7])},
    }


def base_transform(q: np.ndarray, stamp: Mapping[str, int]) -> dict[str, Any]:
    """A tf2_msgs/TFMessage of the base of a biped with the configuration ``q``."""
    return {"transforms": [link_transform(stamp, WORLD, BASE_LINK, q)]}


def odometry_message(
    stamp: Mapping[str, int], q: np.ndarray, v: np.ndarray
) -> dict[str, Any]:
    """A nav_msgs/Odometry of the base of a biped; its twist is in the base's frame."""
    known = [0.0] * 36
    position, orientation = xyz(q[:3]), quaternion(q[3:7])
    linear, angular = xyz(v[:3]), xyz(v[3:6])
    return {
        "header": head(stamp, WORLD),
        "child_frame_id": BASE_LINK,
        "pose": {
            "pose": {"position": position, "orientation": orientation},
            "covariance": known,
        },
        "twist": {
            "twist": {"linear": linear, "angular": angular},
            "covariance": known,
        },
    }
