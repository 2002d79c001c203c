# SPDX-License-Identifier: Apache-2.0
"""C3D files: beside ezc3d, in every number format; damage is refused by its place."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c3d_bytes import c3d_bytes

from humans_sim.observation.markers import (
    MarkerFileError,
    MarkerTrial,
    read_markers,
)
from humans_sim.observation.markers.assemble import to_z_up
from humans_sim.observation.markers.c3d_writer import ezc3d_module

Read = Callable[..., MarkerTrial]


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
    processor: str, scale: float, rng: np.random.Generator, read_c3d: Read
) -> None:
    """Integers and reals of three processors give the same positions."""
    steps = rng.integers(-9000, 9000, (7, 4, 3))
    words = np.full((7, 4), 0x0302)
    words[2, 3] = -1
    data = c3d_bytes(steps * 0.1, words, processor=processor, scale=scale, analog=3)
    trial = read_c3d(data)
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
    screen: str | None, rng: np.random.Generator, read_c3d: Read
) -> None:
    """Y_SCREEN is the axis that points up; z where there is none."""
    positions = rng.normal(size=(2, 3, 3))
    extra = {} if screen is None else {"POINT:Y_SCREEN": screen}
    trial = read_c3d(c3d_bytes(positions * 1000, extra=extra))
    up = (screen or "z").lower().lstrip("+")
    np.testing.assert_allclose(trial.positions, to_z_up(positions, up), atol=1e-6)
    np.testing.assert_allclose(
        read_c3d(c3d_bytes(positions * 1000, extra=extra), up="x").positions,
        to_z_up(positions, "x"),
        atol=1e-6,
    )


def test_more_than_255_labels(read_c3d: Read) -> None:
    """They go on in LABELS2."""
    labels = [f"M{k}" for k in range(300)]
    trial = read_c3d(c3d_bytes(np.ones((2, 300, 3)), labels=labels))
    assert trial.names == tuple(labels)


def test_labels_that_are_not_there(read_c3d: Read) -> None:
    """Points without a label are called after their place; old labels are read."""
    trial = read_c3d(c3d_bytes(np.ones((2, 4, 3)), labels=["A", "", b"Z\xe9"]))
    assert trial.names == ("A", "unnamed2", "Zé", "unnamed4")


def test_angles_and_forces_are_no_markers(read_c3d: Read) -> None:
    """Points that POINT:ANGLES lists are left out."""
    labels, extra = ["A", "LKneeAngles", "B"], {"POINT:ANGLES": "LKneeAngles"}
    positions = np.arange(18.0).reshape(2, 3, 3)
    trial = read_c3d(c3d_bytes(positions, labels=labels, extra=extra))
    assert trial.names == ("A", "B")
    np.testing.assert_allclose(trial.positions, positions[:, ::2] / 1000, atol=1e-9)


def test_long_trials(read_c3d: Read) -> None:
    """More than 65535 frames: the count stands in TRIAL, or as a real in POINT."""
    positions = np.zeros((70000, 1, 3))
    positions[:, 0, 0] = np.arange(70000) % 1000
    for way in ("trial", "point"):
        trial = read_c3d(c3d_bytes(positions, first_frame=1, long=way))
        assert len(trial) == 70000 and trial.frames[-1] == 70000
        assert trial.positions[-1, 0, 0] == pytest.approx(0.999)


def noted(trial: MarkerTrial, words: str) -> bool:
    """Whether a note has these words."""
    return any(words in note for note in trial.notes)


def test_labels_that_stand_twice(read_c3d: Read) -> None:
    """They get numbers that no other label has, and a note names them."""
    labels = ["A", "A", "A_2", "A", "", "B"]
    trial = read_c3d(c3d_bytes(np.ones((5, 6, 3)), labels=labels))
    assert trial.names == ("A", "A_3", "A_2", "A_4", "unnamed5", "B")
    assert noted(trial, "POINT:LABELS: 2 markers") and noted(trial, "'A'")


def test_rate_of_the_header(read_c3d: Read) -> None:
    """It counts where POINT:RATE is missing or cannot be."""
    for rate in (None, 0.0, float("nan")):
        data = c3d_bytes(np.ones((5, 2, 3)), rate=60.0, extra={"POINT:RATE": rate})
        trial = read_c3d(data)
        assert trial.rate == pytest.approx(60.0)
        assert noted(trial, "the header has 60 Hz")


def test_parameters_past_their_declared_end(read_c3d: Read) -> None:
    """They are read up to the data, whatever their count of blocks says."""
    labels = [f"a marker with a long name {k}" for k in range(80)]
    data = bytearray(c3d_bytes(np.ones((5, 80, 3)), labels=labels))
    assert data[514] > 3
    for blocks in (0, 1, 2):
        data[514] = blocks
        assert read_c3d(bytes(data)).names == tuple(labels)


def test_last_pointer_leads_nowhere(read_c3d: Read) -> None:
    """The last parameter is read although it points out of the parameters."""
    data = bytearray(PLAIN)
    place = data.index(b"LABELS") + len("LABELS")
    data[place : place + 2] = b"\xff\x7e"
    trial = read_c3d(bytes(data))
    assert trial.names == ("M1", "M2") and noted(trial, "out of the parameters")


def test_content_that_is_cut(read_c3d: Read) -> None:
    """A parameter has no more than lies before the next one."""
    data = bytearray(c3d_bytes(np.ones((5, 2, 3)), extra={"ANALOG:UNITS": ["V", "V"]}))
    place = data.index(b"UNITS", data.index(b"LABELS")) + len("UNITS") + 2
    assert tuple(data[place : place + 4]) == (0xFF, 2, 1, 2)
    data[place + 3] = 200
    trial = read_c3d(bytes(data))
    assert len(trial) == 5 and noted(trial, "UNITS: 200 bytes are announced")


def test_no_parameters(read_c3d: Read) -> None:
    """A file with a header alone is read, its markers are numbered."""
    data = bytearray(PLAIN)
    data[516:1024] = bytes(508)
    trial = read_c3d(bytes(data))
    assert trial.names == ("unnamed1", "unnamed2") and len(trial) == 5
    assert noted(trial, "no parameters") and trial.rate == pytest.approx(100.0)


def test_units_cut_to_four_letters(read_c3d: Read) -> None:
    """Some programs write 'mete'."""
    data = c3d_bytes(np.ones((2, 1, 3)), extra={"POINT:UNITS": "mete"})
    assert read_c3d(data).positions[0, 0, 0] == pytest.approx(1.0)


def test_units_that_are_missing(rng: np.random.Generator, read_c3d: Read) -> None:
    """Millimetres, or metres where millimetres would make a person a toy."""
    positions = rng.uniform(0, 1.8, (4, 5, 3))
    none = {"POINT:UNITS": None}
    metres, millimetres = (
        read_c3d(c3d_bytes(scale * positions, extra=none)) for scale in (1, 1000)
    )
    np.testing.assert_allclose(metres.positions, positions, atol=1e-6)
    np.testing.assert_allclose(millimetres.positions, positions, atol=1e-6)
    assert noted(metres, "in metres") and not millimetres.notes


def test_residuals_that_say_nothing(rng: np.random.Generator, read_c3d: Read) -> None:
    """Where no marker would be seen at all, those that have a place are."""
    positions = rng.uniform(1, 100, (4, 3, 3))
    positions[1, 2] = 0.0
    trial = read_c3d(c3d_bytes(positions, np.full((4, 3), -1)))
    assert np.argwhere(trial.occluded).tolist() == [[1, 2]]
    assert noted(trial, "residuals")
    words = np.full((4, 3), 1e38)
    words[0, 0] = -1  # this one was not seen; the others are not -1
    trial = read_c3d(c3d_bytes(positions, words))
    assert np.argwhere(trial.occluded).tolist() == [[0, 0], [1, 2]]


def test_header_is_exposed(read_c3d: Read) -> None:
    """What the file says about units and axes can be read, also where it is wrong."""
    positions = np.zeros((3, 2, 3))
    positions[:, 0, 2] = 1700.0
    extra = {"POINT:X_SCREEN": "-X", "POINT:Y_SCREEN": "-Z"}
    trial = read_c3d(c3d_bytes(positions, labels=["LFHD", "LTOE"], extra=extra))
    header = trial.header
    assert header is not None
    assert (header.units, header.x_screen, header.y_screen) == ("mm", "-X", "-Z")
    assert header.up == "z" and noted(trial, "heads are above feet")
    assert trial.positions[0, 0, 2] == pytest.approx(1.7)


def test_rotations_are_left_alone(read_c3d: Read) -> None:
    """Segments with rotations are noted; a file of them alone holds no markers."""
    trial = read_c3d(c3d_bytes(np.ones((5, 2, 3)), extra={"ROTATION:USED": 3}))
    assert noted(trial, "3 segments with rotations")
    extra = {"ROTATION:USED": 3, "POINT:ANGLES": ["M1", "M2"]}
    with pytest.raises(MarkerFileError, match="3 segments with rotations"):
        read_c3d(c3d_bytes(np.ones((5, 2, 3)), extra=extra))


def test_notes_are_not_without_end(read_c3d: Read) -> None:
    """A file that is wrong everywhere has some notes, of a length to print."""
    extra = {f"X{k}:Y": ["\x1b[2J", "b" * 200] for k in range(60)}
    data = bytearray(c3d_bytes(np.ones((5, 2, 3)), extra=extra))
    place = 0
    while (place := data.find(b"\xff\x02\xc8\x02", place)) > 0:
        data[place + 3] = 9
        place += 4
    trial = read_c3d(bytes(data))
    assert len(trial.notes) <= 21 and "notes more" in trial.notes[-1]
    assert all(note.isprintable() for note in trial.notes)


def damaged(place: int, *values: int, **options: Any) -> bytes:
    """A sound file with other bytes at a place."""
    data = bytearray(c3d_bytes(np.ones((5, 2, 3)), **options))
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
    "analogue of 2 GB": (damaged(4, 0xFF, 0xFF), "byte 1024", "analogue"),
    "frames backwards": (
        damaged(6, 9, 0, 3, 0, extra={"POINT:FRAMES": None}), "byte 6", "from 9 to 3",
    ),
    "no POINT": (c3d_bytes(np.ones((5, 2, 3))).replace(b"POINT", b"PAINT"), "POINT",
                 "missing"),
    "a name too long": (damaged(516, 127), "POINT", "missing"),
    "no rate": (c3d_bytes(np.ones((5, 2, 3)), rate=0.0), "POINT:RATE", "0 Hz"),
    "negative rate": (
        c3d_bytes(np.ones((5, 2, 3)), rate=-100.0), "POINT:RATE", "-100 Hz",
    ),
    "rate of text": (with_parameter(RATE="fast"), "POINT:RATE", "not text"),
    "labels of numbers": (with_parameter(LABELS=3.0), "POINT:LABELS", "not numbers"),
    "unknown units": (with_parameter(UNITS="furlong"), "POINT:UNITS", "furlong"),
    "no scale": (
        damaged(12, 0, 0, 0, 0, extra={"POINT:SCALE": 0.0}), "POINT:SCALE", "of 0",
    ),
    "points or channels": (
        damaged(2, 4, 0, extra={"POINT:USED": 2}), "byte 2", "both fit",
    ),
    "unknown screen": (with_parameter(Y_SCREEN="up"), "POINT:Y_SCREEN", "no axis"),
    "no markers": (with_parameter(ANGLES="M1", FORCES="M2"), "POINT:USED", "no mark"),
    "infinite": (damaged(1024, *struct.pack("<f", np.inf)), "frame 1", "infinite"),
    "one NaN": (damaged(1024, *struct.pack("<f", np.nan)), "frame 1", "'M1' lacks"),
    "far": (damaged(1024, *struct.pack("<f", 1e30)), "frame 1", "1e+27 m away"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage: str, read_c3d: Read) -> None:
    """The error names the file, and the byte, the parameter or the frame."""
    data, key, words = DAMAGES[damage]
    with pytest.raises(MarkerFileError) as caught:
        read_c3d(data)
    assert "walk.c3d:" in str(caught.value)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_claims_of_two_gigabytes(read_c3d: Read) -> None:
    """A header that claims 4 billion frames is refused before anything is set aside."""
    import tracemalloc

    data = c3d_bytes(np.ones((5, 2, 3)), long="trial", claim=2**32 - 1)
    tracemalloc.start()
    with pytest.raises(MarkerFileError, match="bytes from byte"):
        read_c3d(data)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
