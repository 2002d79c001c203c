# SPDX-License-Identifier: Apache-2.0
"""C3D files that are written: what was read comes back, also by way of ezc3d."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plate_files import plate_bytes, walking_load

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import (
    AnalogChannels,
    MarkerTrial,
    TrialEvent,
    read_markers,
    write_c3d,
)
from humans_sim.observation.markers.assemble import UP_AXES
from humans_sim.observation.markers.c3d_writer import ezc3d_module
from humans_sim.observation.markers.trial import FileHeader


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


@pytest.fixture
def walk(tmp_path: Path) -> MarkerTrial:
    """A trial with a plate of type 4, read from a file, and events."""
    path = tmp_path / "source.c3d"
    path.write_bytes(plate_bytes(walking_load(), 4, each=2))
    events = (TrialEvent(0.05, "Foot Strike", "Left"), TrialEvent(0.2, "Foot Off"))
    return replace(read_markers(path), events=events)


@pytest.mark.parametrize("up", ["z", "-y"])
@pytest.mark.parametrize("units", ["mm", "m"])
def test_all_comes_back(walk: MarkerTrial, up: str, units: str, tmp_path: Path) -> None:
    """Events, channels and plates, and writing them again adds nothing."""
    back = read_markers(write_c3d(walk, tmp_path / "a.c3d", up=up, units=units))
    again = read_markers(write_c3d(back, tmp_path / "b.c3d"))
    assert walk.analog is not None
    for other in (back, again):
        assert other.analog is not None
        assert other.analog.names == walk.analog.names + tuple(
            f"plate 1 {word}" for word in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
        )
        own = other.analog.select(walk.analog.names)
        np.testing.assert_allclose(own.values, walk.analog.values, rtol=1e-6)
        assert own.units == walk.analog.units and own.rate == walk.analog.rate
        (plate,), (before,) = other.plates, walk.plates
        np.testing.assert_allclose(plate.corners, before.corners, atol=1e-6)
        np.testing.assert_allclose(plate.origin, before.origin, atol=1e-6)
        np.testing.assert_allclose(plate.wrench, before.wrench, atol=1e-3)
        assert [e.label for e in other.events] == ["Foot Strike", "Foot Off"]
        assert [e.context for e in other.events] == ["Left", ""]
        assert [e.time for e in other.events] == pytest.approx([0.05, 0.2], abs=1e-6)


def test_by_way_of_ezc3d(walk: MarkerTrial, tmp_path: Path) -> None:
    """Another program finds the same plate in the file."""
    path = write_c3d(walk, tmp_path / "a.c3d", units="m")
    file = ezc3d_module().c3d(str(path), extract_forceplat_data=True)
    (theirs,), (ours,) = file["data"]["platform"], walk.plates
    np.testing.assert_allclose(theirs["force"].T, ours.force, atol=1e-3)
    points = theirs["center_of_pressure"].T[ours.loaded]
    np.testing.assert_allclose(points, ours.centre_of_pressure[ours.loaded], atol=1e-5)
    assert file["parameters"]["EVENT"]["LABELS"]["value"] == ["Foot Strike", "Foot Off"]


def test_part_of_a_trial(walk: MarkerTrial, tmp_path: Path) -> None:
    """Channels, plates and events of the part are at their places."""
    part = walk.samples(slice(10, 20))
    back = read_markers(write_c3d(part, tmp_path / "a.c3d"))
    assert walk.analog is not None and back.analog is not None
    own = back.analog.select(walk.analog.names)
    np.testing.assert_allclose(own.values, walk.analog.values[20:40], rtol=1e-6)
    np.testing.assert_allclose(
        back.plates[0].force, walk.plates[0].force[20:40], atol=1e-3
    )
    assert [e.time for e in back.events] == pytest.approx([-0.05, 0.1], abs=1e-6)


@pytest.mark.parametrize("units", ["mm", "m"])
def test_residuals_frames_and_notes(
    trial: MarkerTrial, units: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Residuals to 1/255 of the largest, numbers of frames, screen axes, notes."""
    residuals = rng.uniform(0.0, 0.004, size=(15, 5))
    residuals[trial.occluded] = np.nan
    events = (TrialEvent(0.02, "Foot Strike", "Left"), TrialEvent(3.0, "later"))
    whole = replace(
        trial,
        camera_residuals=residuals,
        frames=trial.frames + 703,
        events=events,
        header=FileHeader("mm", "-X", "+Z", "z"),
        notes=("POINT:LABELS: two markers were called RANK", "é" * 400),
    )
    back = read_markers(write_c3d(whole, tmp_path / "a.c3d", units=units))
    np.testing.assert_array_equal(back.frames, whole.frames)
    np.testing.assert_array_equal(back.occluded, trial.occluded)
    assert back.camera_residuals is not None and back.header is not None
    np.testing.assert_allclose(back.camera_residuals, residuals, atol=0.004 / 500)
    assert (back.header.x_screen, back.header.y_screen) == ("-X", "+Z")
    assert back.notes[0] == whole.notes[0] and back.notes[1].startswith("???")
    assert [e.time for e in back.events] == pytest.approx([0.02, 3.0], abs=1e-5)


