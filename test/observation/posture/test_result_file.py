# SPDX-License-Identifier: Apache-2.0
"""Reconstructions that are stored and loaded again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers import (
    AnalogChannels,
    ForcePlate,
    MarkerFileError,
    MarkerTrial,
    TrialEvent,
)
from humans_sim.observation.markers.trial import FileHeader
from humans_sim.observation.posture.result import PART_ARRAYS, Reconstruction


@pytest.fixture(scope="module")
def result() -> Reconstruction:
    """Two frames of a person with sizes of his own, one marker lost."""
    model = hs.load_model("human36", height=1.8, mass=71.0, lengths={"yhead": 0.2})
    q = np.array([model.neutral(), model.neutral()])
    tags = np.array([model.tags(row)[:-1] for row in q])
    tags[1, 3] = np.nan
    trial = MarkerTrial(
        model.tag_names,
        np.array([0.0, 0.01]),
        tags,
        np.array([7, 8]),
        camera_residuals=np.full(tags.shape[:2], 1e-3),
        source=Path("walk.trc"),
    )
    return hs.reconstruct(model, trial)


def test_comes_back_as_it_was(result: Reconstruction, tmp_path: Path) -> None:
    """All arrays to the bit, the trial and the model."""
    loaded = hs.load_reconstruction(result.save(tmp_path / "r.npz"))
    for name in ("q", "differences", "status", "converged", "iterations"):
        assert np.array_equal(
            getattr(loaded, name), getattr(result, name), equal_nan=True
        )
    assert np.array_equal(loaded.trial.positions, result.trial.positions, True)
    assert np.array_equal(loaded.trial.camera_residuals, result.trial.camera_residuals)
    assert loaded.trial.source == Path("walk.trc") and loaded.names == result.names
    assert loaded.unobservable == result.unobservable and loaded.rms == result.rms
    assert np.array_equal(
        loaded.model.tags(loaded.q[0]), result.model.tags(result.q[0])
    )
    assert loaded.model.mass == result.model.mass


@pytest.fixture(scope="module")
def recorded(result: Reconstruction) -> Reconstruction:
    """The same with all that a recording may have beside markers."""
    times = np.arange(20) / 1000
    corners = np.array([[0.2, -0.3, 0], [-0.2, -0.3, 0], [-0.2, 0.3, 0], [0.2, 0.3, 0]])
    force = np.outer(np.ones(20), [1.0, 2.0, 700.0])
    plates = tuple(
        ForcePlate(f"plate {k}", corners + k, corners[0] + k, t, f, 0.1 * f)
        for k, t, f in ((1, times, force), (2, times[:7], np.nan * force[:7]))
    )
    values = np.arange(40.0).reshape(20, 2)
    values[3, 1] = np.nan
    trial = replace(
        result.trial,
        events=(TrialEvent(-0.5, "Foot Strike", "Left"), TrialEvent(0.005, "Foot Off")),
        analog=AnalogChannels(("EMG", "plate"), ("V", "N"), 1000.0, values, 0.25),
        plates=plates,
        header=FileHeader("mm", "+X", "+Z", "z"),
        notes=("POINT:RATE: missing",),
    )
    return replace(result, trial=trial)


def test_the_recording_comes_back(recorded: Reconstruction, tmp_path: Path) -> None:
    """Events, channels, plates, notes and the file's header, to the bit."""
    loaded = hs.load_reconstruction(recorded.save(tmp_path / "r.npz")).trial
    trial = recorded.trial
    assert (loaded.events, loaded.notes) == (trial.events, trial.notes)
    assert loaded.header == trial.header
    assert loaded.analog is not None and trial.analog is not None
    for key in ("names", "units", "rate", "start"):
        assert getattr(loaded.analog, key) == getattr(trial.analog, key)
    assert np.array_equal(loaded.analog.values, trial.analog.values, True)
    for plate, other in zip(trial.plates, loaded.plates, strict=True):
        assert plate.name == other.name
        for key in ("corners", "origin", "times", "force", "moment"):
            assert np.array_equal(getattr(other, key), getattr(plate, key), True), key


