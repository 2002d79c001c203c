# SPDX-License-Identifier: Apache-2.0
"""Header, parameters and layout of a C3D file, read within the bounds of the file.

The format is that of the C3D user guide (c3d.org): blocks of 512 bytes; the first holds
ten numbers about the data; the parameters follow, each in a group, as ``POINT:RATE``.
Nothing that the file claims is believed before the bytes are there. What programs of
many years got wrong is read where only one reading is possible, and noted: parameters
beyond their declared end, a last pointer that leads nowhere, contents cut short.

*Layout* of the data. Header and parameters say most things twice, and programs forget
to keep one of the two. The bytes of the file decide: of all readings that the claims
allow, one fills the file to its last block.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from humans_sim.core.errors import printable
from humans_sim.observation.markers.trial import MarkerFileError

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
    """The head of a C3D file, before its data.

    Attributes:
        points: in a frame.
        analog: analogue values in a frame.
        scale: of integers; negative where the data are reals.
        data_block: block in which the data begin, counted from 1.
        subframes: analogue samples in a frame.
        rate: frames a second [Hz].
        parameters: by ``GROUP:NAME``, in capitals.
        notes: what was read although the file is not as it should be.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        """Read header and parameters."""
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
        """Numbers of a parameter, or None where there is none."""
        parameter = self.parameters.get(name)
        if parameter is None or not parameter.data:
            return None
        if parameter.kind < 0:
            raise self.error("must be numbers, not text", name)
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

    def texts(self, name: str, count: int | None = None) -> list[str]:
        """Texts of a parameter and of its continuations (``LABELS2``, ...).

        With a count, so many of them: empty ones follow where there are fewer.
        """
        texts: list[str] = []
        for number in itertools.count(1):
            full = name if number == 1 else f"{name}{number}"
            parameter = self.parameters.get(full)
            if parameter is None:
                break
            if parameter.kind > 0:
                raise self.error("must be text, not numbers", full)
            length = parameter.shape[0] if parameter.shape else 1
            data = parameter.data
            texts += [
                _text(data[k : k + length]) for k in range(0, len(data), length or 1)
            ]
        return texts if count is None else (texts + [""] * count)[:count]

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


_PADDING = BLOCK
"""Fewer bytes than this may follow the last frame of a file that is filled."""


@dataclass(frozen=True)
class C3dLayout:
    """Where each number of the data lies.

    Attributes:
        begin: byte at which the data begin.
        size: bytes of a number: 2 for integers, 4 for reals.
        points: in a frame.
        channels: of analogue values.
        subframes: analogue samples in a frame.
        count: of frames.
        first: number of the first frame.
    """

    begin: int
    size: int
    points: int
    channels: int
    subframes: int
    count: int
    first: int

    @property
    def width(self) -> int:
        """Numbers in a frame."""
        return 4 * self.points + self.channels * self.subframes

    @property
    def bytes(self) -> int:
        """Of all frames."""
        return self.count * self.width * self.size


def find_layout(head: C3dHead, length: int) -> C3dLayout:
    """The layout that header, parameters and the size of the file [bytes] agree on.

    Raises:
        MarkerFileError: no reading fits into the file.
    """
    present = _end(head, length)
    claims = []  # readings that header and parameters allow, the most usual first
    for begin, size, points, (channels, subframes) in product(
        _begins(head), _sizes(head), _points(head), _analog(head)
    ):
        frame = size * (4 * points + channels * subframes)
        most = (length - begin) // frame if frame and length > begin else 0
        for first, count in _frames(head, most):
            parts = (begin, size, points, channels, subframes, count, first)
            if (reading := C3dLayout(*parts)) not in claims:
                claims.append(reading)
    readings = [reading for reading in claims if reading.count > 0]
    if not readings:
        raise head.error(
            f"frames from {head.first_frame} to {head.last_frame}: there are none", 6
        )
    said = readings[0]
    fitting = [r for r in readings if r.begin >= BLOCK and r.begin + r.bytes <= present]
    if not fitting:
        raise head.error(
            f"{said.count} frames of {said.points} points and "
            f"{said.channels * said.subframes} analogue values take {said.bytes} bytes "
            f"from byte {said.begin} on, but {max(present - said.begin, 0)} are there",
            said.begin,
        )
    filling = [r for r in fitting if present - r.begin - r.bytes < _PADDING]
    layout = _chosen(head, filling or fitting)
    if len(claims) > 1:
        head.notes.append(
            "header and parameters differ; by the size of the file there are "
            f"{layout.count} frames of {layout.points} points and "
            f"{layout.channels} x {layout.subframes} analogue values"
        )
    return layout


