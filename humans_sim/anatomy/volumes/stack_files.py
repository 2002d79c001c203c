# SPDX-License-Identifier: Apache-2.0
"""Stacks from files: arrays, folders of pictures, pages of TIFF.

Medical files are those of :mod:`humans_sim.anatomy.volumes.medical_files`.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from humans_sim.anatomy.errors import ImageStackError
from humans_sim.anatomy.volumes.image_stack import ImageStack, stack_of
from humans_sim.anatomy.volumes.medical_files import read_dicom, read_nifti
from humans_sim.core.budget import PIXELS, check_expansion
from humans_sim.core.errors import FileError, HumansError
from humans_sim.core.files import is_folder, open_regular, read_bytes
from humans_sim.core.npy_header import read_npy_header

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
        try:
            header = read_npy_header(stream, 3, PIXELS.most)
            numbers = np.fromfile(stream, header.kind, header.size)
            if len(numbers) != header.size:
                raise ValueError(f"{len(numbers)} numbers for {header.shape}")
        except Exception as error:  # numpy's reader raises what it likes
            raise FileError(f"not a stack of slices: {error}", path) from error
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
            f"{folder.name}: a folder of numbered pictures ({', '.join(PICTURES)}) is "
            "wanted"
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
                "pixels; one page a file, all of one size, is wanted"
            )
        pixels += plane.size
        planes.append(plane)
    return stack_of(np.stack(planes), spacing, missing, replace_nan)


def _read_pages(path: Path, pixels: int = 0, size: int = 0) -> list[np.ndarray]:
    """Pages of a picture, after others of a folder.

    Args:
        path: the picture.
        pixels: of those before.
        size: of all files so far; of this one unless given [bytes].
    """
    from PIL import Image

    data = read_bytes(path, FileError, _LARGEST_PICTURE)
    at_file = partial(FileError, path=path)
    pages: list[np.ndarray] = []
    try:
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
    except HumansError:
        raise
    except Exception as error:  # Pillow's readers raise what they like
        raise FileError(f"not a picture: {error}", path) from error
    return pages
