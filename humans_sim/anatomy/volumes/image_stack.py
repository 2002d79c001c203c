# SPDX-License-Identifier: Apache-2.0
"""Stacks of images: slices of one size at known places, and their files.

Files are arrays, folders of pictures, pages of TIFF, and the medical NIfTI images and
DICOM series.

Medical ones say where their slices lie. Columns, rows and slices of the stack form a
right-handed system, as those of the files do, so that no bone is mirrored.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.core.arrays import finite_array
from humans_sim.core.budget import PIXELS, check_expansion
from humans_sim.core.errors import FileError, MissingDependencyError
from humans_sim.core.files import (
    check_regular,
    is_folder,
    open_regular,
    read_bytes,
    reader_errors,
)
from humans_sim.core.npz_file import read_npy_header

LARGEST_GAP = 4.0
"""Between neighbouring slices, in usual distances of slices: what may be missing."""
_FINEST, _COARSEST = 1e-6, 0.01
"""Edges of pixels and distances of slices of any image of a bone [m]."""


@dataclass(frozen=True)
class ImageStack:
    """Grey levels of slices (slices, rows, columns), of any kind of numbers.

    Positions of the slices along their normal rise (slices,), pixels have a height and
    a width (2,) [m]; notes say what was put right.
    """

    values: np.ndarray
    positions: np.ndarray
    pixel: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse too few slices, slices out of order or too far apart, and values.

        ImageStackError: also a pixel or distance that no image has.
        """
        values = np.asarray(self.values)
        if values.ndim != 3 or len(values) < 2 or min(values.shape[1:]) < 3:
            need = "2 slices or more of 3 x 3 pixels or more"
            raise ImageStackError(f"a stack has {need}, not {values.shape}")
        if values.dtype.kind not in "biuf":
            raise ImageStackError(f"grey levels are numbers, not {values.dtype}")
        pixel = finite_array(self.pixel, (2,), "pixel of a stack", ImageStackError)
        wanted, what = (len(values),), "positions of slices"
        places = finite_array(self.positions, wanted, what, ImageStackError)
        steps = np.diff(places)
        if not (steps > 0).all():
            bad = int(np.flatnonzero(steps <= 0)[0])
            raise ImageStackError(
                f"slice {bad + 1} lies at {places[bad + 1]:g} m, not beyond slice "
                f"{bad} at {places[bad]:g} m"
            )
        for length in (pixel.min(), pixel.max()):
            check_length("pixel", float(length))
        check_length("distance of slices", float(np.median(steps)))
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
    """A stack of slices (slices, rows, columns) that lie at equal distances.

    Args:
        values: grey levels.
        spacing: distance of slices, height and width of a pixel (3,) [m].
        missing: numbers of the slices that are not there, of all of them.
        replace_nan: level in the place of values that are no number; None: they are
            refused.
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
    """Refuse lengths that no image of a bone has."""
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
    """Read an image of three axes, turned to right, front and top, by nibabel."""
    nibabel = _library("nibabel", "a NIfTI file")
    check_regular(path, FileError, _SCALED * PIXELS.most)
    at_file = partial(FileError, path=path)
    with reader_errors("a NIfTI image", path):
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
    planes, spacing = values.transpose(2, 1, 0), zooms[::-1].tolist()
    return stack_of(planes, spacing, replace_nan=replace_nan)


@dataclass(frozen=True)
class _Slice:
    """One file of a series.

    Directions of a row's and a column's pixels (2, 3), height along their normal [m],
    height and width of a pixel (2,) [m], and values (rows, columns).
    """

    path: Path
    series: str
    axes: np.ndarray
    height: float
    pixel: np.ndarray
    values: np.ndarray


def read_dicom(files: Sequence[Path]) -> ImageStack:
    """Read a series of slices, in the order of their places, by pydicom.

    Raises:
        FileError: a file is no slice.
        ImageStackError: files of several series, slices of different sizes or
            directions, or too many missing.
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
    with reader_errors("a DICOM slice", path):
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
            raise ValueError(f"pixels {values.shape}: a file must be one grey slice")
        pixel = np.array(item.PixelSpacing, dtype=float).reshape(2) * 1e-3
        series = str(getattr(item, "SeriesInstanceUID", ""))
    height = float(np.cross(*axes) @ place) * 1e-3
    return _Slice(path, series, axes, height, pixel, values)


def _check_alike(first: _Slice, other: _Slice) -> None:
    """Refuse a slice that is not of the first one's series."""
    differences = {
        "series": other.series != first.series,
        "size": other.values.shape != first.values.shape,
        "direction": np.abs(other.axes - first.axes).max() > _ALIKE,
        "pixel": np.abs(other.pixel / first.pixel - 1).max() > _ALIKE,
    }
    different = [what for what, differs in differences.items() if differs]
    if different:
        raise ImageStackError(
            f"{other.path.name} differs from {first.path.name} in its "
            f"{', '.join(different)}: slices must be of one series"
        )


PICTURES = (".png", ".tif", ".tiff")
_LARGEST_PICTURE = 1 << 28
_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2}
"""What a pixel takes, by the mode of its picture; 4 in others."""
_FORMATS = ("PNG", "TIFF")
_MODES = ("L", "I;16", "I;16B", "I", "F")


