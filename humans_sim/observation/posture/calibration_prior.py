# SPDX-License-Identifier: Apache-2.0
"""The prior of a calibration: sizes of a person before it is measured.

Joint centres and the nominal places of markers are linear in the stature and in the
named lengths, which model files and marker sets use in their expressions; their
derivatives are taken once, by differences. Stature and lengths together are the
*sizes* of a person, stature first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.model import Model
from humans_sim.models.points import to_humans
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.posture.tree_kernels import Tree, marker_bodies
from humans_sim.observation.search_settings import Ranged, ranged

_STEP = 0.01
"""Change of a size for a difference, as a share of it."""


@dataclass(frozen=True, eq=False)
class BodyShape:
    """Tree and markers of a person as linear functions of its sizes.

    Attributes:
        names: of the lengths, without the stature.
        sizes: those of the model it was made from: stature, lengths (1 + k,) [m].
        usual: lengths that are usual at that stature (k,) [m].
        usual_rate: their change with the stature (k,).
        bodies: that carry the markers (m,).
        local: nominal places of the markers in their bodies' frames (m, 3) [m].
        origin_rate: change of joint origins with the sizes (n, 3, 1 + k).
        local_rate: change of the nominal places with the sizes (m, 3, 1 + k).
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    usual: np.ndarray
    usual_rate: np.ndarray
    tree: Tree
    bodies: np.ndarray
    local: np.ndarray
    origin_rate: np.ndarray
    local_rate: np.ndarray

    def origins(self, sizes: np.ndarray) -> np.ndarray:
        """Joint origins of a person of other sizes (n, 3) [m]."""
        return np.asarray(self.tree.origin + self.origin_rate @ (sizes - self.sizes))

    def locals(self, sizes: np.ndarray) -> np.ndarray:
        """Nominal places of the markers on a person of other sizes (m, 3) [m]."""
        return np.asarray(self.local + self.local_rate @ (sizes - self.sizes))


