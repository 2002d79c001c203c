# SPDX-License-Identifier: Apache-2.0
r"""Isotropic volumes from filled contours of slices, by cubic splines.

Perez (1994, 5.3 and annex 10.1): the indicator of the slices is a density F, a tensor
product of cubic B-splines, which interpolates along z and smooths in the slices; the
bone is where F is above one half. Its basis on [0, 1]

.. math:: B(t) = t^3 - 4 (t - \tfrac14)_+^3 + 6 (t - \tfrac12)_+^3
   - 4 (t - \tfrac34)_+^3

is unnormalised: 64/6 times it is a partition of unity. Splines are linear in the
values, so smoothing and resampling of an axis are one matrix.

Departures: positions of slices may be uneven (some are missing), and the signed
distance to the contours can be interpolated instead of their indicator (Raya and Udupa,
1990), which follows contours that move from slice to slice.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import ndimage, sparse
from scipy.interpolate import BSpline, make_interp_spline

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.anatomy.volumes.image_stack import ImageStack
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.core.budget import VOXELS

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
    """The bone whose filled contours a stack has.

    Args:
        stack: of truth values: whether a pixel lies inside the bone.
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
    return np.asarray(inner - ndimage.distance_transform_edt(~contour)) - np.where(
        contour, 0.5, -0.5
    )
