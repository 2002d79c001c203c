# SPDX-License-Identifier: Apache-2.0
r"""A person's sizes and marker places, from standing still and from moving.

Unknown are the sizes s (stature and lengths), the place of each marker on its segment,
and the posture of every frame. They maximise the posterior: markers are measured with
a spread of some millimetres, lengths are near those usual at the stature, left is near
right, a marker is near where its set says, joints are near rest. Gauss-Newton, with the
postures eliminated frame by frame (Schur's complement), since a frame's posture meets
the other frames through sizes and places only.

The posterior's spread beside the prior's says what was seen: where markers did not make
a size or place any surer, it is what tables say, and is reported so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.models.angles import joint_angles
from humans_sim.models.conventions import HUMANS
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index, to_humans, to_ros
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.bundle import Bundle, Frames
from humans_sim.observation.posture.calibration_prior import (
    CalibrationSettings,
    body_shape,
    joint_spreads,
    size_prior,
)
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.subject import Subject, with_marker_positions
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import usual_spread, weakly_seen_joints
from humans_sim.observation.search_settings import SolverSettings

SEEN = 0.7
"""Posterior spread over prior spread above which a number was not seen."""
USUAL_BMI = 22.5
"""Mass over squared stature where nobody says the mass [kg/m^2]."""
_UPRIGHT = math.radians(15.0)
"""Angle that joints of the legs of a person who stands do not exceed [rad]."""
_LOOSE = 0.5
"""Robust scale of the first postures, before sizes are known [m]."""


class CalibrationError(HumansError, ValueError):
    """A person cannot be measured from these trials."""


@dataclass(frozen=True)
class SizeFound:
    """A stature or length, beside the usual one at that stature.

    Attributes:
        name: of the length, or ``height``.
        value: found [m].
        usual: at this stature [m].
        spread: one standard deviation [m].
        bounded: whether it lies on a bound.
    """

    name: str
    value: float
    usual: float
    spread: float
    seen: bool
    bounded: bool


@dataclass(frozen=True)
class MarkerFound:
    """A marker's place on its segment.

    Attributes:
        moved: from where the set has it [m].
        spread: one standard deviation of its place, worst axis [m].
        rms: distance that is left [m].
        seen: whether the trials determine its place.
    """

    name: str
    segment: str
    moved: float
    spread: float
    rms: float
    seen: bool


@dataclass(frozen=True, eq=False)
class Calibration:
    """A person measured from markers.

    Attributes:
        rms: root mean square distance over the frames used [m].
        frames: used.
        mass_given: whether the mass was said, not guessed from the stature.
        missing: markers of the set that no trial had.
        ignored: markers of the trials that the set does not know.
        standing: angles of the legs' joints where nobody moves, by name [rad]; empty
            without such a trial.
    """

    subject: Subject
    sizes: tuple[SizeFound, ...]
    markers: tuple[MarkerFound, ...]
    rms: float
    frames: int
    mass_given: bool
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    standing: Mapping[str, float]

    def standing_angles(self, convention: str | Path = HUMANS) -> dict[str, float]:
        """Angles of the legs where nobody moves, in a convention [rad]."""
        if not self.standing:
            return {}
        model = self.subject.model()
        q = model.neutral()
        for name, angle in self.standing.items():
            q[7 + model.joint_names.index(name)] = angle
        angles = joint_angles(model, q[None], convention)
        return {
            column.name: float(angle)
            for column, angle in zip(angles.joints, angles.values[0], strict=True)
            if column.joints and set(column.joints) <= set(self.standing)
        }

    @property
    def unusual(self) -> tuple[str, ...]:
        """Joints of the legs that are further from zero than a standing person's."""
        return tuple(n for n, angle in self.standing.items() if abs(angle) > _UPRIGHT)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Sizes that the trials do not determine: they stay as tables say."""
        names = [s.name for s in self.sizes if not s.seen]
        names += [m.name for m in self.markers if not m.seen]
        return tuple(names if self.mass_given else [*names, "mass"])


def calibrate(
    model: Model,
    trials: Sequence[MarkerTrial] | MarkerTrial,
    marker_set: str | Path | MarkerSet,
    *,
    places: Mapping[str, np.ndarray] | None = None,
    height: float | None = None,
    mass: float | None = None,
    settings: CalibrationSettings | None = None,
    rest: np.ndarray | None = None,
    title: str = "",
) -> Calibration:
    """Measure a person.

    Args:
        model: a human model to begin with.
        trials: a static trial, and motions if there are; labels of the marker set.
        marker_set: name or path of the set; or the markers themselves, whose places
            do not follow the lengths.
        places: of some markers on their segments where they are not the set's, HuMAnS
            axes [m].
        height: stature, if known [m].
        mass: if known [kg]; else a usual one for the stature.
        settings: how sure everything is beforehand.
        rest: joint angles that a standing person is near [rad]; None: zero.
        title: of the subject.

    Raises:
        CalibrationError: the trials have too few markers.
    """
    settings = settings or CalibrationSettings()
    trials = [trials] if isinstance(trials, MarkerTrial) else list(trials)
    if height is not None:
        model = model.with_height(height)
    source = None if isinstance(marker_set, MarkerSet) else str(marker_set)
    if not isinstance(marker_set, MarkerSet):
        marker_set = load_marker_set(marker_set, model)
    whole = marker_set.moved(places or {})
    labels = [name for trial in trials for name in trial.names]
    known = whole.of(name for name in whole.names if name in labels)
    try:
        solver = PostureSolver(
            model, known, settings=SolverSettings(outlier=_LOOSE), rest=rest
        )
    except ParameterError as error:
        raise CalibrationError(str(error)) from error
    frames = Frames.of(trials, known.names, settings)
    if not len(frames):
        raise CalibrationError("no frame of the trials has three markers of the set")
    shape = body_shape(model, known, source)
    bundle = Bundle(
        shape,
        frames,
        size_prior(shape, settings, height is not None),
        np.abs(to_ros(np.array([marker.spread for marker in known.markers]))),
        np.array([marker.weight for marker in known.markers]),
        solver.rest,
        joint_spreads(
            frames.motion < 0, _supporting(model), _weak_spread(model, known), settings
        ),
        np.array([solver.solve(positions).q for positions in frames.positions]),
        settings.slide_spread,
    )
    bundle.run()
    subject, sizes, markers = _found(model, bundle, known, mass, title)
    distances = bundle.residuals()
    return Calibration(
        subject=subject,
        sizes=sizes,
        markers=markers,
        rms=float(np.sqrt(np.nanmean(distances**2))),
        frames=len(frames),
        mass_given=mass is not None,
        missing=tuple(name for name in whole.names if name not in labels),
        ignored=tuple(dict.fromkeys(n for n in labels if n not in whole.names)),
        standing=_standing(model, bundle),
    )


def _found(
    model: Model, bundle: Bundle, known: MarkerSet, mass: float | None, title: str
) -> tuple[Subject, tuple[SizeFound, ...], tuple[MarkerFound, ...]]:
    shape, k = bundle.shape, len(bundle.sizes)
    spread = np.sqrt(np.diag(bundle.covariance))
    share = spread / bundle.prior_spread()
    height = float(bundle.sizes[0])
    usual = shape.usual + shape.usual_rate * (height - shape.sizes[0])
    low, high = bundle.prior.lower, bundle.prior.upper
    on_bound = (bundle.sizes <= low) | (bundle.sizes >= high)
    sizes = tuple(
        SizeFound(
            name,
            float(bundle.sizes[i]),
            height if i == 0 else float(usual[i - 1]),
            float(spread[i]),
            bool(share[i] < SEEN),
            bool(on_bound[i]),
        )
        for i, name in enumerate(("height", *shape.names))
    )
    distance = np.sqrt(_column_means(bundle.residuals() ** 2))
    places = slice(k, k + bundle.offsets[0].size)
    around = spread[places].reshape(-1, 3).max(axis=1)
    determined = share[places].reshape(-1, 3).max(axis=1) < SEEN
    markers = tuple(
        MarkerFound(
            marker.name,
            marker.segment,
            float(np.linalg.norm(bundle.offsets[0, row])),
            float(around[row]),
            float(distance[row]),
            bool(determined[row]),
        )
        for row, marker in enumerate(known.markers)
    )
    lengths = dict(zip(shape.names, bundle.sizes[1:].tolist(), strict=True))
    local = []  # places in the segments' frames, HuMAnS axes
    for marker, at in zip(known.markers, bundle.places(), strict=True):
        frame = model.pin.frames[frame_index(model.pin, marker.segment)]
        local.append(to_humans(frame.placement.actInv(at)))
    subject = Subject(
        model.name,
        height,
        mass if mass is not None else USUAL_BMI * height**2,
        lengths,
        with_marker_positions(known.markers, np.array(local)),
        title,
    )
    return subject, sizes, markers


def _column_means(values: np.ndarray) -> np.ndarray:
    """Means over what is not NaN; every marker here was seen at least once."""
    present = np.isfinite(values)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _weak_spread(model: Model, known: MarkerSet) -> np.ndarray:
    """Spreads of joints that the markers of motions hardly see, else infinite."""
    bodies = marker_bodies(model, known.moving.markers)
    marked = MarkedTree(Tree.of(model), *bodies)
    weak = weakly_seen_joints(marked, model.joint_names)
    return np.where(weak, usual_spread(marked.tree), np.inf)


def _standing(model: Model, bundle: Bundle) -> dict[str, float]:
    """Angles of the legs' joints where nobody moves [rad]."""
    still = bundle.frames.motion < 0
    if not still.any():
        return {}
    angles = bundle.q[still, 7:].mean(axis=0)
    pairs = zip(model.joint_names, angles, _supporting(model), strict=True)
    return {name: float(angle) for name, angle, supports in pairs if supports}


def _supporting(model: Model) -> np.ndarray:
    """Which joints are between the base and a sole: they bear who stands (n,)."""
    found = np.zeros(len(model.joint_names), dtype=bool)
    for sole in model.soles:
        joint = model.pin.frames[frame_index(model.pin, sole.name)].parentJoint
        for above in model.pin.supports[joint]:
            if above >= 2:
                found[above - 2] = True
    return found
