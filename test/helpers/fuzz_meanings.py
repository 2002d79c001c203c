# SPDX-License-Identifier: Apache-2.0
"""What files mean, by simple readings that share no code with the package's own.

Each takes the bytes of a file and gives a few numbers: counts, sums, lengths. A reading
that does not apply gives nothing, and neither does a number that is written in a way it
does not know (an expression, another kind of file): then nothing can be told.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import math
import re
import struct
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import yaml

Meaning = dict[str, float]
"""Numbers by their names."""
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*")
_ARITHMETIC = re.compile(r"[\d.eEhzip+\-*/() \t]+")
_UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
_NIFTI = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2"}


class UnclearError(Exception):
    """A simple reading cannot tell."""


def differences(meaning: Meaning, other: Meaning) -> list[str]:
    """Numbers that both have and that differ, each in words."""
    return [
        f"{name} is {meaning[name]:.12g}, not {value:.12g}"
        for name, value in other.items()
        if name in meaning
        and not math.isclose(meaning[name], value, rel_tol=1e-6, abs_tol=1e-9)
    ]


def told(reading: Callable[[bytes], Meaning], data: bytes) -> Meaning:
    """What a reading gives; nothing where it does not apply."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            meaning = reading(data)
            return {k: float(v) for k, v in meaning.items() if np.isfinite(v)}
    except Exception:  # it is simple: what it does not expect it cannot tell
        return {}


