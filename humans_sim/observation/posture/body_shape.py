# SPDX-License-Identifier: Apache-2.0
r"""How joint centres and markers move when a person's lengths change.

Joint centres and the nominal places of markers are linear in the stature and in the
named lengths, which model files and marker sets use in their expressions; their
derivatives are taken once, by differences. Stature and lengths together are the
*sizes* of a person, stature first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models.axes import to_humans
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.posture.tree import Tree, marker_bodies

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
        tree: of that model.
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
        moved: np.ndarray = self.tree.origin + self.origin_rate @ (sizes - self.sizes)
        return moved

    def locals(self, sizes: np.ndarray) -> np.ndarray:
        """Nominal places of the markers on a person of other sizes (m, 3) [m]."""
        moved: np.ndarray = self.local + self.local_rate @ (sizes - self.sizes)
        return moved


def body_shape(model: Model, marker_set: MarkerSet, source: str | None) -> BodyShape:
    """The shape of a model with a marker set.

    Args:
        model: with a stature.
        marker_set: markers in the order wanted.
        source: name or path of the set, to evaluate it at other sizes; None: places on
            segments are the same at all sizes.

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
