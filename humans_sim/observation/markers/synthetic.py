# SPDX-License-Identifier: Apache-2.0
"""Markers of a motion that is known, as cameras would see them: for tests and shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.control.trajectories.trajectory import Sway
from humans_sim.core.budget import FRAMES
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.models.points import PointSet, frame_index, to_ros
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.markers.trial import MarkerTrial

Motion = Callable[[float], np.ndarray]
"""Configuration (nq,) at a time [s]."""


def synthetic_trial(
    model: Model,
    marker_set: MarkerSet | str | Path = CANONICAL,
    motion: Motion | None = None,
    *,
    duration: float = 4.0,
    rate: float = 100.0,
    noise: float = 0.0,
    dropout: float = 0.0,
    gap: float = 0.1,
    seed: int = 0,
) -> MarkerTrial:
    """Markers on a model that moves.

    The same arguments give the same trial.

    Args:
        model: that carries the markers.
        marker_set: where they are, or the name or path of a set.
        motion: configuration over time; None takes :func:`swaying`.
        duration: the samples are at 0, 1/rate, ... before it [s].
        rate: samples a second [Hz].
        noise: standard deviation of each coordinate [m].
        dropout: share of the samples of each marker that are not seen, 0 to 0.9.
        gap: mean length of an occlusion [s]; 0 makes each sample its own.
        seed: of the noise and the occlusions.

    Raises:
        ParameterError: a number is out of its range.
    """
    count = _count(duration, rate)
    if not (math.isfinite(noise) and noise >= 0):
        raise ParameterError(f"noise must be 0 m or more, not {noise:g}")
    if not 0 <= dropout <= 0.9:
        raise ParameterError(f"dropout must be 0 to 0.9, not {dropout:g}")
    if not (math.isfinite(gap) and gap >= 0):
        raise ParameterError(f"gap must be 0 s or more, not {gap:g}")
    if not isinstance(marker_set, MarkerSet):
        marker_set = load_marker_set(marker_set, model)
    motion = swaying(model) if motion is None else motion
    times = np.arange(count) / rate
    q = np.array([motion(float(t)) for t in times])
    positions = marker_positions(model, marker_set, q)
    rng = np.random.default_rng(seed)
    positions += noise * rng.normal(size=positions.shape)
    lost = _occlusions(rng, positions.shape[:2], dropout, gap * rate)
    positions[lost] = np.nan
    return MarkerTrial(marker_set.names, times, positions, np.arange(1, count + 1))


def marker_positions(model: Model, marker_set: MarkerSet, q: np.ndarray) -> np.ndarray:
    """Where the markers of a set are in postures (n, nq): (n, m, 3) [m]."""
    joints, local = [], []
    for marker in marker_set.markers:
        frame = model.pin.frames[frame_index(model.pin, marker.segment)]
        joints.append(int(frame.parentJoint))
        local.append(frame.placement.act(to_ros(marker.at)))
    points = PointSet(model.pin, joints, np.array(local))
    data = model.data()
    rows = np.empty((len(q), len(joints), 3))
    for row, posture in enumerate(q):
        pin.forwardKinematics(model.pin, data, model.check_configuration(posture))
        rows[row] = points.positions(data)
    return rows


def swaying(model: Model, sway: Sway | None = None) -> Motion:
    """The motion of a model that sways, the lowest foot on the ground.

    Args:
        model: that moves.
        sway: of its joints; None takes the one that comes with the package.
    """
    own = Sway.of_model(model) if sway is None else sway
    return lambda t: model.standing(own.at(t)[0])


def swapped(
    trial: MarkerTrial, pair: Sequence[str], start: float, end: float
) -> MarkerTrial:
    """The trial with two markers mistaken for each other from start to end [s].

    Raises:
        ParameterError: a marker is not there.
    """
    chosen = (trial.times >= start) & (trial.times <= end)
    both = trial.select(pair).positions
    positions = trial.positions.copy()
    for name, other in zip(pair, (1, 0), strict=True):
        positions[chosen, trial.names.index(name)] = both[chosen, other]
    return trial.moved(positions)


def _count(duration: float, rate: float) -> int:
    for word, value in (("duration", duration), ("rate", rate)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{word} must be above 0, not {value:g}")
    what = f"a duration of {duration:g} s at {rate:g} Hz"
    return FRAMES.check(what, np.ceil(duration * rate - 1e-9))


def _occlusions(
    rng: np.random.Generator, shape: tuple[int, ...], share: float, mean: float
) -> np.ndarray:
    """Samples not seen (n, m): a share of them, in gaps of ``mean`` samples.

    Each marker is lost and found again by chance, the first sample by the same odds.
    """
    chance = rng.random(shape)
    reappearance = 1.0 / max(mean, 1.0 / (1.0 - share))
    lost = reappearance * share / (1.0 - share)
    gone = np.zeros(shape, dtype=bool)
    gone[0] = chance[0] < share
    for row in range(1, shape[0]):
        gone[row] = np.where(
            gone[row - 1], chance[row] >= reappearance, chance[row] < lost
        )
    return gone