def read_stack(
    path: Path | str,
    spacing: Sequence[float] | None = None,
    replace_nan: float | None = None,
) -> ImageStack:
    """Read a stack of slices.

    Args:
        path: an array (``.npy``: slices, rows, columns), a TIFF of several pages, a
            folder of PNG or TIFF pictures numbered in their names, a NIfTI file
            (``.nii``, ``.nii.gz``) or a folder of a DICOM series (``.dcm``).
        spacing: distance of slices, height and width of a pixel (3,) [m]; pictures and
            arrays do not say it, the others do.
        replace_nan: see :func:`~humans_sim.anatomy.volumes.image_stack.stack_of`.

    Raises:
        FileError: a file cannot be read.
        ImageStackError: they are no stack.
        MissingDependencyError: the library for NIfTI or DICOM is not installed.
    """
    path = Path(path)
    name = path.name.lower()
    if is_folder(path):
        names = sorted(path.iterdir())
        if any(entry.suffix.lower() == ".dcm" for entry in names):
            return read_dicom([e for e in names if e.suffix.lower() == ".dcm"])
        return _read_pictures(path, names, _known(spacing, path), replace_nan)
    if name.endswith((".nii", ".nii.gz")):
        return read_nifti(path, replace_nan)
    if name.endswith(".npy"):
        size = _known(spacing, path)
        return stack_of(_read_array(path), size, replace_nan=replace_nan)
    if path.suffix.lower() in PICTURES:
        pages = _read_pages(path)
        return stack_of(np.stack(pages), _known(spacing, path), replace_nan=replace_nan)
    raise FileError(
        "stacks are read from .npy, .tif, .nii, .nii.gz and folders of pictures", path
    )


def _known(spacing: Sequence[float] | None, path: Path) -> Sequence[float]:
    if spacing is None:
        raise ImageStackError(
            f"{path.name}: it does not say its spacing; give the distance of slices "
            "and the height and width of a pixel, in metres"
        )
    return spacing


def _read_array(path: Path) -> np.ndarray:
    with open_regular(path, FileError, 8 * PIXELS.most + 4096) as stream:
        with reader_errors("a stack of slices", path):
            header = read_npy_header(stream, 3, PIXELS.most)
            numbers = np.fromfile(stream, header.kind, header.size)
            if len(numbers) != header.size:
                raise ValueError(f"{len(numbers)} numbers for {header.shape}")
    return numbers.reshape(header.shape, order=header.order)


def _read_pictures(
    folder: Path,
    entries: list[Path],
    spacing: Sequence[float],
    replace_nan: float | None,
) -> ImageStack:
    """Pictures in the order of the last number in their names."""
    files: dict[int, Path] = {}
    for entry in entries:
        digits = re.findall(r"\d{1,9}", entry.stem)
        if entry.suffix.lower() not in PICTURES or not digits:
            continue
        number = int(digits[-1])
        if number in files:
            raise ImageStackError(
                f"{folder.name}: two pictures are number {number}: "
                f"{files[number].name} and {entry.name}"
            )
        files[number] = entry
    if len(files) < 2:
        raise ImageStackError(
            f"{folder.name}: must be a folder of numbered pictures "
            f"({', '.join(PICTURES)})"
        )
    numbers = sorted(files)
    span = range(numbers[0], numbers[-1] + 1)
    if len(span) > 4 * len(numbers):
        raise ImageStackError(
            f"{folder.name}: {len(numbers)} pictures are numbered from {numbers[0]} to "
            f"{numbers[-1]}: too many are missing"
        )
    missing = [n - numbers[0] for n in span if n not in files]
    planes: list[np.ndarray] = []
    pixels = size = 0
    for number in numbers:
        size += files[number].stat().st_size
        pages = _read_pages(files[number], pixels, size)
        plane = pages[0]
        if len(pages) > 1 or (planes and plane.shape != planes[0].shape):
            raise ImageStackError(
                f"{files[number].name}: it has {len(pages)} pages of {plane.shape} "
                "pixels; a file must have one page, and all one size"
            )
        pixels += plane.size
        planes.append(plane)
    return stack_of(np.stack(planes), spacing, missing, replace_nan)


def _read_pages(path: Path, pixels: int = 0, size: int = 0) -> list[np.ndarray]:
    """Pages of a picture, after pixels of others of a folder; size of all files so far.

    Of this one unless given [bytes].
    """
    from PIL import Image

    data = read_bytes(path, FileError, _LARGEST_PICTURE)
    at_file = partial(FileError, path=path)
    pages: list[np.ndarray] = []
    with reader_errors("a picture", path):
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
                for page in range(getattr(picture, "n_frames", 1)):
                    picture.seek(page)
                    pixels += picture.width * picture.height
                    PIXELS.check("the stack", pixels, error=at_file)
                    held = _BYTES.get(picture.mode, 4) * pixels
                    check_expansion(held, size or len(data), at_file)
                    grey = picture if picture.mode in _MODES else picture.convert("L")
                    pages.append(np.array(grey))
                    if pages[-1].shape != pages[0].shape:
                        raise ValueError(f"page {page} has another size")
    return pages
