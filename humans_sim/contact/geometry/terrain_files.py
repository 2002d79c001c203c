# SPDX-License-Identifier: Apache-2.0
"""Files of terrain: pictures, arrays and tables of heights, meshes.

Nothing is set aside by what a file says of itself: sizes are compared with the limits
before anything is read.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from humans_sim.core.budget import Budget
from humans_sim.core.errors import FileError, HumansError, ParameterError
from humans_sim.core.files import read_bytes, read_text
from humans_sim.core.npy_header import read_npy_header

MESHES = (".stl", ".obj", ".ply")
"""Formats of meshes, by the endings of their names."""
LARGEST_MESH = 1 << 27
LARGEST_IMAGE = LARGEST_ARRAY = 1 << 26
"""Largest files [bytes]."""
_PICTURES = ("PNG", "TIFF", "BMP", "PPM", "JPEG")
_LEVELS = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0}
"""White, by the mode of a picture."""

Mesh = TypeVar("Mesh")


def read_image(path: Path | str, budget: Budget) -> np.ndarray:
    """Grey levels of a picture, 0 to 1 (nx, ny): right is x, up is y.

    Args:
        path: the file.
        budget: of the pixels.

    Raises:
        FileError: it cannot be read, or has too many pixels.
    """
    from PIL import Image

    data = read_bytes(path, FileError, LARGEST_IMAGE)
    at_file = partial(FileError, path=path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_PICTURES) as picture:
                width, height = picture.size
                budget.check("the picture", width, height, error=at_file)
                if picture.mode not in _LEVELS:
                    grey = picture.convert("L")
                else:
                    grey = picture
                levels = np.asarray(grey, dtype=float) / _LEVELS[grey.mode]
    except HumansError:
        raise
    except Exception as error:  # Pillow's readers raise what they like
        raise FileError(f"not a picture: {error}", path) from error
    if levels.ndim != 2 or min(levels.shape) < 2:
        raise FileError("the picture is smaller than 2 x 2 pixels", path)
    if levels.max() > 1.0:
        raise FileError("the picture has more than 16 bits a pixel", path)
    return np.ascontiguousarray(levels[::-1].T)


def read_heights(path: Path | str, budget: Budget) -> np.ndarray:
    """Heights of an array (``.npy``) or a table (``.csv``), one row for each x.

    Args:
        path: the file.
        budget: of the numbers.

    Raises:
        FileError: it cannot be read, or is too large.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        return _read_array(path, budget.most)
    if suffix == ".csv":
        return _read_table(path, budget)
    raise FileError(f"heights are read from .npy or .csv, not '{suffix}'", path)


def _read_array(path: Path | str, most: int) -> np.ndarray:
    data = read_bytes(path, FileError, LARGEST_ARRAY)
    stream = io.BytesIO(data)
    try:
        header = read_npy_header(stream, 2, most)
        numbers = np.frombuffer(data, header.kind, header.size, stream.tell())
    except Exception as error:  # numpy's reader raises what it likes
        raise FileError(f"not an array of heights: {error}", path) from error
    return numbers.reshape(header.shape, order=header.order).astype(float)


def _read_table(path: Path | str, budget: Budget) -> np.ndarray:
    rows: list[list[float]] = []
    count = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append([float(word) for word in line.split(",")])
        except ValueError:
            raise FileError(
                f"numbers are wanted: '{line[:40]}'", path, number
            ) from None
        count += len(rows[-1])
        budget.check("a table", count, error=partial(FileError, path=path, line=number))
        if len(rows[-1]) != len(rows[0]):
            raise FileError(
                f"{len(rows[-1])} numbers, not {len(rows[0])} as before", path, number
            )
    if not rows:
        raise FileError("the file is empty", path)
    return np.array(rows)


def read_mesh_file(
    path: Path | str, scale: float, make: Callable[[np.ndarray, np.ndarray], Mesh]
) -> Mesh:
    """A mesh of a file, made of its vertices (n, 3) [m] and faces (m, 3).

    Raises:
        FileError: it cannot be read, or its mesh is not sound.
    """
    import trimesh

    suffix = Path(path).suffix.lower()
    if suffix not in MESHES:
        raise FileError(f"meshes are read from {', '.join(MESHES)}", path)
    if not (math.isfinite(scale) and scale > 0):
        raise ParameterError(f"scale must be above zero, not {scale}")
    data = read_bytes(path, FileError, LARGEST_MESH)
    if suffix == ".obj":  # trimesh passes over lines that begin with blanks
        data = re.sub(rb"(?m)^[ \t]+", b"", data)
    try:
        # From memory: what else a file names, such as materials, is not opened.
        mesh = trimesh.load(
            io.BytesIO(data), file_type=suffix[1:], force="mesh", process=False
        )
        vertices, faces = np.asarray(mesh.vertices, float), np.asarray(mesh.faces)
    except Exception as error:  # trimesh and its readers raise what they like
        raise FileError(f"not a mesh: {error}", path) from error
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise FileError(f"vertices have three coordinates, not {vertices.shape}", path)
    try:
        return make(scale * vertices, faces)
    except ParameterError as error:
        raise FileError(str(error), path) from error
