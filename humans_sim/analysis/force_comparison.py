# SPDX-License-Identifier: Apache-2.0
"""How forces from markers alone agree with force plates, and what plates leave over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.analysis.inverse_dynamics import (
    CUTOFF,
    InverseDynamics,
    inverse_dynamics,
)
from humans_sim.analysis.plate_loads import TIMING
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.ground_reaction import GroundReaction
from humans_sim.observation.posture.result import Reconstruction


@dataclass(frozen=True)
class Agreement:
    """Two vertical forces over the same samples.

    Attributes:
        correlation: Pearson's r.
        rms: root mean square difference, in body weights.
        frames: number of samples.
    """

    correlation: float
    rms: float
    frames: int


@dataclass(frozen=True, eq=False)
class Residual:
    """What is left over at the base, over the samples that plates cover.

    Attributes:
        force_rms: along the world's axes, in body weights (3,).
        force_norm_rms: of the whole vector, in body weights.
        force_max: largest component, in body weights.
        moment_rms: about the world's axes through the base, in body weights times
            stature (3,).
        moment_norm_rms: of the whole vector.
        moment_max: largest component.
        frames: number of samples.
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
    """What is left over at the base, where plates cover all; else over all samples."""
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
    root: np.ndarray = np.sqrt((values**2).mean(axis=0))
    return root


def _agreement(ours: np.ndarray, theirs: np.ndarray, weight: float) -> Agreement:
    n = len(ours)
    if n < 2 or np.ptp(ours) == 0.0 or np.ptp(theirs) == 0.0:
        return Agreement(float("nan"), float("nan"), n)
    correlation = float(np.corrcoef(ours, theirs)[0, 1])
    return Agreement(correlation, float(_rms(ours - theirs)) / weight, n)
