# SPDX-License-Identifier: Apache-2.0
"""From the laboratory's frame to the model's: heading and place of who stands there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from humans_sim.core.disk_arrays import by_rows
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue
from humans_sim.observation.markers.trial import MarkerTrial

STANDING_SAMPLES = 20
"""First samples in which the person stands."""
ANKLES = ("r_lateral_malleolus", "l_lateral_malleolus")
"""Right and left markers on the ankles."""
HIPS = ("r_trochanterion", "l_trochanterion")
"""Right and left markers on the hips."""
STILL = 0.05
"""Markers of a person that stands move less than this [m]."""
_SMALLEST = 0.02
"""Right and left markers are further apart than this [m]."""
_EXACT = 1e-4
"""A rotation matrix may be wrong by so much; it is rounded in files."""


def standing_frame(
    trial: MarkerTrial,
    ankles: Sequence[str] = ANKLES,
    hips: Sequence[str] = HIPS,
    samples: int = STANDING_SAMPLES,
    *,
    tilt: bool = False,
    ankle_height: float | None = None,
) -> pin.SE3:
    """The frame change that puts a standing person over the origin, facing x.

    The middle of the ankles comes above the origin, and the pelvis faces x. The
    vertical stays that of the laboratory, or becomes the line from the middle of the
    ankles to the middle of the hips.

    Args:
        trial: z up; the person stands in its first samples.
        ankles: right and left marker on the ankles.
        hips: right and left marker on the hips.
        samples: number of the first samples to use.
        tilt: whether the vertical comes from the markers.
        ankle_height: height the middle of the ankles gets [m]; None: the height
            they have.

    Returns:
        Transform from the laboratory's frame to the model's.

    Raises:
        ParameterError: a marker is not there, not seen or moves, or right and left
            are in one place.
    """
    if samples < 1:
        raise ParameterError(f"a person cannot stand for {samples} samples")
    right_ankle, left_ankle = (_place(trial, name, samples) for name in ankles)
    right_hip, left_hip = (_place(trial, name, samples) for name in hips)
    ankle, hip = (right_ankle + left_ankle) / 2, (right_hip + left_hip) / 2
    up = np.array([0.0, 0.0, 1.0])
    if tilt:
        up = _direction(hip - ankle, "the ankles and the hips")
    across = left_hip - right_hip
    left = _direction(across - (across @ up) * up, f"{hips[0]} and {hips[1]}")
    rotation = np.array([np.cross(left, up), left, up])
    place = -rotation @ ankle
    place[2] += ankle[2] if ankle_height is None else ankle_height
    return pin.SE3(rotation, place)


def change_frame(trial: MarkerTrial, transform: pin.SE3) -> MarkerTrial:
    """The trial in another frame, with its force plates."""
    if transform == pin.SE3.Identity():
        return trial
    turn, place = transform.rotation.T, transform.translation
    return replace(
        trial,
        positions=by_rows(lambda p: p @ turn + place, trial.positions),
        plates=tuple(plate.moved(transform) for plate in trial.plates),
    )


def read_frame(value: YamlValue) -> pin.SE3:
    """A frame change from YAML: ``matrix`` (4 rows), or ``translation`` and ``rpy``.

    Roll, pitch and yaw turn about the fixed axes x, y, z [°]; the translation is in
    metres. Both default to nothing.

    Raises:
        ModelFileError: it is none of these, or no rigid motion.
    """
    given = value.fields((), ("matrix", "translation", "rpy"))
    if not given:
        raise value.error("a matrix, or a translation and rpy, are wanted")
    if "matrix" not in given:
        place = (
            given["translation"].vector(3) if "translation" in given else np.zeros(3)
        )
        angles = given["rpy"].vector(3) if "rpy" in given else np.zeros(3)
        return pin.SE3(pin.rpy.rpyToMatrix(*np.radians(angles)), place)
    if len(given) > 1:
        raise value.error("a matrix stands alone, without translation and rpy")
    rows = given["matrix"].items()
    if len(rows) != 4:
        raise given["matrix"].error(f"4 rows are wanted, not {len(rows)}")
    matrix = np.array([row.vector(4) for row in rows])
    rotation = matrix[:3, :3]
    if not np.allclose(matrix[3], (0, 0, 0, 1)):
        raise rows[3].error("the last row of a rigid motion is 0, 0, 0, 1")
    if (
        not np.allclose(rotation @ rotation.T, np.eye(3), atol=_EXACT)
        or np.linalg.det(rotation) < 0
    ):
        raise given["matrix"].error("the upper left 3 by 3 numbers are no rotation")
    left, _, right = np.linalg.svd(rotation)
    return pin.SE3(left @ right, matrix[:3, 3])


def _place(trial: MarkerTrial, name: str, samples: int) -> np.ndarray:
    """Where a marker stands in the first samples (3,)."""
    positions = trial.select([name]).positions[:samples, 0]
    positions = positions[~np.isnan(positions).any(axis=1)]
    if not len(positions):
        raise ParameterError(
            f"the marker '{name}' is not seen in the first {samples} samples: name "
            "another, or give the frame change"
        )
    spread = float(np.linalg.norm(np.ptp(positions, axis=0)))
    if spread > STILL:
        raise ParameterError(
            f"the marker '{name}' moves by {spread:.3f} m in the first {samples} "
            f"samples: nobody stands there; take fewer, or give the frame change"
        )
    mean: np.ndarray = positions.mean(axis=0)
    return mean


def _direction(vector: np.ndarray, between: str) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    if length < _SMALLEST:
        raise ParameterError(f"the markers {between} are in one place: no direction")
    unit: np.ndarray = vector / length
    return unit
