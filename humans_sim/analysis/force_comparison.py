# SPDX-License-Identifier: Apache-2.0
"""Forces from markers compared with force plates, and the residual.

Also largest joint moments, and files that OpenSim reads, on the axes of its ground: x
forward, y up, z right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.analysis.foot_contacts import TIMING
from humans_sim.analysis.inverse_dynamics import (
    CUTOFF,
    InverseDynamics,
    inverse_dynamics,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_lines
from humans_sim.models.model import Model
from humans_sim.models.points import ROS_FROM_HUMANS, to_humans
from humans_sim.observation.markers.force_plate import ForcePlate, GroundReaction
from humans_sim.observation.posture.opensim_files import BASE_COLUMNS, storage_lines
from humans_sim.observation.posture.result import Reconstruction


@dataclass(frozen=True)
class Agreement:
    """Two vertical forces over the same samples.

    Attributes:
        correlation: Pearson's r.
        rms: root mean square difference, in body weights.
    """

    correlation: float
    rms: float
    frames: int


@dataclass(frozen=True, eq=False)
class Residual:
    """The residual at the base, over the samples that plates cover.

    Attributes:
        force_rms: along the world's axes, in body weights (3,).
        force_norm_rms: of the whole vector, in body weights.
        force_max: largest component, in body weights.
        moment_rms: about the world's axes through the base, in body weights times
            stature (3,).
        moment_norm_rms: of the whole vector.
        moment_max: largest component.
    """

    force_rms: np.ndarray
    force_norm_rms: float
    force_max: float
    moment_rms: np.ndarray
    moment_norm_rms: float
    moment_max: float
    frames: int


@dataclass(frozen=True, eq=False)
class ForceComparison:
    """Forces from markers alone against force plates.

    Attributes:
        mass: that was used for both [kg].
        feet: vertical force of each sole that stepped on a plate, from shortly before
            its first load to shortly after its last.
        vertical: the same of all feet together, sample after sample.
        total: sum of the feet while plates carry all of the body.
        residual: with the plates.
        covered: part of the samples in which plates carry all of the body.
        alone: forces from markers alone.
        plates: forces with the plates.
    """

    mass: float
    feet: dict[str, Agreement]
    vertical: Agreement
    total: Agreement
    residual: Residual
    covered: float
    alone: InverseDynamics
    plates: InverseDynamics


def compare_with_plates(
    result: Reconstruction,
    plates: Sequence[ForcePlate | GroundReaction] | None = None,
    *,
    cutoff: float = CUTOFF,
    plate_cutoff: float | None = None,
    mass: float | None = None,
) -> ForceComparison:
    """Compare the vertical force from markers alone with that of plates.

    The ends of the recording, which the low pass spoils, are left out.

    Args:
        result: of a model with soles.
        plates: or forces of a file; None: those of the recording.
        cutoff: low pass of the postures [Hz].
        plate_cutoff: low pass of the plates [Hz], 0 for none; None: the same.
        mass: of the body [kg]; None: by the plates.

    Raises:
        ParameterError: there are no plates, or no foot stepped on one.
    """
    plates = result.trial.plates if plates is None else plates
    if not len(plates):
        raise ParameterError("the recording has no force plates: give a force file")
    measured = inverse_dynamics(
        result, plates, cutoff=cutoff, plate_cutoff=plate_cutoff, mass=mass
    )
    alone = inverse_dynamics(result, (), cutoff=cutoff, mass=measured.mass)
    return comparison(alone, measured)


def comparison(alone: InverseDynamics, measured: InverseDynamics) -> ForceComparison:
    """Compare forces of a motion without and with plates.

    Raises:
        ParameterError: no foot stepped on a plate.
    """
    weight = measured.weight
    rows = {sole: compared_rows(measured, sole) for sole in measured.feet}
    rows = {sole: chosen for sole, chosen in rows.items() if chosen.any()}
    if not rows:
        raise ParameterError("no foot stepped on a force plate alone")
    pairs = {
        sole: (alone.feet[sole][chosen, 2], measured.feet[sole][chosen, 2])
        for sole, chosen in rows.items()
    }
    together = tuple(np.concatenate(side) for side in zip(*pairs.values(), strict=True))
    covered = measured.measured & measured.inner
    return ForceComparison(
        mass=measured.mass,
        feet={sole: _agreement(*pair, weight) for sole, pair in pairs.items()},
        vertical=_agreement(together[0], together[1], weight),
        total=_agreement(alone.ground[covered, 2], measured.ground[covered, 2], weight),
        residual=residual_summary(measured),
        covered=float(measured.measured.mean()),
        alone=alone,
        plates=measured,
    )


def compared_rows(measured: InverseDynamics, sole: str) -> np.ndarray:
    """Samples in which plates give the whole load of a sole, around its steps (n,)."""
    rows = np.zeros(len(measured.t), dtype=bool)
    loads = measured.loads
    if loads is None:
        return rows
    steps = [step for step in loads.steps if step.sole == sole]
    if not steps:
        return rows
    t = measured.t
    first, last = t[steps[0].first], t[steps[-1].last]
    for step in steps:
        first, last = min(first, t[step.first]), max(last, t[step.last])
    rows = (t >= first - TIMING) & (t <= last + TIMING) & measured.inner
    return rows & loads.known[:, list(measured.feet).index(sole)]


def residual_summary(dynamics: InverseDynamics) -> Residual:
    """The residual at the base, where plates cover all; else over all samples."""
    rows = dynamics.inner & (dynamics.measured | (dynamics.loads is None))
    if not rows.any():
        nothing = np.full(3, np.nan)
        return Residual(nothing, np.nan, np.nan, nothing, np.nan, np.nan, 0)
    force = dynamics.residual[rows, :3] / dynamics.weight
    moment = dynamics.residual[rows, 3:] / (dynamics.weight * stature(dynamics.model))
    return Residual(
        force_rms=_rms(force),
        force_norm_rms=float(np.linalg.norm(_rms(force))),
        force_max=float(np.abs(force).max()),
        moment_rms=_rms(moment),
        moment_norm_rms=float(np.linalg.norm(_rms(moment))),
        moment_max=float(np.abs(moment).max()),
        frames=int(rows.sum()),
    )


def stature(model: Model) -> float:
    """Stature [m]; of a robot without one, its height in the zero posture."""
    try:
        return model.height
    except ParameterError:
        tags = model.tags(model.neutral())
        return float(np.ptp(tags[:, 2]))


def _rms(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((values**2).mean(axis=0)))


def _agreement(ours: np.ndarray, theirs: np.ndarray, weight: float) -> Agreement:
    n = len(ours)
    if n < 2 or np.ptp(ours) == 0.0 or np.ptp(theirs) == 0.0:
        return Agreement(float("nan"), float("nan"), n)
    correlation = float(np.corrcoef(ours, theirs)[0, 1])
    return Agreement(correlation, float(_rms(ours - theirs)) / weight, n)


@dataclass(frozen=True)
class PeakMoment:
    """The largest and the smallest moment of a joint [N m/kg], and when [s]."""

    joint: str
    high: float
    high_time: float
    low: float
    low_time: float


def peak_moments(
    dynamics: InverseDynamics, without: Collection[str] = ()
) -> tuple[PeakMoment, ...]:
    """Peaks of the joints but some, where plates cover all if there are plates."""
    rows = dynamics.inner & (dynamics.measured | (dynamics.loads is None))
    if not rows.any():
        return ()
    t, moments = dynamics.t[rows], dynamics.torques[rows] / dynamics.mass
    high, low = moments.argmax(axis=0), moments.argmin(axis=0)
    columns = np.arange(moments.shape[1])
    return tuple(
        PeakMoment(name, *map(float, numbers))
        for name, *numbers in zip(
            dynamics.model.joint_names,
            moments[high, columns],
            t[high],
            moments[low, columns],
            t[low],
            strict=True,
        )
        if name not in without
    )


_TITLE = "Inverse Dynamics Generalized Forces"
"""By which OpenSim's tools know such a file."""