def test_events_of_other_parts(trial: MarkerTrial, tmp_path: Path) -> None:
    """Events that all lie outside the part written keep their times."""
    part = replace(trial, frames=trial.frames + 10, events=(TrialEvent(-0.04, "a"),))
    back = read_markers(write_c3d(part, tmp_path / "a.c3d"))
    assert [e.time for e in back.events] == pytest.approx([-0.04], abs=1e-6)


def test_a_plate_without_moments(walk: MarkerTrial, tmp_path: Path) -> None:
    """A plate of which the file lacks the moments is written and read as such."""
    (plate,) = walk.plates
    lost = replace(plate, moment=np.full(plate.moment.shape, np.nan))
    back = read_markers(write_c3d(replace(walk, plates=(lost,)), tmp_path / "a.c3d"))
    np.testing.assert_allclose(back.plates[0].force, plate.force, atol=1e-3)
    assert np.isnan(back.plates[0].moment).all()
    assert not any("beside" in note for note in back.notes)


def test_plate_without_channels(walk: MarkerTrial, tmp_path: Path) -> None:
    """A plate brings its own channels."""
    back = read_markers(write_c3d(replace(walk, analog=None), tmp_path / "a.c3d"))
    assert back.analog is not None and len(back.analog.names) == 6
    np.testing.assert_allclose(back.plates[0].wrench, walk.plates[0].wrench, atol=1e-3)


def test_many_markers(rng: np.random.Generator, tmp_path: Path) -> None:
    """More than 255 markers have labels that go on."""
    names, frames = tuple(f"M{k}" for k in range(300)), np.arange(1, 4)
    trial = MarkerTrial(names, frames / 100, rng.normal(size=(3, 300, 3)), frames)
    back = read_markers(write_c3d(trial, tmp_path / "a.c3d"))
    assert back.names == names
    np.testing.assert_allclose(back.positions, trial.positions, rtol=1e-6)


def test_many_frames(tmp_path: Path) -> None:
    """More than 65535 frames come back, no more and no less."""
    count = 66001
    positions = np.arange(3.0 * count).reshape(count, 1, 3) / count
    times = np.arange(count) / 1000
    trial = MarkerTrial(("A",), times, positions, np.arange(1, count + 1))
    back = read_markers(write_c3d(trial, tmp_path / "a.c3d"))
    assert len(back) == count and back.frames[-1] == count
    np.testing.assert_allclose(back.positions, positions, rtol=1e-6, atol=1e-9)


def test_what_cannot_be_written(trial: MarkerTrial, tmp_path: Path) -> None:
    """One sample, or names that would come back as others."""
    with pytest.raises(ParameterError, match="one sample"):
        write_c3d(trial.samples(slice(1)), tmp_path / "a.c3d")
    with pytest.raises(ParameterError, match="'é'"):
        write_c3d(replace(trial, names=("é", *"BCDE")), tmp_path / "a.c3d")
    assert not list(tmp_path.iterdir())


def test_channels_that_do_not_fit(walk: MarkerTrial, tmp_path: Path) -> None:
    """Channels that are too short or between the frames, and uneven samples."""
    path, analog = tmp_path / "a.c3d", walk.analog
    assert analog is not None
    for other, words in (
        (replace(analog, values=analog.values[:-1]), "do not cover"),
        (replace(analog, start=0.1), "do not cover"),
        (replace(analog, rate=250.0), "250 Hz"),
    ):
        with pytest.raises(ParameterError, match=words):
            write_c3d(replace(walk, analog=other), path)
    with pytest.raises(ParameterError, match="uneven"):
        write_c3d(walk.samples(np.array([0, 1, 5])), path)
    names = AnalogChannels(("é",), ("V",), analog.rate, analog.values[:, :1])
    with pytest.raises(ParameterError, match="channel called 'é'"):
        write_c3d(replace(walk, analog=names), path)
    events = (TrialEvent(0.0, "a"),) * 300
    with pytest.raises(ParameterError, match="300 events"):
        write_c3d(replace(walk, events=events), path)
    assert not path.exists()
