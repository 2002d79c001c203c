# SPDX-License-Identifier: Apache-2.0
"""What ROS 2 tools need to show a reconstruction, as topics of an MCAP file.

The person as of a run (:mod:`humans_sim.view.run_topics`), its base on ``/odom``, its
joints on ``/joints/<name>``, and

``/reconstruction_markers`` (visualization_msgs/msg/MarkerArray)
    Markers as they were measured and where the person has them, as the node
    ``reconstruction`` draws them: a namespace for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.results.export import joint_topics
from humans_sim.results.ros_messages import odometry_message
from humans_sim.results.ros_writer import Message, MessageMaker, RosTopics
from humans_sim.view.run_topics import (
    MARKERS,
    body_topics,
    marker_message,
    stamped,
)

_LINE_LIST, _SPHERE_LIST, _DELETE = 5, 7, 2
_BALL = 0.02
"""Diameter of a measured marker [m]."""
_KINDS = {
    "measured": (_SPHERE_LIST, 1.0, (31, 120, 181)),
    "rejected": (_SPHERE_LIST, 1.0, (214, 38, 41)),
    "reconstructed": (_SPHERE_LIST, 0.7, (43, 161, 43)),
    "residuals": (_LINE_LIST, 0.2, (255, 128, 13)),
}
"""Type, size over that of a measured marker, and colour of each namespace."""


def posture_topics(result: Reconstruction) -> RosTopics:
    """Topics by which a person is seen, with the markers.

    Raises:
        ModelFileError: a mesh of the person's model is missing or unreadable.
    """
    latched, sampled = body_topics(result.model, result.q)
    still = np.zeros(6)
    sampled["/odom"] = (
        "nav_msgs/Odometry",
        lambda k, stamp: odometry_message(stamp, result.q[k], still),
    )
    sampled["/reconstruction_markers"] = MARKERS, _markers(result)
    sampled |= joint_topics(result.model.joint_names, result.q[:, 7:])
    return RosTopics(latched, sampled)


def _markers(result: Reconstruction) -> MessageMaker:
    def message(k: int, stamp: Mapping[str, int]) -> Message:
        measured = np.asarray(result.trial.positions[k])
        modelled = measured - result.differences[k]
        status = result.status[k]
        used = status == MarkerStatus.USED
        seen = np.isfinite(measured).all(axis=1)
        known = np.isfinite(modelled).all(axis=1)
        pairs = np.stack([measured, modelled], axis=1)
        points = {
            "measured": measured[used & seen],
            "rejected": measured[(status == MarkerStatus.REJECTED) & seen],
            "reconstructed": modelled[known],
            "residuals": pairs[used & seen & known].reshape(-1, 3),
        }
        markers = [_drawing(space, places) for space, places in points.items()]
        return {"markers": stamped(markers, stamp)}

    return message


def _drawing(space: str, points: np.ndarray) -> Message:
    kind, share, colour = _KINDS[space]
    drawn = marker_message(space, 0, kind, colour, np.full(3, share * _BALL))
    if not len(points):  # RViz complains about lists without points
        return drawn | {"action": _DELETE}
    return drawn | {"points": points}
