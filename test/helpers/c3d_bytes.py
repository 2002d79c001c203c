# SPDX-License-Identifier: Apache-2.0
"""C3D files made by hand from the format's description, in all its number formats."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

BLOCK = 512
PROCESSORS = {"intel": 84, "dec": 85, "mips": 86}


def c3d_bytes(
    positions: np.ndarray,
    words: np.ndarray | None = None,
    *,
    labels: Sequence[str | bytes] | None = None,
    processor: str = "intel",
    scale: float = -0.1,
    rate: float = 100.0,
    analog: int | np.ndarray = 0,
    first_frame: int = 0,
    long: str = "",
    claim: int = 0,
    extra: Mapping[str, object] | None = None,
) -> bytes:
    """A file of positions (n, m, 3) in mm.

    Args:
        positions: of the points.
        words: residual and cameras of each (n, m); 0 by default.
        labels: of the points; M1, M2, ... by default.
        processor: whose numbers are used.
        scale: negative for reals, positive for integers.
        rate: of the points.
        analog: numbers of analogue values in a frame, or the values as they are stored
            (n, samples in a frame, channels).
        first_frame: 11 with 0 where ``words`` are given, else 1.
        long: where the count of more than 65535 frames stands: trial or point.
        claim: frames that the file says it has; as many as there are by default.
        extra: more parameters, or others than these; arrays have their last extent
            running fastest, as numpy's. None leaves one out.
    """
    order = ">" if processor == "mips" else "<"
    count, points = positions.shape[:2]
    frames = claim or count
    first = first_frame or (1 if words is None else 11)
    last = first + frames - 1
    names = [f"M{k + 1}" for k in range(points)] if labels is None else labels

    def real(value: float) -> bytes:
        if processor != "dec":
            return struct.pack(order + "f", value)
        low, high = struct.unpack("<HH", struct.pack("<f", 4.0 * value))
        return struct.pack("<HH", high, low)

    def content(value: object) -> bytes:
        if isinstance(value, float):
            return struct.pack("bB", 4, 0) + real(value)
        if isinstance(value, int):
            return struct.pack("bB", 2, 0) + struct.pack(order + "H", value)
        if isinstance(value, np.ndarray):
            whole = value.dtype.kind == "i"
            numbers = value.ravel().tolist()
            packed = b"".join(
                struct.pack(order + "h", n) if whole else real(n) for n in numbers
            )
            shape = value.shape[::-1]
            return (
                struct.pack("bB", 2 if whole else 4, len(shape)) + bytes(shape) + packed
            )
        if isinstance(value, tuple):
            packed = b"".join(struct.pack(order + "H", word) for word in value)
            return struct.pack("bBB", 2, 1, len(value)) + packed
        texts = value if isinstance(value, list) else [value]
        raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
        longest = max(map(len, raw))
        packed = b"".join(text.ljust(longest) for text in raw)
        return struct.pack("bBBB", -1, 2, longest, len(raw)) + packed

    parameters: dict[str, object] = {
        "POINT:USED": points,
        "POINT:FRAMES": float(frames) if long == "point" else min(frames, 65535),
        "POINT:SCALE": scale,
        "POINT:RATE": rate,
        "POINT:UNITS": "mm",
        "POINT:LABELS": list(names[:255]),
    }
    if len(names) > 255:
        parameters["POINT:LABELS2"] = list(names[255:])
    if long == "trial":
        parameters["TRIAL:ACTUAL_START_FIELD"] = (first % 65536, first >> 16)
        parameters["TRIAL:ACTUAL_END_FIELD"] = (last % 65536, last >> 16)
    parameters |= extra or {}
    parameters = {name: v for name, v in parameters.items() if v is not None}
    groups = sorted({name.partition(":")[0] for name in parameters})
    records = []
    for number, group in enumerate(groups, start=1):
        records.append((-number, group, b"\0"))
    for name, value in parameters.items():
        group, _, word = name.partition(":")
        records.append((groups.index(group) + 1, word, content(value) + b"\0"))
    section = b""
    for number, word, body in records:
        section += struct.pack("bb", len(word), number) + word.encode()
        section += struct.pack(order + "h", len(body) + 2) + body
    section += b"\0\0"
    blocks = -(-(len(section) + 4) // BLOCK)
    section = (bytes([1, 0x50, blocks, PROCESSORS[processor]]) + section).ljust(
        blocks * BLOCK, b"\0"
    )
    head = struct.pack("BB", 2, 0x50)
    if isinstance(analog, int):
        analog = np.full((count, 1, analog), 7.0)
    each, channels = analog.shape[1:]
    for word in (points, each * channels, first, min(last, 65535), 10):
        head += struct.pack(order + "H", word)
    head += real(scale) + struct.pack(order + "HH", 2 + blocks, each) + real(rate)
    return (
        head.ljust(BLOCK, b"\0")
        + section
        + _data(positions, words, analog, scale, processor)
    )


def _data(
    positions: np.ndarray,
    words: np.ndarray | None,
    analog: np.ndarray,
    scale: float,
    processor: str,
) -> bytes:
    count, points = positions.shape[:2]
    values = np.zeros((count, points, 4))
    values[:, :, :3] = positions if scale < 0 else np.rint(positions / scale)
    values[:, :, 3] = 0 if words is None else words
    values = np.hstack([values.reshape(count, -1), analog.reshape(count, -1)])
    order = ">" if processor == "mips" else "<"
    if scale > 0:
        data = values.astype(f"{order}i2").tobytes()
    elif processor == "dec":
        halves = np.frombuffer((4 * values).astype("<f4").tobytes(), "<u2")
        data = halves.reshape(-1, 2)[:, ::-1].tobytes()
    else:
        data = values.astype(f"{order}f4").tobytes()
    return data.ljust(-(-len(data) // BLOCK) * BLOCK, b"\0")
