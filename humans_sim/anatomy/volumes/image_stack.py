# SPDX-License-Identifier: Apache-2.0
"""Stacks of images: slices of one size at known places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.core.arrays import finite_array

LARGEST_GAP = 4.0
"""Between neighbouring slices, in usual distances of slices: what may be missing."""
_FINEST, _COARSEST = 1e-6, 0.01
"""Edges of pixels and distances of slices of any image of a bone [m]."""


@dataclass(frozen=True)
class ImageStack:
    """Grey levels of slices.

    Attributes:
        values: (slices, rows, columns), of any kind of numbers.
        positions: of the slices along their normal (slices,), rising [m].
        pixel: height and width of a pixel (2,) [m].
        notes: what was put right, one line each.
    """

    values: np.ndarray
    positions: np.ndarray
    pixel: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no stack.

        Raises:
            ImageStackError: too few slices, a pixel or distance that no image has,
                slices out of order or too far apart, or a value that is not finite.
        """
        values = np.asarray(self.values)
        if values.ndim != 3 or len(values) < 2 or min(values.shape[1:]) < 3:
            raise ImageStackError(
                "a stack has 2 slices or more of 3 x 3 pixels or more, not "
                f"{values.shape}"
            )
        if values.dtype.kind not in "biuf":
            raise ImageStackError(f"grey levels are numbers, not {values.dtype}")
        pixel = finite_array(self.pixel, (2,), "pixel of a stack", ImageStackError)
        places = finite_array(
            self.positions, (len(values),), "positions of slices", ImageStackError
        )
        steps = np.diff(places)
        if not (steps > 0).all():
            bad = int(np.flatnonzero(steps <= 0)[0])
            raise ImageStackError(
                f"slice {bad + 1} lies at {places[bad + 1]:g} m, not beyond slice "
                f"{bad} at {places[bad]:g} m"
            )
        for what, length in (
            ("pixel", pixel.min()),
            ("pixel", pixel.max()),
            ("distance of slices", float(np.median(steps))),
        ):
            check_length(what, float(length))
        if steps.max() > LARGEST_GAP * np.median(steps):
            bad = int(steps.argmax())
            raise ImageStackError(
                f"{steps[bad] / np.median(steps) - 1:.0f} slices are missing after "
                f"slice {bad}: too many to be interpolated"
            )
        if values.dtype.kind == "f":
            _check_finite(values)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "pixel", pixel.copy())
        object.__setattr__(self, "positions", places.copy())


def stack_of(
    values: np.ndarray,
    spacing: Sequence[float],
    missing: Sequence[int] = (),
    replace_nan: float | None = None,
) -> ImageStack:
    """A stack of slices that lie at equal distances.

    Args:
        values: (slices, rows, columns).
        spacing: distance of slices, height and width of a pixel (3,) [m].
        missing: numbers of the slices that are not there, of all of them.
        replace_nan: level in the place of values that are no number; None: they are
            refused.

    Raises:
        ImageStackError: see :class:`ImageStack`.
    """
    values = np.asarray(values)
    notes = []
    size = finite_array(spacing, (3,), "spacing of a stack", ImageStackError)
    for length in size:
        check_length("spacing", float(length))
    if values.ndim != 3:
        raise ImageStackError(f"a stack has three axes, not {values.ndim}")
    gone = sorted({int(n) for n in missing})
    numbers = np.setdiff1d(np.arange(len(values) + len(gone)), gone)
    if len(numbers) != len(values):
        raise ImageStackError(f"slices {gone} cannot be missing of {len(values)}")
    if gone:
        listed = ", ".join(map(str, gone[:8])) + (" ..." if len(gone) > 8 else "")
        notes.append(f"slices {listed} are missing: interpolated from the others")
    if replace_nan is not None and values.dtype.kind == "f":
        wrong = ~np.isfinite(values)
        if wrong.any() and not wrong.all():
            values = np.where(wrong, values.dtype.type(replace_nan), values)
            notes.append(
                f"{np.count_nonzero(wrong)} values that were no numbers became "
                f"{replace_nan:g}"
            )
    return ImageStack(values, size[0] * numbers, size[1:], tuple(notes))


def check_length(what: str, length: float) -> None:
    """Refuse lengths that no image of a bone has.

    Raises:
        ImageStackError: it is not positive, or in another unit.
    """
    if not length > 0:
        raise ImageStackError(f"the {what} must be positive, not {length:g} m")
    if not _FINEST <= length <= _COARSEST:
        raise ImageStackError(
            f"a {what} of {length:g} m is none of an image of a bone: give metres "
            f"(is it {length:g} mm, {length / 1000:g} m?)"
        )


def _check_finite(values: np.ndarray) -> None:
    # One at a time: a stack may be large.
    wrong = [int(np.count_nonzero(~np.isfinite(plane))) for plane in values]
    if sum(wrong) == values.size:
        raise ImageStackError("the stack is empty: none of its values is a number")
    if any(wrong):
        n = next(n for n, count in enumerate(wrong) if count)
        raise ImageStackError(
            f"slice {n} has {wrong[n]} values that are no numbers; replace_nan gives "
            "them a level"
        )