HOSTILE: dict[str, tuple[str, object]] = {
    "events": ("header", {"events": [[0.0, "a"]]}),
    "time of an event": ("header", {"events": [["now", "a", "b"]]}),
    "endless event": ("header", {"events": [[1e999, "a", "b"]]}),
    "label of an event": ("header", {"events": [[0.0, ["a"], "b"]]}),
    "events of text": ("header", {"events": "abc"}),
    "notes": ("header", {"notes": [3]}),
    "file": ("header", {"file": {"units": "mm"}}),
    "file of text": ("header", {"file": "mm"}),
    "channels": ("header", {"analog": {"names": ["a"], "units": ["V"]}}),
    "no rate": (
        "header",
        {"analog": {"names": ["a", "b"], "units": ["", ""], "rate": 0, "start": 0}},
    ),
    "plates": ("header", {"plates": [["plate 1", 20]]}),
    "samples of plates": ("header", {"plates": [["a", -7], ["b", 34]]}),
    "half a sample": ("header", {"plates": [["a", 13.5], ["b", 13.5]]}),
    "many samples": ("header", {"plates": [["a", 10**30], ["b", 7]]}),
    "values": ("analog_values", np.zeros((20, 3))),
    "whole values": ("analog_values", np.zeros((20, 2), dtype=int)),
    "infinite values": ("analog_values", np.full((20, 2), np.inf)),
    "corners": ("plate_corners", np.zeros((2, 4, 3))),
    "far corners": ("plate_corners", np.full((2, 4, 3), 1e30)),
    "corners of nothing": ("plate_corners", np.full((2, 4, 3), np.nan)),
    "times that stand": ("plate_times", np.zeros(27)),
    "wrenches": ("plate_wrenches", np.zeros((27, 5))),
    "no times": ("plate_times", None),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_parts_that_do_not_fit(
    case: str, recorded: Reconstruction, tmp_path: Path
) -> None:
    """What nobody wrote so is one typed error."""
    path = recorded.save(tmp_path / "r.npz")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    key, value = HOSTILE[case]
    if key == "header":
        header = json.loads(str(arrays["header"])) | value  # type: ignore[operator]
        arrays["header"] = np.array(json.dumps(header))
    elif value is None:
        del arrays[key]
    else:
        arrays[key] = np.asarray(value)
    np.savez(path, **arrays)
    with pytest.raises(MarkerFileError, match="not a stored reconstruction"):
        hs.load_reconstruction(path)


def test_older_files(recorded: Reconstruction, tmp_path: Path) -> None:
    """Files without these parts are read."""
    path = recorded.save(tmp_path / "r.npz")
    with np.load(path) as archive:
        arrays = {n: archive[n] for n in archive.files if n not in PART_ARRAYS}
    header = json.loads(str(arrays["header"]))
    for key in ("events", "notes", "plates", "analog", "file"):
        del header[key]
    arrays["header"] = np.array(json.dumps(header))
    np.savez(path, **arrays)
    trial = hs.load_reconstruction(path).trial
    assert (trial.events, trial.analog, trial.plates, trial.notes) == ((), None, (), ())


def test_no_stored_reconstruction(result: Reconstruction, tmp_path: Path) -> None:
    """Missing, cut off, of another kind, or with parts that do not fit."""
    path = result.save(tmp_path / "r.npz")
    whole = path.read_bytes()
    with pytest.raises(MarkerFileError, match="no such file"):
        hs.load_reconstruction(tmp_path / "none.npz")
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        with pytest.raises(MarkerFileError, match="not a stored reconstruction"):
            hs.load_reconstruction(path)
    np.savez(path, q=np.zeros(3))
    with pytest.raises(MarkerFileError):
        hs.load_reconstruction(path)
    for wrong in (
        replace(result, q=result.q[:1]),
        replace(result, q=result.q * np.nan),
        replace(result, status=result.status + 9),
        replace(result, differences=result.differences[:, :3]),
    ):
        wrong.save(path)
        with pytest.raises(MarkerFileError, match="not a stored reconstruction"):
            hs.load_reconstruction(path)