def write_generalised_forces(dynamics: InverseDynamics, path: Path | str) -> Path:
    """Write the generalised forces (``.sto``), as OpenSim's inverse dynamics does.

    After the time [s] come those of the base, which are the residual: moments about the
    axes of its three angles, then the force; then ``<joint>_moment`` [N m, N].
    Coordinates and their signs are those of the motion file
    (:func:`~humans_sim.observation.posture.opensim_files.write_mot`).
    """
    base = [f"{name}_moment" for name in BASE_COLUMNS[:3]]
    base += [f"{name}_force" for name in BASE_COLUMNS[3:]]
    joints = [f"{name}_moment" for name in dynamics.model.joint_names]
    # The residual's moment about the axes of tilt, list and rotation.
    to_ground = Rotation.from_matrix(ROS_FROM_HUMANS.T)
    attitudes = Rotation.from_quat(dynamics.q[:, 3:7])
    angles = (to_ground * attitudes * to_ground.inv()).as_euler("ZXY")
    tilt = Rotation.from_euler("Z", angles[:, :1])
    tilt_list = Rotation.from_euler("ZX", angles[:, :2])
    upright = np.tile([0.0, 0.0, 1.0], (len(angles), 1))
    turned = tilt.apply([1.0, 0.0, 0.0]), tilt_list.apply([0.0, 1.0, 0.0])
    axes = np.stack([upright, *turned], axis=1)
    moments = np.einsum("nij,nj->ni", axes, to_humans(dynamics.residual[:, 3:]))
    values = [dynamics.t[:, None], moments]
    values += [to_humans(dynamics.residual[:, :3]), dynamics.torques]
    return _write(path, _TITLE, ["time", *base, *joints], np.hstack(values))


