# SPDX-License-Identifier: Apache-2.0
"""Stacks from medical files: NIfTI images and DICOM series.

Both say where their slices lie. Columns, rows and slices of the stack form a
right-handed system, as those of the files do, so that no bone is mirrored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.anatomy.volumes.image_stack import ImageStack, stack_of
from humans_sim.core.budget import PIXELS, check_expansion
from humans_sim.core.errors import FileError, HumansError, MissingDependencyError
from humans_sim.core.files import check_regular

_LARGEST_SLICE = 1 << 28
_SCALED, _SLICE = 8, 4
"""What a value of an image takes while it is scaled, and one of a series [bytes]."""
_DEFLATED = "1.2.840.10008.1.2.1.99"
_UNITS = {"meter": 1.0, "mm": 1e-3, "micron": 1e-6, "unknown": 1e-3}
"""Of a NIfTI image [m]; those that do not say it are in millimetres."""
_ALIKE = 1e-4
"""Direction cosines and pixels of slices of one series."""


def _library(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs {module}: pip install 'humans-sim[images]'"
        ) from error


def read_nifti(path: Path, replace_nan: float | None) -> ImageStack:
    """Read an image of three axes, turned to right, front and top.

    Raises:
        FileError: it is none.
        ImageStackError: its pixels are no stack.
        MissingDependencyError: nibabel is not installed.
    """
    nibabel = _library("nibabel", "a NIfTI file")
    check_regular(path, FileError, _SCALED * PIXELS.most)
    at_file = partial(FileError, path=path)
    try:
        image = nibabel.load(str(path))
        if len(image.shape) != 3:
            raise ValueError(f"an image {image.shape}, not one of three axes")
        count = PIXELS.check("the image", *image.shape, error=at_file)
        stored = image.dataobj
        own = stored.dtype.kind in "biu" and (stored.slope, stored.inter) == (1.0, 0.0)
        held = (stored.dtype.itemsize if own else _SCALED) * count
        check_expansion(held, path.stat().st_size, at_file)
        image = nibabel.as_closest_canonical(image)
        unit = _UNITS[image.header.get_xyzt_units()[0]]
        zooms = np.array(image.header.get_zooms(), dtype=float) * unit
        values = np.asarray(image.dataobj, dtype=None if own else np.float32)
    except HumansError:
        raise
    except Exception as error:  # its readers raise what they like
        raise FileError(f"not a NIfTI image: {error}", path) from error
    return stack_of(
        values.transpose(2, 1, 0), zooms[::-1].tolist(), replace_nan=replace_nan
    )


@dataclass(frozen=True)
class _Slice:
    """One file of a series.

    Attributes:
        path: of the file.
        series: to which it belongs.
        axes: directions of a row's and a column's pixels (2, 3).
        height: along their normal [m].
        pixel: height and width (2,) [m].
        values: (rows, columns).
    """

    path: Path
    series: str
    axes: np.ndarray
    height: float
    pixel: np.ndarray
    values: np.ndarray


def read_dicom(files: Sequence[Path]) -> ImageStack:
    """Read a series of slices, in the order of their places.

    Raises:
        FileError: a file is no slice.
        ImageStackError: files of several series, slices of different sizes or
            directions, or too many missing.
        MissingDependencyError: pydicom is not installed.
    """
    pydicom = _library("pydicom", "a DICOM series")
    slices: list[_Slice] = []
    size = 0
    for path in files:
        check_regular(path, FileError, _LARGEST_SLICE)
        size += path.stat().st_size
        slices.append(_read_slice(pydicom, path, len(slices) + 1, size))
        _check_alike(slices[0], slices[-1])
    slices.sort(key=lambda item: item.height)
    heights = np.array([item.height for item in slices])
    steps = np.diff(heights)
    notes = []
    if len(steps) and steps.max() > 1.5 * np.median(steps) > 0:
        gone = round(float((steps / np.median(steps) - 1).sum()))
        notes.append(f"{gone} slices are missing: interpolated from the others")
    planes = np.stack([item.values for item in slices])
    return ImageStack(planes, heights, slices[0].pixel, tuple(notes))


def _read_slice(pydicom: Any, path: Path, number: int, size: int) -> _Slice:
    """Read a slice, the so many-eth of a series; ``size`` of all so far [bytes]."""
    at_file = partial(FileError, path=path)
    try:
        meta = pydicom.filereader.read_file_meta_info(str(path))
        if getattr(meta, "TransferSyntaxUID", "") == _DEFLATED:
            # pydicom would inflate it whole, however large it becomes.
            raise ValueError("a deflated file: save it without compression")
        item = pydicom.dcmread(str(path))
        axes = np.array(item.ImageOrientationPatient, dtype=float).reshape(2, 3)
        place = np.array(item.ImagePositionPatient, dtype=float).reshape(3)
        sides = (int(item.Rows), int(item.Columns))
        planes = int(getattr(item, "NumberOfFrames", 1) or 1)
        planes *= int(getattr(item, "SamplesPerPixel", 1))
        count = PIXELS.check("the series", number, planes, *sides, error=at_file)
        check_expansion(_SLICE * count, size, at_file)
        slope = float(getattr(item, "RescaleSlope", 1.0))
        shift = float(getattr(item, "RescaleIntercept", 0.0))
        values = (item.pixel_array * slope + shift).astype(np.float32)
        if values.ndim != 2:
            raise ValueError(f"pixels {values.shape}: one grey slice a file is wanted")
        pixel = np.array(item.PixelSpacing, dtype=float).reshape(2) * 1e-3
        series = str(getattr(item, "SeriesInstanceUID", ""))
    except HumansError:
        raise
    except Exception as error:  # its readers raise what they like
        raise FileError(f"not a DICOM slice: {error}", path) from error
    height = float(np.cross(*axes) @ place) * 1e-3
    return _Slice(path, series, axes, height, pixel, values)


def _check_alike(first: _Slice, other: _Slice) -> None:
    """Refuse a slice that is not of the first one's series."""
    different = [
        what
        for what, differs in (
            ("series", other.series != first.series),
            ("size", other.values.shape != first.values.shape),
            ("direction", np.abs(other.axes - first.axes).max() > _ALIKE),
            ("pixel", np.abs(other.pixel / first.pixel - 1).max() > _ALIKE),
        )
        if differs
    ]
    if different:
        raise ImageStackError(
            f"{other.path.name} differs from {first.path.name} in its "
            f"{', '.join(different)}: one series of slices is wanted"
        )