def body_shape(model: Model, marker_set: MarkerSet, source: str | None) -> BodyShape:
    """The shape of a model with a stature, with the markers of a set in their order.

    With the name or path of the set (``source``) their places are evaluated at other
    sizes; without one they are the same on their segments at all sizes.

    Raises:
        ParameterError: the model has no stature or lengths.
    """
    lengths = model.lengths
    if not lengths:
        raise ParameterError(f"{model.name} has no lengths to calibrate")
    names = tuple(lengths)
    values = np.array(list(lengths.values()))
    sizes = np.concatenate([[model.height], values])

    tree = Tree.of(model)

    def parts(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Joint origins and marker places of a person of these sizes."""
        given = dict(zip(names, sizes[1:].tolist(), strict=True))
        parameters = {**model.parts.parameters, "h": float(sizes[0])}
        file = TreeFile(model.parts.source, parameters, given)
        described = file.describe()
        at = {joint.name: joint.origin for joint in described.joints}
        origin = np.zeros_like(tree.origin)
        origin[1:] = [at[name] for name in model.joint_names]
        if source is None:
            same = marker_set
        elif source == CANONICAL:
            tags = {tag.name: to_humans(tag.position) for tag in described.tags}
            same = marker_set.moved(tags)
        else:
            same = load_marker_set(source, model, file.names).of(marker_set.names)
        return origin, marker_bodies(model, same.markers)[1]

    bodies, local = marker_bodies(model, marker_set.markers)
    start = parts(sizes)
    rates: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for k in range(len(sizes)):
        step = np.zeros(len(sizes))
        step[k] = _STEP * sizes[k]
        for rate, before, after in zip(rates, start, parts(sizes + step), strict=True):
            rate.append((after - before) / step[k])
    # Thick skin says nothing of the stature: markers follow the lengths alone.
    rates[1][0][:] = 0.0
    usual = np.array(list(model.with_height(model.height).lengths.values()))
    taller = model.with_height(model.height * (1.0 + _STEP))
    rise = np.array(list(taller.lengths.values())) - usual
    return BodyShape(
        names=names,
        sizes=sizes,
        usual=usual,
        usual_rate=rise / (_STEP * model.height),
        tree=tree,
        bodies=bodies,
        local=local,
        origin_rate=np.stack(rates[0], axis=2),
        local_rate=np.stack(rates[1], axis=2),
    )


@dataclass(frozen=True)
class CalibrationSettings(Ranged):
    """How sure everything is beforehand; each is one standard deviation.

    Attributes:
        static_noise: of a marker while standing [m].
        motion_noise: of a marker on moving skin [m].
        height_spread: of the stature, where it is not said [m].
        length_spread: of a length, as a share of the usual one at the stature.
        side_spread: of left against right, as a share of the length.
        slide_spread: of a marker in a motion about its place while standing [m].
        joint_spread: of a joint about rest; less where markers hardly see it [rad].
        standing_spread: of a joint of the legs about rest, while standing [rad].
        bound: lengths stay between the usual one over this and times this.
        static_frames: frames taken of a trial in which nobody moves.
        motion_frames: frames taken of a motion.
        motion_frames_alone: how many of them count: skin moves alike in like postures.

    Raises:
        ParameterError: a setting is out of its range.
    """

    static_noise: float = ranged(0.003, 1e-6, 1e6)
    motion_noise: float = ranged(0.01, 1e-6, 1e6)
    height_spread: float = ranged(0.15, 1e-6, 1e6)
    length_spread: float = ranged(0.1, 1e-6, 1e6)
    side_spread: float = ranged(0.02, 1e-6, 1e6)
    slide_spread: float = ranged(0.015, 1e-6, 1e6)
    joint_spread: float = ranged(1.0, 1e-6, 1e6)
    standing_spread: float = ranged(0.15, 1e-6, 1e6)
    bound: float = ranged(1.5, 1.0, 1e6)
    static_frames: int = ranged(3, 1.0, 1e6)
    motion_frames: int = ranged(40, 1.0, 1e6)
    motion_frames_alone: int = ranged(10, 1.0, 1e6)


KNOWN_HEIGHT = 0.01
"""Spread of a stature that was said [m]."""
_SHORTEST = 0.03
"""Spread of a short length: a shoe or soft tissue add to it [m]."""
_SIDES = 0.002
"""Least spread of left against right [m]."""


@dataclass(frozen=True, eq=False)
class SizePrior:
    """Rows E s = d that sizes s obey to within one, and bounds of the sizes."""

    rows: np.ndarray
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def joint_spreads(
    still: np.ndarray,
    supporting: np.ndarray,
    weak: np.ndarray,
    settings: CalibrationSettings,
) -> np.ndarray:
    """How far joints are from rest (frames, joints) [rad].

    Args:
        still: frames in which nobody moves (frames,).
        supporting: joints of the legs (joints,).
        weak: spreads of joints that markers hardly see, else infinite (joints,) [rad];
            such a joint would take up what skin does, and places of markers with it.
        settings: of the calibration.
    """
    loose = np.minimum(settings.joint_spread, weak)
    standing = np.where(supporting, np.minimum(settings.standing_spread, loose), loose)
    return np.where(still[:, None], standing, loose)


def size_prior(
    shape: BodyShape, settings: CalibrationSettings, height_known: bool
) -> SizePrior:
    """Lengths are near those usual at the stature, and left is near right."""
    count = len(shape.sizes)
    spread = np.maximum(
        settings.length_spread * shape.usual, np.minimum(_SHORTEST, 0.75 * shape.usual)
    )
    rows, values = [], []

    def add(row: np.ndarray, value: float, sigma: float) -> None:
        rows.append(row / sigma)
        values.append(value / sigma)

    unit = np.eye(count)
    height = shape.sizes[0]
    add(unit[0], height, KNOWN_HEIGHT if height_known else settings.height_spread)
    for i in range(count - 1):
        row = unit[i + 1] - shape.usual_rate[i] * unit[0]
        add(row, shape.usual[i] - shape.usual_rate[i] * height, spread[i])
    place = {name: i for i, name in enumerate(shape.names)}
    for name, i in place.items():
        other = place.get(f"l_{name[2:]}") if name.startswith("r_") else None
        if other is not None:
            sigma = max(settings.side_spread * shape.usual[i], _SIDES)
            add(unit[i + 1] - unit[other + 1], 0.0, sigma)
    usual = np.concatenate([[height], shape.usual])
    # Short ones may grow more: a foot in its shoe stands higher than a bare one.
    slack = np.concatenate([[0.0], 3 * spread])
    return SizePrior(
        np.array(rows),
        np.array(values),
        usual / settings.bound,
        usual * settings.bound + slack,
    )