def write_external_loads(dynamics: InverseDynamics, path: Path | str) -> Path:
    """Write the forces of the ground on the feet (``.mot``).

    Columns are ``ground_force_r_vx`` and so on of the force, ``ground_force_r_px`` of
    the centre of pressure on the floor, ``ground_torque_r_x`` of the moment about it,
    for the right and the left foot; a foot without load keeps its last point.
    :func:`humans_sim.read_force_file` reads it.
    """
    names, values = ["time"], [dynamics.t[:, None]]
    for sole in sorted(dynamics.feet, reverse=True):
        side = sole.removesuffix("_sole")
        names += [f"ground_force_{side}_v{axis}" for axis in "xyz"]
        names += [f"ground_force_{side}_p{axis}" for axis in "xyz"]
        names += [f"ground_torque_{side}_{axis}" for axis in "xyz"]
        reaction = dynamics.reaction(sole)
        values += [to_humans(reaction.force), to_humans(_held(reaction.point))]
        values += [to_humans(reaction.torque)]
    return _write(path, Path(path).stem, names, np.hstack(values))


def _held(points: np.ndarray) -> np.ndarray:
    """Points, the nearest one in time where there is none; zero without any."""
    there = np.flatnonzero(np.isfinite(points).all(axis=1))
    if not len(there):
        return np.zeros_like(points)
    rows = np.arange(len(points))
    after = np.clip(np.searchsorted(there, rows), 0, len(there) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(there[before] - rows) <= np.abs(there[after] - rows)
    return np.asarray(points[np.where(nearer, there[before], there[after])])


def _write(
    path: Path | str, title: str, names: Sequence[str], values: np.ndarray
) -> Path:
    path = Path(path)
    write_lines(path, storage_lines(title, len(values), names, [values], degrees=False))
    return path
