# SPDX-License-Identifier: Apache-2.0
"""How the data of a C3D file lie: counts from header and parameters, and the size.

Header and parameters say most things twice, and programs forget to keep one of the
two. The bytes of the file decide: of all readings that the claims allow, one fills the
file to its last block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from humans_sim.observation.markers.c3d_parameters import BLOCK, MOST, C3dHead

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
    """The layout that header, parameters and the size of the file agree on.

    Args:
        head: what stands before the data.
        length: of the file [bytes].

    Raises:
        MarkerFileError: no reading fits into the file.
    """
    present = _end(head, length)
    claims = list(dict.fromkeys(_readings(head, length)))
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


def _readings(head: C3dHead, length: int) -> Iterator[C3dLayout]:
    """What the claims allow, the most usual reading first."""
    for begin, size, points, (channels, subframes) in product(
        _begins(head), _sizes(head), _points(head), _analog(head)
    ):
        frame = size * (4 * points + channels * subframes)
        most = (length - begin) // frame if frame and length > begin else 0
        for first, count in _frames(head, most):
            yield C3dLayout(begin, size, points, channels, subframes, count, first)


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

    Args:
        head: what stands before the data.
        most: frames that the file has room for.
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
