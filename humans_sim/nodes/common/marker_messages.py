# SPDX-License-Identifier: Apache-2.0
"""Markers, and how postures explain them, as messages. Messages are checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from humans_msgs.msg import MarkerFrame, ReconstructionQuality
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.conversions import filled, marker_array
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture import export
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.results.ros_files import (
    MarkerType,
    Message,
    marker_message,
    point_list,
)

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
    fields = export.marker_frame({}, number, trial, row)
    return filled(MarkerFrame(header=header), fields)


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
    fit: Any,
    seconds: float = 0.0,
    unobservable: Sequence[str] = (),
    spread: JointSpread | None = None,
) -> ReconstructionQuality:
    """ReconstructionQuality message.

    Args:
        header: time and frame of the markers.
        number: of the frame.
        names: labels of its markers.
        fit: with ``status``, ``differences``, ``converged`` and ``iterations``, as of
            ``quality_message`` of ``observation.posture.export``.
        seconds: it took.
        unobservable: joints that no marker used can see.
        spread: how sure the angles are; None: not worked out.
    """
    fields = export.quality_message(
        {},
        number,
        names,
        fit.status,
        fit.differences,
        fit.status == MarkerStatus.USED,
        fit.converged,
        fit.iterations,
        seconds,
        unobservable,
    )
    if spread is not None:
        fields |= {
            "marker_noise": float(spread.noise),
            "joint_names": list(spread.names),
            "joint_std": np.asarray(spread.std, dtype=float).tolist(),
            "hidden_joints": list(spread.hidden),
        }
    return filled(ReconstructionQuality(header=header), fields)


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
    drawn = [_drawing(kind, points) for kind, points in parts.items()]
    return marker_array(drawn, header)


def _drawing(space: str, points: np.ndarray) -> Message:
    lines = space in (RESIDUALS, MISTAKES)
    kind = MarkerType.LINE_LIST if lines else MarkerType.SPHERE_LIST
    scale = np.full(3, _BALL * _SIZES.get(space, 1.0))
    return point_list(marker_message(space, 0, kind, _COLOURS[space], scale), points)
