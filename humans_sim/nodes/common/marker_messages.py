# SPDX-License-Identifier: Apache-2.0
"""Markers, and how postures explain them, as messages. Messages are checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Vector3
from humans_msgs.msg import MarkerFrame, ReconstructionQuality
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.conversions import duration_of
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import MarkerStatus

MEASURED, REJECTED, UNKNOWN = "measured", "rejected", "unknown"
RECONSTRUCTED, OCCLUDED = "reconstructed", "occluded"
RESIDUALS, MISTAKES = "residuals", "rejected_residuals"
"""Namespaces of the drawings."""
_COLOURS = {
    MEASURED: (0.12, 0.47, 0.71, 1.0),
    REJECTED: (0.84, 0.15, 0.16, 1.0),
    UNKNOWN: (0.50, 0.50, 0.50, 1.0),
    RECONSTRUCTED: (0.17, 0.63, 0.17, 1.0),
    OCCLUDED: (0.17, 0.63, 0.17, 0.35),
    RESIDUALS: (1.0, 0.50, 0.05, 1.0),
    MISTAKES: (0.84, 0.15, 0.16, 1.0),
}
_SIZES = {RECONSTRUCTED: 0.7, OCCLUDED: 0.7, RESIDUALS: 0.2, MISTAKES: 0.2}
"""Of balls and lines, over that of a measured marker."""
_BALL = 0.02
"""Diameter of a measured marker [m]."""
_MOST = 10_000
"""A frame with more markers is refused."""


class JointSpread(NamedTuple):
    """How sure joint angles are.

    Attributes:
        names: of the joints.
        std: their standard deviations (k,) [rad].
        hidden: joints that the markers of the frame do not show.
        noise: standard deviation of a marker, one axis [m].
    """

    names: Sequence[str]
    std: np.ndarray
    hidden: Sequence[str]
    noise: float


def marker_frame(
    header: Header, number: int, trial: MarkerTrial, row: int
) -> MarkerFrame:
    """MarkerFrame message of a sample of a trial."""
    positions = trial.positions[row]
    message = MarkerFrame(header=header, frame_number=number, names=list(trial.names))
    message.positions = [Point(x=x, y=y, z=z) for x, y, z in positions.tolist()]
    message.occluded = np.isnan(positions).any(axis=1).tolist()
    if trial.camera_residuals is not None:
        message.residuals = trial.camera_residuals[row].tolist()
    return message


def markers_of(message: MarkerFrame) -> tuple[tuple[str, ...], np.ndarray]:
    """Labels and positions (m, 3) [m] of a message, NaN where not seen.

    Raises:
        ConfigurationError: lists of different lengths, too many markers, or a position
            that is seen and not finite.
    """
    names, count = tuple(message.names), len(message.names)
    if count > _MOST:
        raise ConfigurationError(f"{count} markers are more than {_MOST}")
    for word, values in (
        ("positions", message.positions),
        ("occluded", message.occluded),
        ("residuals", message.residuals),
    ):
        if len(values) != count and not (word == "residuals" and not len(values)):
            raise ConfigurationError(f"{count} names and {len(values)} {word}")
    positions = np.array([(p.x, p.y, p.z) for p in message.positions]).reshape(-1, 3)
    hidden = np.array(message.occluded, dtype=bool)
    wrong = ~hidden & ~np.isfinite(positions).all(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ConfigurationError(
            f"the marker '{names[row]}' is at {positions[row]} and not marked occluded"
        )
    positions[hidden] = np.nan
    return names, positions


def quality_message(
    header: Header,
    number: int,
    names: Sequence[str],
    status: np.ndarray,
    differences: np.ndarray,
    converged: bool,
    iterations: int,
    seconds: float,
    unobservable: Sequence[str],
    spread: JointSpread | None = None,
) -> ReconstructionQuality:
    """ReconstructionQuality message.

    Args:
        header: time and frame of the markers.
        number: of the frame.
        names: labels of its markers.
        status: of each (m,), numbers of :class:`MarkerStatus`.
        differences: measured minus reconstructed (m, 3) [m].
        converged: whether the search ended at a minimum.
        iterations: it took.
        seconds: it took.
        unobservable: joints that no marker used can see.
        spread: how sure the angles are; None: not worked out.
    """
    distances = np.linalg.norm(differences[status == MarkerStatus.USED], axis=1)
    message = ReconstructionQuality(header=header, frame_number=number)
    message.converged, message.iterations = bool(converged), int(iterations)
    message.solve_time = duration_of(seconds)
    if len(distances):
        message.rms = float(np.sqrt((distances**2).mean()))
        message.max_residual = float(distances.max())
    else:
        message.rms = message.max_residual = float("nan")
    message.marker_names = list(names)
    message.marker_status = status.tolist()
    message.residuals = [Vector3(x=x, y=y, z=z) for x, y, z in differences.tolist()]
    message.unobservable_joints = list(unobservable)
    message.marker_noise = float("nan")
    if spread is not None:
        message.marker_noise = float(spread.noise)
        message.joint_names = list(spread.names)
        message.joint_std = np.asarray(spread.std, dtype=float).tolist()
        message.hidden_joints = list(spread.hidden)
    return message


def marker_drawings(
    header: Header, measured: np.ndarray, modelled: np.ndarray, status: np.ndarray
) -> MarkerArray:
    """Markers for RViz and the like: a namespace for each kind.

    Args:
        header: time and frame of the markers.
        measured: as they came (m, 3) [m], NaN where not seen.
        modelled: where the model has them (m, 3) [m], NaN where it does not know them.
        status: of each (m,), numbers of :class:`MarkerStatus`.
    """
    known = np.isfinite(modelled).all(axis=1)
    hidden = (status == MarkerStatus.OCCLUDED) & known
    used, wrong = status == MarkerStatus.USED, status == MarkerStatus.REJECTED
    pairs = np.stack([measured, modelled], axis=1)
    parts = {
        MEASURED: measured[used],
        REJECTED: measured[wrong],
        UNKNOWN: measured[status == MarkerStatus.UNKNOWN],
        RECONSTRUCTED: modelled[known & ~hidden],
        OCCLUDED: modelled[hidden],
        RESIDUALS: pairs[used].reshape(-1, 3),
        MISTAKES: pairs[wrong].reshape(-1, 3),
    }
    return MarkerArray(markers=[_drawing(header, *part) for part in parts.items()])


def _drawing(header: Header, kind: str, points: np.ndarray) -> Marker:
    marker = Marker(header=header, ns=kind, id=0)
    marker.type = (
        Marker.LINE_LIST if kind in (RESIDUALS, MISTAKES) else Marker.SPHERE_LIST
    )
    # RViz complains about lists without points.
    marker.action = Marker.ADD if len(points) else Marker.DELETE
    marker.pose.orientation.w = 1.0
    size = _BALL * _SIZES.get(kind, 1.0)
    marker.scale.x = marker.scale.y = marker.scale.z = size
    red, green, blue, alpha = _COLOURS[kind]
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=alpha)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in points.tolist()]
    return marker