def _chosen(head: C3dHead, readings: list[C3dLayout]) -> C3dLayout:
    """One of several readings that fit: that with the fewest frames.

    Frames that one count has and another not may be what fills the last block. What
    lies within a frame must be certain.
    """
    first = readings[0]
    for other in readings[1:]:
        if (first.begin, first.size, first.width) != (
            other.begin,
            other.size,
            other.width,
        ):
            raise head.error(
                f"frames of {first.points} points and "
                f"{first.channels * first.subframes} analogue values, or of "
                f"{other.points} and {other.channels * other.subframes}: header and "
                "parameters differ, and both fit into the file",
                2,
            )
    fewest = min(reading.count for reading in readings)
    return next(reading for reading in readings if reading.count == fewest)


def _end(head: C3dHead, length: int) -> int:
    """Byte at which the data of points and channels end: rotations have their own."""
    block = head.count("ROTATION:DATA_START")
    used = head.count("ROTATION:USED")
    if used and block and head.data_block < block <= length // BLOCK:
        return (block - 1) * BLOCK
    return length


def _begins(head: C3dHead) -> list[int]:
    other = head.count("POINT:DATA_START")
    blocks = [head.data_block] + ([other] if other and other > 1 else [])
    return list(dict.fromkeys((block - 1) * BLOCK for block in blocks))


def _sizes(head: C3dHead) -> list[int]:
    scales = [head.number("POINT:SCALE"), head.scale]
    sizes = [4 if s < 0 else 2 for s in scales if s and math.isfinite(s)]
    if not sizes:
        raise head.error(f"a scale of {head.scale:g} cannot be", "POINT:SCALE")
    return list(dict.fromkeys(sizes))


def _points(head: C3dHead) -> list[int]:
    used = head.count("POINT:USED")
    return list(dict.fromkeys([head.points] + ([] if used is None else [used])))


def _analog(head: C3dHead) -> list[tuple[int, int]]:
    """Channels and samples of each in a frame."""
    used = head.count("ANALOG:USED")
    rate, points_rate = head.number("ANALOG:RATE"), head.number("POINT:RATE")
    pairs: list[tuple[int, int]] = []
    subframes = max(head.subframes, 1)
    if head.analog == 0:
        pairs.append((0, 1))
    elif used and head.analog % used == 0:
        pairs.append((used, head.analog // used))
    elif head.analog % subframes == 0:
        pairs.append((head.analog // subframes, subframes))
    else:
        pairs.append((head.analog, 1))
    if used is not None:
        pairs.append((used, subframes) if used else (0, 1))
        if used and rate and points_rate and math.isfinite(rate / points_rate):
            ratio = round(rate / points_rate)
            if 1 <= ratio <= MOST:
                pairs.append((used, ratio))
    return list(dict.fromkeys(pairs))


def _frames(head: C3dHead, most: int) -> list[tuple[int, int]]:
    """Number of the first frame and count of frames, as each place says.

    The header counts with 16 bits; longer trials have TRIAL:ACTUAL_START_FIELD and
    TRIAL:ACTUAL_END_FIELD, two words each, POINT:LONG_FRAMES, or POINT:FRAMES as a
    real. Where there is none of these, the size of the file has the count.
    """
    first, last = head.first_frame, head.last_frame
    starts = head.numbers("TRIAL:ACTUAL_START_FIELD")
    ends = head.numbers("TRIAL:ACTUAL_END_FIELD")
    counts: list[int] = []
    if starts is not None and ends is not None and len(starts) == len(ends) == 2:
        first, last = (
            int(words[0]) % (MOST + 1) + (int(words[1]) % (MOST + 1) << 16)
            for words in (starts, ends)
        )
        counts.append(last - first + 1)
    others = [head.count("POINT:LONG_FRAMES"), head.count("POINT:FRAMES")]
    counts += [count for count in others if count and count != MOST]
    if head.last_frame != MOST:
        counts.append(head.last_frame - head.first_frame + 1)
    if not counts:
        counts.append(most)
    return [(first, count) for count in dict.fromkeys(counts)]
