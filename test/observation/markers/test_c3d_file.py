# SPDX-License-Identifier: Apache-2.0
"""C3D files: beside ezc3d, in every number format; damage is refused by its place."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from c3d_bytes import c3d_bytes

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import (
    MarkerFileError,
    MarkerTrial,
    read_markers,
    write_c3d,
)
from humans_sim.observation.markers.axes import UP_AXES, to_z_up
from humans_sim.observation.markers.ezc3d_module import ezc3d_module

Read = Callable[..., MarkerTrial]


@pytest.fixture
def read(read_as: Read) -> Read:
    """Reads bytes as a C3D file."""
    return partial(read_as, "walk.c3d")


@pytest.fixture
def trial(rng: np.random.Generator) -> MarkerTrial:
    """Noise with gaps at 200 Hz."""
    positions = rng.normal(size=(15, 5, 3))
    positions[3:9, 1] = np.nan
    frames = np.arange(1, 16)
    return MarkerTrial(tuple("ABCDE"), (frames - 1) / 200.0, positions, frames)


@pytest.mark.parametrize("up", UP_AXES)
@pytest.mark.parametrize("units", ["mm", "m"])
def test_round_trip(trial: MarkerTrial, up: str, units: str, tmp_path: Path) -> None:
    """What was written is read again; the file itself says which axis is up."""
    back = read_markers(write_c3d(trial, tmp_path / "a.c3d", up=up, units=units))
    assert back.names == trial.names
    assert back.times == pytest.approx(trial.times)
    np.testing.assert_array_equal(back.frames, trial.frames)
    np.testing.assert_array_equal(back.occluded, trial.occluded)
    np.testing.assert_allclose(back.positions, trial.positions, rtol=1e-7)
    assert [p.name for p in tmp_path.iterdir()] == ["a.c3d"]


def test_beside_ezc3d(rng: np.random.Generator, tmp_path: Path) -> None:
    """Points, labels and rate are those that ezc3d reads, with analogue values too."""
    points = np.ones((4, 3, 20))
    points[:3] = rng.normal(size=(3, 3, 20)) * 800
    residuals = np.zeros((1, 3, 20))  # ezc3d swaps others with the cameras' bits
    residuals[0, 1, 4:9] = -1
    ezc3d = ezc3d_module()
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [250.0]
    file["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
    file["parameters"]["POINT"]["LABELS"]["value"] = ["LASI", "RASI", "*7"]
    file["data"]["points"] = points
    file["data"]["meta_points"]["residuals"] = residuals
    file["parameters"]["ANALOG"]["RATE"]["value"] = [1000.0]
    file["parameters"]["ANALOG"]["LABELS"]["value"] = ["EMG1", "EMG2"]
    file["data"]["analogs"] = rng.normal(size=(1, 2, 80))
    path = tmp_path / "a.c3d"
    file.write(str(path))
    other, ours = ezc3d.c3d(str(path)), read_markers(path)
    assert ours.rate == pytest.approx(250.0)
    assert list(ours.names) == other["parameters"]["POINT"]["LABELS"]["value"]
    theirs = other["data"]["points"][:3].transpose(2, 1, 0) / 1000
    np.testing.assert_allclose(ours.positions, theirs, rtol=1e-6)
    seen = other["data"]["meta_points"]["residuals"][0].T
    np.testing.assert_array_equal(ours.occluded, seen < 0)


@pytest.mark.parametrize("processor", ["intel", "dec", "mips"])
@pytest.mark.parametrize("scale", [-0.1, 0.1])
def test_number_formats(
    processor: str, scale: float, rng: np.random.Generator, read: Read
) -> None:
    """Integers and reals of three processors give the same positions."""
    steps = rng.integers(-9000, 9000, (7, 4, 3))
    words = np.full((7, 4), 0x0302)
    words[2, 3] = -1
    data = c3d_bytes(steps * 0.1, words, processor=processor, scale=scale, analog=3)
    trial = read(data)
    wanted = steps * 1e-4
    wanted[2, 3] = np.nan
    np.testing.assert_allclose(trial.positions, wanted, atol=1e-7)
    assert trial.camera_residuals is not None
    assert trial.camera_residuals[0, 0] == pytest.approx(2 * 0.1 * 1e-3)
    assert np.isnan(trial.camera_residuals[2, 3])
    assert trial.frames.tolist() == list(range(11, 18))
    assert trial.rate == pytest.approx(100.0)


@pytest.mark.parametrize("screen", ["+Z", "Y", "-X", "", None])
def test_screen_tells_up(
    screen: str | None, rng: np.random.Generator, read: Read
) -> None:
    """Y_SCREEN is the axis that points up; z where there is none."""
    positions = rng.normal(size=(2, 3, 3))
    extra = {} if screen is None else {"POINT:Y_SCREEN": screen}
    trial = read(c3d_bytes(positions * 1000, extra=extra))
    up = (screen or "z").lower().lstrip("+")
    np.testing.assert_allclose(trial.positions, to_z_up(positions, up), atol=1e-6)
    np.testing.assert_allclose(
        read(c3d_bytes(positions * 1000, extra=extra), up="x").positions,
        to_z_up(positions, "x"),
        atol=1e-6,
    )


def test_more_than_255_labels(read: Read) -> None:
    """They go on in LABELS2."""
    labels = [f"M{k}" for k in range(300)]
    trial = read(c3d_bytes(np.ones((2, 300, 3)), labels=labels))
    assert trial.names == tuple(labels)


def test_labels_that_are_not_there(read: Read) -> None:
    """Points without a label are called after their place; old labels are read."""
    trial = read(c3d_bytes(np.ones((2, 4, 3)), labels=["A", "", b"Z\xe9"]))
    assert trial.names == ("A", "unnamed2", "Zé", "unnamed4")


def test_angles_and_forces_are_no_markers(read: Read) -> None:
    """Points that POINT:ANGLES lists are left out."""
    labels, extra = ["A", "LKneeAngles", "B"], {"POINT:ANGLES": "LKneeAngles"}
    positions = np.arange(18.0).reshape(2, 3, 3)
    trial = read(c3d_bytes(positions, labels=labels, extra=extra))
    assert trial.names == ("A", "B")
    np.testing.assert_allclose(trial.positions, positions[:, ::2] / 1000, atol=1e-9)


def test_long_trials(read: Read) -> None:
    """More than 65535 frames: the count stands in TRIAL, or as a real in POINT."""
    positions = np.zeros((70000, 1, 3))
    positions[:, 0, 0] = np.arange(70000) % 1000
    for way in ("trial", "point"):
        trial = read(c3d_bytes(positions, first_frame=1, long=way))
        assert len(trial) == 70000 and trial.frames[-1] == 70000
        assert trial.positions[-1, 0, 0] == pytest.approx(0.999)


def test_what_cannot_be_written(trial: MarkerTrial, tmp_path: Path) -> None:
    """One sample, or names that would come back as others."""
    with pytest.raises(ParameterError, match="one sample"):
        write_c3d(trial.samples(slice(1)), tmp_path / "a.c3d")
    with pytest.raises(ParameterError, match="'é'"):
        write_c3d(replace(trial, names=("é", *"BCDE")), tmp_path / "a.c3d")
    assert not list(tmp_path.iterdir())


def damaged(place: int, *values: int) -> bytes:
    """A sound file with other bytes at a place."""
    data = bytearray(c3d_bytes(np.ones((5, 2, 3))))
    data[place : place + len(values)] = bytes(values)
    return bytes(data)


def with_parameter(**extra: object) -> bytes:
    """A sound file but for a parameter of POINT."""
    return c3d_bytes(
        np.ones((5, 2, 3)), extra={f"POINT:{name}": v for name, v in extra.items()}
    )


PLAIN = c3d_bytes(np.ones((5, 2, 3)))
DAMAGES = {
    "half a header": (PLAIN[:300], "byte 0", "within its header"),
    "header alone": (PLAIN[:512], "byte 0", "block 2"),
    "no parameters": (damaged(0, 0), "byte 0", "block 0"),
    "parameters far off": (damaged(0, 200), "byte 0", "block 200"),
    "another file": (damaged(1, 0x51), "byte 1", "0x51"),
    "unknown processor": (damaged(515, 9), "byte 515", "processor 9"),
    "no data": (PLAIN[:1024], "byte 1024", "0 are there"),
    "cut data": (PLAIN[:1100], "byte 1024", "76 are there"),
    "data in the header": (damaged(16, 1, 0), "byte 0", "bytes from byte 0"),
    "data far off": (damaged(16, 0xFF, 0xFF), "byte 33553408", "0 are there"),
    "65535 points": (damaged(2, 0xFF, 0xFF), "POINT:USED", "header says 65535"),
    "analogue of 2 GB": (damaged(4, 0xFF, 0xFF), "byte 1024", "analogue"),
    "frames backwards": (damaged(6, 9, 0, 3, 0), "byte 6", "from 9 to 3"),
    "other frames": (damaged(8, 9, 0), "POINT:FRAMES", "numbered from 1 to 9"),
    "no POINT": (damaged(516, 127), "POINT:RATE", "missing"),
    "no rate": (with_parameter(RATE=0.0), "POINT:RATE", "0 Hz"),
    "negative rate": (with_parameter(RATE=-100.0), "POINT:RATE", "-100 Hz"),
    "rate of text": (with_parameter(RATE="fast"), "POINT:RATE", "not text"),
    "labels of numbers": (with_parameter(LABELS=3.0), "POINT:LABELS", "not numbers"),
    "unknown units": (with_parameter(UNITS="furlong"), "POINT:UNITS", "furlong"),
    "no scale": (with_parameter(SCALE=0.0), "POINT:SCALE", "scale of 0"),
    "scale of NaN": (with_parameter(SCALE=float("nan")), "POINT:SCALE", "nan"),
    "unknown screen": (with_parameter(Y_SCREEN="up"), "POINT:Y_SCREEN", "no axis"),
    "a label twice": (
        c3d_bytes(np.ones((5, 2, 3)), labels=["A", "A"]), "POINT:LABELS", "'A'",
    ),
    "no markers": (with_parameter(ANGLES="M1", FORCES="M2"), "POINT:USED", "no mark"),
    "infinite": (damaged(1024, *struct.pack("<f", np.inf)), "frame 1", "infinite"),
    "one NaN": (damaged(1024, *struct.pack("<f", np.nan)), "frame 1", "'M1' lacks"),
    "far": (damaged(1024, *struct.pack("<f", 1e30)), "frame 1", "1e+27 m away"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage: str, read: Read) -> None:
    """The error names the file, and the byte, the parameter or the frame."""
    data, key, words = DAMAGES[damage]
    with pytest.raises(MarkerFileError) as caught:
        read(data)
    assert "walk.c3d:" in str(caught.value)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_claims_of_two_gigabytes(read: Read) -> None:
    """A header that claims 4 billion frames is refused before anything is set aside."""
    import tracemalloc

    data = c3d_bytes(np.ones((5, 2, 3)), long="trial", claim=2**32 - 1)
    tracemalloc.start()
    with pytest.raises(MarkerFileError, match="bytes from byte"):
        read(data)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
