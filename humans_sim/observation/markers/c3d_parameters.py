# SPDX-License-Identifier: Apache-2.0
"""Header and parameters of a C3D file, read within the bounds of the file.

The format is that of the C3D user guide (c3d.org): blocks of 512 bytes; the first holds
ten numbers about the data; the parameters follow, each in a group, as ``POINT:RATE``.
Nothing that the file claims is believed before the bytes are there. What programs of
many years got wrong is read where only one reading is possible, and noted: parameters
beyond their declared end, a last pointer that leads nowhere, contents cut short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.errors import printable
from humans_sim.observation.markers.errors import MarkerFileError

BLOCK = 512
MOST = 0xFFFF
"""What a 16-bit count shows when the true one is larger."""
_KEY = 0x50
_INTEL, _DEC, _MIPS = 84, 85, 86
_TYPES = {-1: 1, 1: 1, 2: 2, 4: 4}
"""Bytes of an element: text, byte, integer, real."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as it lies in the file.

    Attributes:
        kind: -1 text, 1 byte, 2 integer, 4 real.
        shape: its dimensions, the first one running fastest; () for a single number.
        data: its bytes.
    """

    kind: int
    shape: tuple[int, ...]
    data: bytes


class C3dHead:
    """What stands before the data of a C3D file.

    Attributes:
        points: in a frame.
        analog: analogue values in a frame.
        first_frame: its number.
        last_frame: its number.
        scale: of integers; negative where the data are reals.
        data_block: block in which the data begin, counted from 1.
        subframes: analogue samples in a frame.
        rate: frames a second [Hz].
        parameters: by ``GROUP:NAME``, in capitals.
        notes: what was read although the file is not as it should be.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        """Read header and parameters.

        Raises:
            MarkerFileError: they are not sound.
        """
        self.path = path
        self._data = data
        if len(data) < BLOCK:
            raise self.error(
                f"the file ends within its header, after {len(data)} bytes", 0
            )
        if data[1] != _KEY:
            raise self.error(f"a C3D file has 0x50 here, not 0x{data[1]:02x}", 1)
        start = (data[0] - 1) * BLOCK
        if start < BLOCK or start + 4 > len(data):
            raise self.error(
                f"the parameters should begin in block {data[0]}, which is not there", 0
            )
        processor = data[start + 3]
        if processor not in (_INTEL, _DEC, _MIPS):
            raise self.error(
                f"the processor {processor} is not known (84 Intel, 85 DEC, 86 MIPS)",
                start + 3,
            )
        self._dec = processor == _DEC
        self._order = ">" if processor == _MIPS else "<"
        words = np.frombuffer(data, f"{self._order}u2", count=12).tolist()
        self.points, self.analog = words[1], words[2]
        self.first_frame, self.last_frame = words[3], words[4]
        self.scale = float(self.reals(data[12:16])[0])
        self.data_block, self.subframes = words[8], words[9]
        self.rate = float(self.reals(data[20:24])[0])
        self.notes: list[str] = []
        self.parameters = self._read_parameters(start)

    def error(self, message: str, where: int | str) -> MarkerFileError:
        """An error that points at a byte or a parameter."""
        key = f"byte {where}" if isinstance(where, int) else where
        return MarkerFileError(message, self.path, key=key)

    @property
    def words(self) -> bytes:
        """The header's bytes."""
        return self._data[:BLOCK]

    def note(self, message: str, where: str) -> None:
        """Note something that is not as it should be, of a parameter."""
        self.notes.append(f"{where}: {message}")

    def integers(self, data: bytes) -> np.ndarray:
        """16-bit integers with a sign, in the order of this file's processor."""
        return np.frombuffer(data, f"{self._order}i2").astype(np.int64)

    def reals(self, data: bytes) -> np.ndarray:
        """32-bit reals of this file's processor."""
        with np.errstate(invalid="ignore"):  # of signalling NaN
            if not self._dec:
                return np.frombuffer(data, f"{self._order}f4").astype(float)
            # A DEC real has its two words swapped and an exponent larger by two.
            words = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1]
            return np.frombuffer(words.tobytes(), "<f4").astype(float) / 4.0

    def _read_parameters(self, start: int) -> dict[str, Parameter]:
        """All parameters by ``GROUP:NAME``, in capitals."""
        data = self._data
        # Many programs write too small a count of blocks: the data's begin is the end.
        end = (self.data_block - 1) * BLOCK
        if end <= start:
            end = start + (data[start + 2] or 255) * BLOCK
        end = min(end, len(data))
        groups: dict[int, str] = {}
        entries: list[tuple[int, str, Parameter]] = []
        place, fault = start + 4, None
        while place + 2 <= end:
            length = abs(int.from_bytes(data[place : place + 1], signed=True))
            group = int.from_bytes(data[place + 1 : place + 2], signed=True)
            if length == 0 or group == 0:
                break
            pointer = place + 2 + length
            if pointer + 2 > end:
                fault = self.error("a parameter goes beyond the parameters' end", place)
                break
            name = _text(data[place + 2 : pointer]).upper()
            step = int(self.integers(data[pointer : pointer + 2])[0])
            after = pointer + step if 0 < step <= end - pointer else end
            if group < 0:
                groups[-group] = name
            else:
                try:
                    content = self._parameter(name, pointer + 2, after)
                except MarkerFileError as error:
                    fault = error
                    break
                entries.append((group, name, content))
            if step < 0 or step > end - pointer:
                fault = self.error(
                    f"'{name}' points {step} bytes on, out of the parameters", pointer
                )
                break
            if step == 0:
                break
            place = after
        named = {
            f"{groups.get(group, '?')}:{name}": content
            for group, name, content in entries
        }
        if groups and not any(name.startswith("POINT:") for name in named):
            raise fault or self.error("this group of parameters is missing", "POINT")
        if fault is not None:
            if "POINT:LABELS" not in named:
                raise fault
            reason = str(fault).removeprefix(f"{printable(self.path)}: ")
            self.notes.append(f"the parameters were read up to a fault: {reason}")
        return named

    def _parameter(self, name: str, place: int, end: int) -> Parameter:
        """The content of one parameter, which ends before the byte ``end``."""
        data = self._data
        if place + 2 > end:
            raise self.error(f"'{name}' has no content", place)
        kind = int.from_bytes(data[place : place + 1], signed=True)
        if kind not in _TYPES:
            raise self.error(f"'{name}' is of an unknown type, {kind}", place)
        shape = tuple(data[place + 2 : place + 2 + data[place + 1]])
        begin = place + 2 + data[place + 1]
        size = _TYPES[kind]
        for extent in shape:  # 255 extents of up to 255: as exact integers
            size *= extent
        if begin + size > end:
            present = max(end - begin, 0)
            self.note(f"{size} bytes are announced, {present} are there", name)
            size = present - present % _TYPES[kind]
        return Parameter(kind, shape, data[begin : begin + size])

    def numbers(self, name: str) -> np.ndarray | None:
        """Numbers of a parameter, or None where there is none.

        Raises:
            MarkerFileError: it holds text.
        """
        parameter = self.parameters.get(name)
        if parameter is None or not parameter.data:
            return None
        if parameter.kind < 0:
            raise self.error("numbers are wanted, not text", name)
        if parameter.kind == 1:
            return np.frombuffer(parameter.data, np.uint8).astype(np.int64)
        if parameter.kind == 4:
            return self.reals(parameter.data)
        return self.integers(parameter.data)

    def number(self, name: str) -> float | None:
        """The first number of a parameter, or None where there is none."""
        numbers = self.numbers(name)
        return None if numbers is None else float(numbers[0])

    def count(self, name: str) -> int | None:
        """A parameter as a count: integers have no sign; None where it is none."""
        parameter, number = self.parameters.get(name), self.number(name)
        if parameter is None or number is None or not math.isfinite(number):
            return None
        return int(number) % (MOST + 1) if parameter.kind == 2 else int(number)

    def all_numbers(self, name: str) -> np.ndarray:
        """Numbers of a parameter and of its continuations (``SCALE2``, ...)."""
        parts = []
        for number in range(1, MOST):
            part = self.numbers(name if number == 1 else f"{name}{number}")
            if part is None:
                break
            parts.append(part.astype(float))
        return np.concatenate(parts) if parts else np.zeros(0)

    def texts(self, name: str) -> list[str]:
        """Texts of a parameter and of its continuations (``LABELS2``, ...).

        Raises:
            MarkerFileError: it holds numbers.
        """
        texts: list[str] = []
        number = 1
        while True:
            full = name if number == 1 else f"{name}{number}"
            parameter = self.parameters.get(full)
            if parameter is None:
                return texts
            if parameter.kind > 0:
                raise self.error("text is wanted, not numbers", full)
            length = parameter.shape[0] if parameter.shape else 1
            data = parameter.data
            texts += [
                _text(data[k : k + length]) for k in range(0, len(data), length or 1)
            ]
            number += 1

    def text(self, name: str) -> str:
        """First text of a parameter; empty where there is none."""
        return next(iter(self.texts(name)), "")


def _text(data: bytes) -> str:
    """Text without the blanks that fill it up; in UTF-8, or else Latin 1.

    A binary file cannot be saved anew by hand, so labels of old programs are read.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\0", " ").strip()
