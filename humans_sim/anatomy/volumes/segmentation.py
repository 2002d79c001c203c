# SPDX-License-Identifier: Apache-2.0
r"""Segmentation of bones in grey levels: two thresholds, connected parts, edges.

Perez (1994, 4.3): a high threshold seeds the bones and a low one bounds their growth.
Bones that touch come out as one part. Nothing here splits them: a part with a neck is
reported as probably several bones, for somebody who knows anatomy to decide.

*Contours of neighbouring slices* that belong to one bone: Perez (1994, 4.3) after
Miguet: each contour is replaced by its best-fit ellipse, which is projected on the next
slice. A contour continues the one whose ellipse it meets. The rule is ambiguous where
contours lie close together or slices far apart; it is then reported, with the
candidates, and the nearest one is taken.

*Isotropic volumes* from filled contours, by cubic splines. Perez (1994, 5.3 and annex
10.1): the indicator of the slices is a density F, a tensor product of cubic B-splines,
which interpolates along z and smooths in the slices; the bone is where F is above one
half. Its basis on [0, 1]

.. math:: B(t) = t^3 - 4 (t - \tfrac14)_+^3 + 6 (t - \tfrac12)_+^3
   - 4 (t - \tfrac34)_+^3

is unnormalised: 64/6 times it is a partition of unity. Splines are linear in the
values, so smoothing and resampling of an axis are one matrix.

Departures: positions of slices may be uneven (some are missing), and the signed
distance to the contours can be interpolated instead of their indicator (Raya and Udupa,
1990), which follows contours that move from slice to slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import ndimage, sparse
from scipy.interpolate import BSpline, make_interp_spline

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.anatomy.volumes.image_stack import ImageStack
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.core.budget import VOXELS

_LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""Depths at which a part is looked at, of its greatest depth."""
_BODY = 0.6
"""Depth of a lobe that counts as a bone of its own, of the greatest depth."""


@dataclass(frozen=True)
class Segmentation:
    """Parts of an image.

    Labels of the pixels or voxels are 0 outside, parts from 1 on by falling size, and
    sizes are numbers of these; merged: parts that are probably several bones which
    touch, with how many lobes.
    """

    labels: np.ndarray
    sizes: tuple[int, ...]
    merged: dict[int, int]

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.sizes)