def number(value: Any) -> float:
    """A number as anybody writes it."""
    if not (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise UnclearError(f"{value!r}")
    return float(value)


def total(values: Iterable[Any]) -> float:
    """The sum of numbers."""
    return sum(map(number, values))


def yaml_numbers(
    **named: Callable[[Any], float],
) -> Callable[[bytes], Meaning]:
    """A reading of YAML: numbers by functions of the document, all values words."""

    def reading(data: bytes) -> Meaning:
        document = yaml.load(data.decode("utf-8-sig"), Loader=yaml.BaseLoader)
        meaning: Meaning = {}
        for name, of in named.items():
            try:
                meaning[name] = of(document)
            except (UnclearError, LookupError, TypeError, ValueError, AttributeError):
                continue
        return meaning

    return reading


def yaml_fields(section: str = "") -> Callable[[bytes], Meaning]:
    """A reading of YAML: all plain numbers of a section, by their keys."""

    def reading(data: bytes) -> Meaning:
        document = yaml.load(data.decode("utf-8-sig"), Loader=yaml.BaseLoader)
        fields = document[section] if section else document
        return {
            key: float(text)
            for key, text in fields.items()
            if isinstance(text, str) and _NUMBER.fullmatch(text)
        }

    return reading


def marker_count(document: Any) -> float:
    """Markers of a set: an entry with sides stands for two."""
    return sum(2 if "sides" in entry else 1 for entry in document["markers"])


def network_masses(document: Any) -> float:
    """Masses, held and driven points, and those of boxes."""
    single = sum(len(document.get(key, ())) for key in ("masses", "fixed", "driven"))
    return single + sum(map(_box_count, document.get("boxes", {}).values()))


def network_mass(document: Any) -> float:
    """What they weigh together [kg]."""
    single = total(entry["mass"] for entry in document.get("masses", {}).values())
    boxes = document.get("boxes", {}).values()
    return single + sum(_box_count(box) * number(box["mass"]) for box in boxes)


def _box_count(box: Any) -> float:
    return math.prod(map(number, box["shape"]))


def body_mass(document: Any) -> float:
    """What the bodies of a scene weigh together [kg]."""
    return total(entry["mass"] for entry in document["bodies"].values())


def arrays(*names: str) -> Callable[[bytes], Meaning]:
    """A reading of archives: sums and sizes of arrays."""

    def reading(data: bytes) -> Meaning:
        meaning: Meaning = {}
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            for name in names:
                meaning |= table(name, file[name])
        return meaning

    return reading


def table(name: str, values: Any) -> Meaning:
    """Size and sums of an array of numbers; those that are none are left out."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise UnclearError(name)
    numbers = np.nan_to_num(array.astype(float), nan=0.0, posinf=0.0, neginf=0.0)
    return {
        f"{name} size": array.size,
        f"{name} sum": float(numbers.sum()),
        f"{name} magnitude": float(np.abs(numbers).sum()),
    }


def trajectory_of(positions: np.ndarray) -> Meaning:
    """Frames, markers and where they were, whatever the axes and the unit."""
    squares = np.nansum(np.square(np.asarray(positions, float)), axis=(1, 2))
    half = squares[: len(squares) // 2].sum()
    whole = squares.sum()
    return {
        "frames": len(positions),
        "markers": positions.shape[1],
        "seen": int(np.isfinite(positions).all(axis=2).sum()),
        "first half": half / whole if whole else 0.0,
    }


def trc(data: bytes) -> Meaning:
    """A TRC file: five lines of heading, then a line a frame."""
    lines = data.decode().splitlines()
    heading = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=False))
    labels = [word for word in lines[3].split("\t")[2:] if word.strip()]
    rows = [line.split("\t") for line in lines[5:] if line.strip()]
    width = 2 + 3 * len(labels)
    cells = [
        [number(cell) if cell.strip() else math.nan for cell in row[2:width]]
        for row in rows
    ]
    positions = np.array(cells).reshape(len(rows), len(labels), 3)
    positions[np.isnan(positions).any(axis=2)] = np.nan
    unit = _UNITS[heading["Units"].strip()]
    meaning = trajectory_of(positions)
    return meaning | {"squares": float(np.nansum((unit * positions) ** 2))}


def c3d(data: bytes) -> Meaning:
    """A C3D file of floating-point numbers of Intel's order, by its first block."""
    if data[1] != 0x50 or data[(data[0] - 1) * 512 + 3] != 84:
        raise UnclearError("another order")
    points, channels, first, last = struct.unpack_from("<4H", data, 2)
    (scale,) = struct.unpack_from("<f", data, 12)
    (block,) = struct.unpack_from("<H", data, 16)
    if scale >= 0:
        raise UnclearError("whole numbers")
    count, width = last - first + 1, 4 * points + channels
    values = np.frombuffer(data, "<f4", count * width, 512 * (block - 1))
    marks = values.reshape(count, width)[:, : 4 * points].reshape(count, points, 4)
    positions = marks[:, :, :3].astype(float)
    word = marks[:, :, 3]  # of 16 bits: negative where a marker was not seen
    positions[~((word >= 0) & (word < 1 << 15))] = np.nan
    return trajectory_of(positions)


def columns(skip: int, separator: str = ",") -> Callable[[bytes], Meaning]:
    """A reading of tables: lines and sum of all cells after some lines."""

    def reading(data: bytes) -> Meaning:
        lines = data.decode().splitlines()[skip:]
        rows = [line.split(separator) for line in lines if line.strip()]
        return {"rows": len(rows), "sum": sum(total(row) for row in rows)}

    return reading


def optotrak(data: bytes) -> Meaning:
    """A table of x, y and z with commas, below one line of names."""
    lines = data.decode().splitlines()
    names = lines[0].split(",")
    if len(names) % 3 or not names[0].endswith(" x"):
        raise UnclearError("other columns")
    rows = [line.split(",") for line in lines[1:] if line.strip()]
    cells = [[number(c) if c.strip() else math.nan for c in row] for row in rows]
    positions = np.array(cells).reshape(len(rows), len(names) // 3, 3)
    positions[~(positions > -1e20).all(axis=2)] = np.nan  # how not seen is written
    return trajectory_of(positions)


def motion(data: bytes) -> Meaning:
    """A motion of the Kondo boards: whole numbers below a heading."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    cells = [row for row in rows[1:] if row]
    if rows[0][2:] != [f"ch{k}" for k in range(1, 25)]:
        raise UnclearError("other columns")
    return {"poses": len(cells), "channels": sum(total(row[2:]) for row in cells)}


def forces(data: bytes) -> Meaning:
    """A storage file: rows below ``endheader`` and a line of names."""
    lines = data.decode().splitlines()
    start = next(k for k, line in enumerate(lines) if line.strip() == "endheader")
    names = lines[start + 1].split()
    rows = [line.split() for line in lines[start + 2 :] if line.strip()]
    places = [k for k, name in enumerate(names) if re.fullmatch(r".*_v[xyz]", name)]
    values = [number(row[k]) for row in rows for k in places]
    return {"rows": len(rows), "squares": sum(value**2 for value in values)}


def doubles(data: bytes) -> Meaning:
    """Two whole numbers, then as many doubles as their product."""
    size, samples = struct.unpack_from("<2i", data)
    values = np.frombuffer(data, "<f8", size * samples, 8)
    return {"rows": samples} | table("values", values)


def traj3(data: bytes) -> Meaning:
    """Lines of numbers below the last label."""
    lines = [line.split() for line in data.decode().splitlines() if line.strip()]
    last = max(k for k, line in enumerate(lines) if line[0][0].isalpha())
    rows = lines[last + 1 :]
    return {"points": len(rows), "sum": sum(map(total, rows))}


def expression(data: bytes) -> Meaning:
    """Arithmetic by Python's own rules."""
    text = data.decode().strip()
    if not _ARITHMETIC.fullmatch(text):
        raise UnclearError(text[:20])
    code = compile(ast.parse(text, mode="eval"), "?", "eval")
    return {"value": eval(code, {"__builtins__": {}}, {"h": 1.7, "zhip": 0.2})}


def record(data: bytes) -> Meaning:
    """The summary of a trial."""
    return {"frames": json.loads(data)["summary"]["frames"]}


def heights(data: bytes) -> Meaning:
    """An array, or a table with commas."""
    if data[:6] == b"\x93NUMPY":
        return table("heights", np.load(io.BytesIO(data), allow_pickle=False))
    rows = [line.split(",") for line in data.decode().splitlines() if line.strip()]
    cells = [[number(cell) for cell in row] for row in rows]
    return table("heights", np.array(cells))


def stack(data: bytes) -> Meaning:
    """An array of three axes, or a NIfTI image of plain numbers."""
    if data[:6] == b"\x93NUMPY":
        return table("levels", np.load(io.BytesIO(data), allow_pickle=False))
    if data[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            data = stream.read(1 << 24)
    axes, *shape = struct.unpack_from("<4h", data, 40)
    kind = _NIFTI[struct.unpack_from("<h", data, 70)[0]]
    start, slope, shift = struct.unpack_from("<3f", data, 108)
    if axes != 3 or struct.unpack_from("<i", data)[0] != 348:
        raise UnclearError("another kind")
    if slope == 0 or not math.isfinite(slope):
        slope, shift = 1.0, 0.0
    if not math.isfinite(shift):
        raise UnclearError("scale")
    values = np.frombuffer(data, f"<{kind}", math.prod(shape), int(start))
    return table("levels", slope * values.astype(float) + shift)


def triangles(corners: np.ndarray) -> Meaning:
    """Faces and where they are, of their corners (n, 3, 3)."""
    corners = np.asarray(corners, float)
    return {"faces": len(corners), "squares": float((corners**2).sum())}


def mesh(data: bytes) -> Meaning:
    """An OBJ of triangles, or an STL of either kind."""
    if data[:5] == b"solid" and b"facet" in data:
        words = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
        places = np.array([[number(w.decode()) for w in row] for row in words])
        return triangles(places.reshape(-1, 3, 3))
    if len(data) > 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
        kind = np.dtype([("normal", "<3f4"), ("corners", "<9f4"), ("more", "<u2")])
        found = np.frombuffer(data, kind, offset=84)["corners"]
        return triangles(found.reshape(-1, 3, 3))
    rows = [line.split() for line in data.decode().splitlines()]
    if data[:3] == b"ply" or any(row and row[0] not in "v f # vn" for row in rows):
        raise UnclearError("another kind")
    places = np.array([[number(w) for w in r[1:4]] for r in rows if r[:1] == ["v"]])
    faces = [[int(w.split("/")[0]) for w in r[1:]] for r in rows if r[:1] == ["f"]]
    if any(len(face) != 3 or min(face) < 1 for face in faces):
        raise UnclearError("polygons")
    return triangles(places[np.array(faces) - 1])
