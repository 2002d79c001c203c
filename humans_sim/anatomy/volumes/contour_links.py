# SPDX-License-Identifier: Apache-2.0
"""Which contours of neighbouring slices belong to one bone.

Perez (1994, 4.3) after Miguet: each contour is replaced by its best-fit ellipse, which
is projected on the next slice. A contour continues the one whose ellipse it meets. The
rule is ambiguous where contours lie close together or slices far apart; it is then
reported, with the candidates, and the nearest one is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from humans_sim.anatomy.errors import ImageStackError


class Contour(NamedTuple):
    """A filled contour of a slice as an ellipse.

    Attributes:
        slice_number: which slice.
        label: of the part in the slice, from 1 on.
        centre: row and column (2,) [pixels].
        spread: second moments about the centre (2, 2) [pixels^2]; an ellipse has four
            times these as squares of its semi-axes.
        area: [pixels].
    """

    slice_number: int
    label: int
    centre: np.ndarray
    spread: np.ndarray
    area: int


class Ambiguity(NamedTuple):
    """A contour that several contours of the next slice could continue, or vice versa.

    Attributes:
        slice_number: of the contour.
        label: of the contour in its slice.
        candidates: labels in the neighbouring slice.
        forwards: whether that slice is the next, or the one before.
    """

    slice_number: int
    label: int
    candidates: tuple[int, ...]
    forwards: bool


@dataclass(frozen=True)
class LinkedContours:
    """Contours put together to bones.

    Attributes:
        contours: of each bone, slice by slice.
        ambiguities: where another choice was possible.
        labels: of the pixels, by bone from 1 on (slices, rows, columns).
    """

    contours: tuple[tuple[Contour, ...], ...]
    ambiguities: tuple[Ambiguity, ...]
    labels: np.ndarray


def link_contours(inside: np.ndarray, least: int = 4) -> LinkedContours:
    """Link the filled contours of a stack from slice to slice.

    Args:
        inside: whether a pixel lies in a bone (slices, rows, columns).
        least: smallest area of a contour [pixels].

    Raises:
        ImageStackError: there is no contour.
    """
    inside = np.asarray(inside, dtype=bool)
    if inside.ndim != 3:
        raise ImageStackError(f"contours lie in slices: three axes, not {inside.ndim}")
    planes = [_contours(n, plane, least) for n, plane in enumerate(inside)]
    if not any(contours for contours, _ in planes):
        raise ImageStackError(f"no slice has a contour of {least} pixels")
    bones: list[list[Contour]] = []
    ambiguities: list[Ambiguity] = []
    last: dict[int, int] = {}
    labels = np.zeros(inside.shape, dtype=np.int32)
    for n, (contours, parts) in enumerate(planes):
        before = planes[n - 1][0] if n else []
        chosen = _linked(before, contours, ambiguities)
        now: dict[int, int] = {}
        names = np.zeros(max((c.label for c in contours), default=0) + 1, np.int32)
        for contour in contours:
            previous = chosen.get(contour.label)
            if previous is None:
                bones.append([])
                bone = len(bones) - 1
            else:
                bone = last[previous]
            bones[bone].append(contour)
            now[contour.label] = bone
            names[contour.label] = bone + 1
        labels[n] = names[np.where(parts < len(names), parts, 0)]
        last = now
    return LinkedContours(tuple(map(tuple, bones)), tuple(ambiguities), labels)


def _contours(
    number: int, plane: np.ndarray, least: int
) -> tuple[list[Contour], np.ndarray]:
    parts, count = ndimage.label(plane)
    contours: list[Contour] = []
    names = np.zeros(count + 1, dtype=np.int32)
    for label, box in enumerate(ndimage.find_objects(parts), 1):
        rows, columns = np.nonzero(parts[box] == label)
        if len(rows) < least:
            continue
        places = np.column_stack([rows + box[0].start, columns + box[1].start])
        centre = places.mean(axis=0)
        arms = places - centre
        # A pixel is a square: its own spread keeps thin contours from having none.
        spread = arms.T @ arms / len(arms) + np.eye(2) / 12
        names[label] = len(contours) + 1
        contours.append(Contour(number, len(contours) + 1, centre, spread, len(places)))
    return contours, names[parts]


def _linked(
    before: list[Contour], after: list[Contour], ambiguities: list[Ambiguity]
) -> dict[int, int]:
    """Contour before of each contour after; candidates meet as ellipses."""
    nearness = np.full((len(before), len(after)), np.inf)
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            nearness[i, j] = _separation(one, other)
    meets = nearness < 1.0
    for i, one in enumerate(before):
        if np.count_nonzero(meets[i]) > 1:
            labels = tuple(after[j].label for j in np.flatnonzero(meets[i]))
            ambiguities.append(Ambiguity(one.slice_number, one.label, labels, True))
    for j, other in enumerate(after):
        if np.count_nonzero(meets[:, j]) > 1:
            labels = tuple(before[i].label for i in np.flatnonzero(meets[:, j]))
            ambiguities.append(
                Ambiguity(other.slice_number, other.label, labels, False)
            )
    chosen: dict[int, int] = {}
    taken: set[int] = set()
    for flat in np.argsort(nearness, axis=None):
        i, j = divmod(int(flat), len(after))
        if not meets[i, j]:
            break
        if after[j].label in chosen or before[i].label in taken:
            continue
        chosen[after[j].label] = before[i].label
        taken.add(before[i].label)
    return chosen


def _separation(one: Contour, other: Contour) -> float:
    """Distance of the centres over the reach of both ellipses along it: below 1 meet.

    The reach of an ellipse in a direction is that of its tangent across it, so ellipses
    side by side that come near each other count as meeting: rather ambiguous than
    wrong.
    """
    arm = other.centre - one.centre
    length = float(np.linalg.norm(arm))
    if length == 0.0:
        return 0.0
    along = arm / length
    reach = sum(2 * np.sqrt(along @ c.spread @ along) for c in (one, other))
    return length / float(reach)