def hysteresis(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Voxels above a low threshold and connected to one above a high one."""
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ImageStackError(
            f"the low threshold {low} must not be above the high one {high}"
        )
    return _seeded(values, low, high)


def _seeded(
    values: np.ndarray, low: float, high: float, near: np.ndarray | None = None
) -> np.ndarray:
    """Connected parts of what is above a threshold, with a seed above another."""
    labels, count = ndimage.label(values >= low, near)
    seeded = np.zeros(count + 1, dtype=bool)
    seeded[labels[values >= high]] = True
    seeded[0] = False
    return np.asarray(seeded[labels])


def segment(
    values: np.ndarray, low: float, high: float, least: int = 1
) -> Segmentation:
    """The parts that two thresholds leave, of some pixels at least.

    Grey levels are (rows, columns) or (slices, rows, columns).
    """
    labels, count = ndimage.label(hysteresis(np.asarray(values), low, high))
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    order = [int(n) for n in np.argsort(sizes)[::-1] if sizes[n] >= max(least, 1)]
    if not order:
        raise ImageStackError(
            f"no part of {least} pixels is above {low:g} with a seed above {high:g}"
        )
    names = np.zeros(count + 1, dtype=np.int32)
    names[order] = np.arange(1, len(order) + 1)
    labels = names[labels]
    merged = {}
    for name, box in enumerate(ndimage.find_objects(labels), 1):
        lobes = count_lobes(labels[box] == name)
        if lobes > 1:
            merged[name] = lobes
    return Segmentation(labels, tuple(int(sizes[n]) for n in order), merged)


def count_lobes(part: np.ndarray) -> int:
    """How many thick lobes a part has that only necks join.

    A neck is thinner than what it joins: below some depth the part falls apart, and a
    piece that is deep itself is a lobe.
    """
    depth = ndimage.distance_transform_edt(np.pad(part, 1))
    deepest = float(depth.max())
    most = 1
    for level in _LEVELS:
        pieces, count = ndimage.label(depth > level * deepest)
        if count > 1:
            peaks = ndimage.maximum(depth, pieces, np.arange(1, count + 1))
            lobes = np.count_nonzero(peaks >= max(_BODY, level + 0.15) * deepest)
            most = max(most, int(lobes))
    return most


def deriche_gradient(values: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """Gradient of an image along rows and columns (2, rows, columns) [1 / pixel].

    By Deriche's recursive filters; smaller alpha smooth more [1 / pixel].
    """
    if not alpha > 0:
        raise ImageStackError(f"alpha must be positive, not {alpha}")
    image = np.asarray(values, dtype=float)
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - e * e)
    gain = (1 - e) ** 3 / (2 * (1 + e) * e)
    poles = [1.0, -2 * e, e * e]
    gradients = []
    for axis in (0, 1):
        # Smoothed across, k (alpha |x| + 1) exp(-alpha |x|), of unit sum.
        across, flipped = 1 - axis, np.flip(image, 1 - axis)
        before = _causal([k, k * e * (alpha - 1)], poles, image, across)
        tail = [0.0, k * e * (alpha + 1), -k * e * e]
        smooth = before + np.flip(_causal(tail, poles, flipped, across), across)
        # The derivative of the same kernel is odd: one side minus the other.
        before = _causal([0.0, e * gain], poles, smooth, axis)
        flipped = np.flip(smooth, axis)
        after = np.flip(_causal([0.0, e * gain], poles, flipped, axis), axis)
        gradients.append(after - before)
    return np.array(gradients)


def edges(
    values: np.ndarray, low: float, high: float, alpha: float = 1.0
) -> np.ndarray:
    """Which pixels of an image (rows, columns) are edges: ridges of the gradient.

    A gradient above the low threshold resumes an edge, one above the high begins one
    [1 / pixel]; alpha is of :func:`deriche_gradient`.
    """
    down, right = deriche_gradient(values, alpha)
    size = np.hypot(down, right)
    safe = np.where(size > 0, size, 1.0)
    rows, columns = np.indices(size.shape, dtype=float)
    ridge = size > 0
    for sign in (1.0, -1.0):
        place = [rows + sign * down / safe, columns + sign * right / safe]
        ridge &= size >= ndimage.map_coordinates(size, place, order=1, mode="nearest")
    return _seeded(np.where(ridge, size, 0.0), low, high, np.ones((3, 3)))


def _causal(
    forward: list[float], poles: list[float], image: np.ndarray, axis: int
) -> np.ndarray:
    """A recursive filter that begins as if the first value had always been there."""
    from scipy.signal import lfilter  # slow to load

    first = np.take(image, [0], axis)
    steady = sum(forward) / sum(poles)
    shifted = lfilter(forward, poles, image - first, axis)
    return np.asarray(shifted + steady * first)


class Contour(NamedTuple):
    """A filled contour of a slice, labelled from 1 on, as an ellipse [pixels].

    Its centre is row and column (2,), its spread the second moments about it (2, 2); an
    ellipse has four times these as squares of its semi-axes.
    """

    slice_number: int
    label: int
    centre: np.ndarray
    spread: np.ndarray
    area: int


class Ambiguity(NamedTuple):
    """A contour that several contours of the next slice could continue, or vice versa.

    The candidates are labels there; forwards: that slice is the next.
    """

    slice_number: int
    label: int
    candidates: tuple[int, ...]
    forwards: bool


@dataclass(frozen=True)
class LinkedContours:
    """Contours of each bone, slice by slice, and where another choice was possible.

    The labels are of the pixels, by bone from 1 on (slices, rows, columns).
    """

    contours: tuple[tuple[Contour, ...], ...]
    ambiguities: tuple[Ambiguity, ...]
    labels: np.ndarray


def link_contours(inside: np.ndarray, least: int = 4) -> LinkedContours:
    """Link the filled contours of a stack (slices, rows, columns) from slice to slice.

    Of a smallest area [pixels]; ImageStackError: there is none.
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
            where = other.slice_number, other.label
            ambiguities.append(Ambiguity(*where, labels, False))
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


NORMALISATION = 64 / 6
"""Of the basis, for a partition of unity."""
_NEGLIGIBLE = 1e-7
_CUBIC = 3
_EMPTY = 2.0
"""Signed distance of a slice without a contour [pixels]."""


def spline_basis(t: np.ndarray) -> np.ndarray:
    """The cubic basis of the annex on [0, 1], zero elsewhere; not normalised."""
    t = np.asarray(t, dtype=float)
    value = t**3
    for knot, weight in ((0.25, -4.0), (0.5, 6.0), (0.75, -4.0)):
        value = value + weight * np.maximum(t - knot, 0.0) ** 3
    return np.where((t > 0) & (t < 1), value, 0.0)


def fill_between_slices(
    stack: ImageStack,
    spacing: float | None = None,
    smoothing: float = 1.0,
    field: Literal["density", "distance"] = "density",
) -> Volume:
    """The bone whose filled contours a stack of truth values has.

    Args:
        stack: whether a pixel lies inside the bone.
        spacing: edge of the volume's voxels [m]; the pixel's width unless given.
        smoothing: pixels for one coefficient of the spline in the slices; 1
            interpolates, 2 is the thesis'.
        field: what is interpolated, the indicator (``density``) or the signed distance
            to the contours (``distance``).

    Raises:
        ImageStackError: the stack has other values, or a number makes no sense.
        AnatomyError: no voxel is inside.
    """
    if stack.values.dtype != np.bool_:
        raise ImageStackError(
            "filled contours are truth values: threshold the stack first "
            f"(segment), it has {stack.values.dtype}"
        )
    if not smoothing >= 1.0:
        raise ImageStackError(f"smoothing is 1 or more, not {smoothing}")
    edge = float(stack.pixel[1]) if spacing is None else float(spacing)
    check_spacing(edge)
    _, rows, columns = stack.values.shape
    pixel = stack.pixel
    deepest = float(stack.positions[-1] - stack.positions[0])
    lengths = np.array([deepest, pixel[0] * (rows - 1), pixel[1] * (columns - 1)])
    VOXELS.check("a volume", *(lengths / edge + 1), error=ImageStackError)
    tall = _resampling(pixel[0] * np.arange(rows), edge, smoothing)
    wide = _resampling(pixel[1] * np.arange(columns), edge, smoothing)
    planes = np.empty((len(stack.values), tall.shape[0], wide.shape[0]), np.float32)
    for plane, contour in zip(planes, stack.values, strict=True):
        level = _signed_distance(contour) if field == "distance" else contour - 0.5
        plane[:] = tall @ (wide @ level.T.astype(float)).T
    deep = _resampling(stack.positions, edge, 1.0)
    flat = planes.reshape(len(planes), -1)
    inside = np.empty((deep.shape[0], *planes.shape[1:]), dtype=bool)
    for k in range(len(inside)):  # a slice at a time: a volume may be large
        inside[k] = (deep[k] @ flat).reshape(planes.shape[1:]) > 0
    origin = np.array([0.0, 0.0, stack.positions[0]])
    return Volume.padded(inside.transpose(2, 1, 0), edge, origin)


def _resampling(places: np.ndarray, edge: float, smoothing: float) -> sparse.csr_matrix:
    """Matrix from values at places to those at every edge, by a cubic spline."""
    count = len(places)
    targets = np.arange(places[0], places[-1] + 1e-9 * edge, edge)
    degree = min(_CUBIC, count - 1)
    if smoothing == 1.0:
        if count == len(targets) and np.allclose(places, targets, rtol=0, atol=1e-12):
            return sparse.identity(count, format="csr")
        spline = make_interp_spline(places, np.eye(count), degree)
        dense = spline(targets)
    else:
        # One coefficient for several values: the least-squares spline, its ends held.
        inner = max(round((count - 1) / smoothing), 1)
        knots = np.linspace(places[0], places[-1], inner + 1)
        full = np.r_[[knots[0]] * degree, knots, [knots[-1]] * degree]
        basis = BSpline.design_matrix(places, full, degree).toarray()
        last = np.minimum(targets, places[-1])
        dense = BSpline.design_matrix(last, full, degree) @ np.linalg.pinv(basis)
    dense[np.abs(dense) < _NEGLIGIBLE] = 0.0
    return sparse.csr_matrix(dense)


def _signed_distance(contour: np.ndarray) -> np.ndarray:
    """Distance to the contour, positive inside [pixels]."""
    # A slice without a border counts as a little outside or inside: the bone ends about
    # halfway to its neighbour, as it does by the indicator.
    if not contour.any():
        return np.full(contour.shape, -_EMPTY)
    if contour.all():
        return np.full(contour.shape, _EMPTY)
    inner = ndimage.distance_transform_edt(contour)
    outer = ndimage.distance_transform_edt(~contour)
    return np.asarray(inner - outer) - np.where(contour, 0.5, -0.5)
