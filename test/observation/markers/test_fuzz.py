# SPDX-License-Identifier: Apache-2.0
"""Damaged files of markers: read, or refused with a typed error, without a hang."""

from __future__ import annotations

import faulthandler
from pathlib import Path

import numpy as np
import pytest
from c3d_bytes import c3d_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humans_sim.observation.markers import MarkerFileError, MarkerTrial, read_markers
from humans_sim.observation.markers.trc_file import write_trc

CASES = 700
HANG = 30.0
"""After this the process is ended, with its stack [s]."""


def _trial() -> MarkerTrial:
    positions = np.random.default_rng(5).normal(size=(6, 4, 3)).round(4)
    positions[2, 1] = np.nan
    return MarkerTrial(tuple("ABCD"), np.arange(6) / 100, positions, np.arange(1, 7))


def _files(folder: Path) -> dict[str, bytes]:
    """A sound file of each kind."""
    trial = _trial()
    rows = np.nan_to_num(trial.positions.reshape(6, -1), nan=-3.6973e28)
    names = [f"{name} {axis}" for name in trial.names for axis in "xyz"]
    lines = ["Units: m", ";".join(["Frame", *names])]
    for frame, row in enumerate(rows.tolist(), start=1):
        lines.append(";".join([str(frame), *map(repr, row)]))
    words = np.where(trial.occluded, -1, 3)
    extra = {"POINT:Y_SCREEN": "+Z", "ANALOG:USED": 2}
    return {
        "trc": write_trc(trial, folder / "sound.trc").read_bytes(),
        "c3d": c3d_bytes(np.nan_to_num(trial.positions), words, analog=2, extra=extra),
        "csv": "\n".join(lines).encode(),
    }


@st.composite
def damage(draw: st.DrawFn, text: bool) -> list[tuple[str, int, int]]:
    """A few steps: what, where (in parts of the whole), with what."""
    kinds = ["flip", "set", "cut", "insert", "delete", "double", "random"]
    if text:
        kinds += ["drop line", "copy line", "drop field", "word", "blank field"]
    else:
        kinds += ["header", "word"]
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(kinds),
                st.integers(0, 10**6 - 1),
                st.integers(0, 2**32 - 1),
            ),
            min_size=1,
            max_size=3,
        )
    )


TEXT_WORDS = (
    b"nan", b"inf", b"-1", b"0", b"1e9", b"2000000000", b"1e400", b"x", b"\t", b";",
    b"\xff\xfe", b"\xe9", b"\0", b"1_0", b"9" * 5000, b"-3.6973E+028", b"Frequency: 0",
    "١".encode(), b"(X/Z/Y)", b"\r", b":", b'"', b"3,5",
)  # fmt: skip


def apply(data: bytes, kind: str, place: int, value: int) -> bytes:
    """One step of damage."""
    at = place * len(data) // 10**6
    small = value % 256
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ (1 << value % 8)]) + data[at + 1 :]
    if kind == "set":
        return data[:at] + bytes([small]) + data[at + 1 :]
    if kind == "cut":
        return data[:at]
    if kind == "insert":
        return data[:at] + value.to_bytes(4, "big")[: 1 + small % 4] + data[at:]
    if kind == "delete":
        return data[:at] + data[at + 1 + small :]
    if kind == "double":
        return data + data[at:]
    if kind == "random":
        return np.random.default_rng(value).bytes(place % 3000)
    if kind == "header":  # claims: counts, frames, start of the data, parameters
        at = place % 1024
        return data[:at] + value.to_bytes(4, "little") + data[at + 4 :]
    if kind == "word" and data[1:2] == b"\x50":
        return data[: at & ~1] + b"\xff\xff" + data[(at & ~1) + 2 :]
    lines = data.split(b"\n")
    k = place % len(lines)
    sign = b"\t" if b"\t" in lines[k] else b";"
    fields = lines[k].split(sign)
    if kind == "drop line":
        del lines[k]
    elif kind == "copy line":
        lines.insert(value % len(lines), lines[k])
    else:
        column = value % len(fields)
        if kind == "drop field":
            del fields[column]
        else:
            new = TEXT_WORDS[small % len(TEXT_WORDS)] if kind == "word" else b""
            fields[column] = new
        lines[k] = sign.join(fields)
    return b"\n".join(lines)


@pytest.mark.study
@pytest.mark.parametrize("ending", ["trc", "c3d", "csv"])
def test_damaged_files(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each reads, or raises MarkerFileError; none crashes, hangs or raises another."""
    folder = tmp_path_factory.mktemp("fuzz")
    sound = _files(folder)[ending]
    path = folder / f"damaged.{ending}"
    outcomes = {"read": 0, "refused": 0}
    path.write_bytes(sound)
    assert len(read_markers(path)) == 6

    @settings(
        max_examples=CASES,
        deadline=None,  # one that hangs ends the process, below
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(steps=damage(text=ending != "c3d"))
    def check(steps: list[tuple[str, int, int]]) -> None:
        data = sound
        for step in steps:
            data = apply(data, *step) if data else data
        path.write_bytes(data)
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            trial = read_markers(path)
        except MarkerFileError as error:
            outcomes["refused"] += 1
            assert str(path) in str(error)
            assert len(str(error)) < 1000
        else:
            outcomes["read"] += 1
            assert not np.isinf(trial.positions).any()
            assert len(trial) * len(trial.names) <= len(data)
        finally:
            faulthandler.cancel_dump_traceback_later()

    check()
    assert sum(outcomes.values()) >= CASES * 0.95
    assert outcomes["refused"] > CASES // 4
    assert outcomes["read"] > CASES // 50
