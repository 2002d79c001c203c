# SPDX-License-Identifier: Apache-2.0
"""Real C3D files: beside ezc3d, and beside the bytes read by hand where it fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from humans_sim.observation.markers import MarkerTrial, read_markers, write_c3d
from humans_sim.observation.markers.assemble import to_z_up
from humans_sim.observation.markers.c3d_writer import ezc3d_module

GRAVITY = 9.81
NO_MARKERS = ("ANGLES", "FORCES", "MOMENTS", "POWERS")
UNITS = {"motion_monitor": 1.0, "parameters_past_end": 1.0}
"""Of files that are not in millimetres [m]."""
BY_EZC3D = (
    "duplicate_labels",
    "motion_monitor",
    "parameters_past_end",
    "qualisys",
    "vicon_pig_static",
    "vicon_pig_walk",
)


@pytest.fixture
def folder(shared_data: Path) -> Path:
    """Where the files are."""
    if not (shared_data / "c3d").is_dir():
        pytest.skip("the real C3D files are not in the shared data")
    return shared_data / "c3d"


def read(folder: Path, name: str) -> MarkerTrial:
    """One of the files."""
    return read_markers(folder / f"{name}.c3d")


@pytest.mark.parametrize("name", BY_EZC3D)
def test_beside_ezc3d(name: str, folder: Path) -> None:
    """Points, channels and plates are those of ezc3d."""
    trial = read(folder, name)
    assert trial.header is not None
    unit, up = UNITS.get(name, 1e-3), trial.header.up
    file = ezc3d_module().c3d(str(folder / f"{name}.c3d"), extract_forceplat_data=True)
    group = file["parameters"]["POINT"]
    other = {n for word in NO_MARKERS if word in group for n in group[word]["value"]}
    kept = [k for k, n in enumerate(group["LABELS"]["value"]) if n not in other]
    points = file["data"]["points"][:3, kept].transpose(2, 1, 0) * unit
    np.testing.assert_allclose(trial.positions, to_z_up(points, up), atol=1e-9)
    if trial.analog is not None:
        values = file["data"]["analogs"][0].T
        np.testing.assert_allclose(trial.analog.values, values, atol=1e-9)
    assert len(trial.plates) == len(file["data"]["platform"])
    for plate, theirs in zip(trial.plates, file["data"]["platform"], strict=True):
        force = to_z_up(theirs["force"].T, up)
        sign = np.sign(np.sum(force[:, 2] * plate.force[:, 2]))
        offset = sign * force - plate.force  # of the empty plate
        np.testing.assert_allclose(offset, offset[:1].repeat(len(force), 0), atol=1e-5)
        if name == "duplicate_labels":
            assert np.abs(offset).max() < 10  # ezc3d does not take it off
            continue
        assert np.abs(offset).max() < 1e-5
        heavy = (plate.force[:, 2] > 100) & ~np.isnan(plate.moment).any(axis=1)
        centres = to_z_up(theirs["center_of_pressure"].T * unit, up)
        np.testing.assert_allclose(
            plate.centre_of_pressure[heavy], centres[heavy], atol=1e-9
        )


def test_by_hand(folder: Path) -> None:
    """Without ANALOG:RATE ezc3d takes channels for points; the bytes say better."""
    trial = read(folder, "no_point_rate")
    data = (folder / "no_point_rate.c3d").read_bytes()
    frames = np.frombuffer(data, "<f4", offset=2048).reshape(200, 38 * 4 + 6)
    points = frames[:, : 38 * 4].reshape(200, 38, 4).astype(float)
    seen = points[:, :, 3] >= 0
    np.testing.assert_array_equal(trial.occluded, ~seen)
    expected = to_z_up(points[:, :, :3] / 1000, "y")
    np.testing.assert_allclose(trial.positions[seen], expected[seen], atol=1e-9)
    assert trial.analog is not None and trial.rate == pytest.approx(100.0)
    np.testing.assert_allclose(trial.analog.values, frames[:, 38 * 4 :], atol=1e-9)
    assert trial.analog.names == ("Fx1", "Fy1", "Fz1", "Px1", "Py1", "Mz1")
    (plate,) = trial.plates
    assert plate.force[:, 2].mean() == pytest.approx(579, abs=2)  # somebody stands
    assert plate.contains(plate.centre_of_pressure).all()


def test_motion_monitor(folder: Path) -> None:
    """Its header has the channels in place of the values; the size has them right."""
    trial = read(folder, "motion_monitor")
    assert np.nanmax(np.abs(trial.positions)) < 3.0
    assert trial.analog is not None and trial.analog.rate == pytest.approx(980.0)
    assert any("by the size of the file" in note for note in trial.notes)


def test_doubled_labels(folder: Path) -> None:
    """The second of each is numbered."""
    trial = read(folder, "duplicate_labels")
    assert {"RANK", "RANK_2", "LKNE", "LKNE_2"} <= set(trial.names)


def test_qualisys_stands_upright(folder: Path) -> None:
    """It says that -z is up; heads and force plates say z."""
    trial = read(folder, "qualisys")
    assert trial.header is not None and trial.header.y_screen == "-Z"
    head, foot = (
        np.nanmean(trial.select([name]).positions[:, 0, 2])
        for name in ("L_HDF", "L_FCC")
    )
    assert 1.2 < head < 1.8 and -0.05 < foot < 0.4
    assert [event.label for event in trial.events][:3] == ["LHS", "RTO", "RHS"]
    assert all(0 <= event.time <= trial.times[-1] for event in trial.events)
    for plate in trial.plates:
        assert plate.force[:, 2].max() > 600
        assert plate.contains(plate.centre_of_pressure[plate.loaded]).all()


def test_weight_of_who_walks(folder: Path) -> None:
    """In single support the plates carry 0.8 to 1.3 times the weight, within corners.

    The body's mass stands in the file, 74 kg. Single support lasts from the foot off
    of one side to its next strike.
    """
    trial = read(folder, "vicon_pig_walk")
    assert len(trial.plates) == 3 and len(trial.events) == 12
    total = sum(plate.force[:, 2] for plate in trial.plates)
    times = trial.plates[0].times
    carried = []
    for event in trial.events:
        strikes = [
            other.time
            for other in trial.events
            if other.label == "Foot Strike"
            and other.context == event.context
            and other.time > event.time
        ]
        if event.label == "Foot Off" and strikes:
            single = (times > event.time + 0.03) & (times < min(strikes) - 0.03)
            carried.append(total[single].mean() / (74.0 * GRAVITY))
    assert len(carried) >= 4
    on_plates = [share for share in carried if share > 0.3]
    assert len(on_plates) >= 3
    assert all(0.8 < share < 1.3 for share in on_plates), on_plates
    for plate in trial.plates:
        assert plate.contains(plate.centre_of_pressure[plate.loaded]).all()
        assert np.nanmax(np.abs(plate.free_moment)) < 10


def test_pressure_is_beneath_the_foot(folder: Path) -> None:
    """The centre of pressure lies within 15 cm of the markers of a foot, always."""
    trial = read(folder, "vicon_pig_walk")
    feet = trial.select(["LHEE", "LTOE", "LANK", "RHEE", "RTOE", "RANK"])
    for plate in trial.plates:
        centres = plate.at(trial.times).centre_of_pressure
        heavy = plate.at(trial.times).force[:, 2] > 200
        apart = centres[heavy, None, :2] - feet.positions[heavy][:, :, :2]
        assert np.nanmin(np.linalg.norm(apart, axis=2), axis=1).max() < 0.15


@pytest.mark.parametrize("name", [*BY_EZC3D, "no_point_rate"])
def test_written_again(name: str, folder: Path, tmp_path: Path) -> None:
    """All of a real file comes back: markers to notes."""
    trial = read(folder, name)
    back = read_markers(write_c3d(trial, tmp_path / "again.c3d"))
    assert back.names == trial.names
    np.testing.assert_allclose(back.positions, trial.positions, atol=1e-6)
    np.testing.assert_array_equal(back.frames, trial.frames)
    np.testing.assert_allclose(back.times, trial.times)
    assert trial.camera_residuals is not None and back.camera_residuals is not None
    largest = np.nanmax(trial.camera_residuals)
    np.testing.assert_allclose(
        back.camera_residuals, trial.camera_residuals, atol=largest / 500
    )
    assert back.notes[: len(trial.notes)] == trial.notes
    for event, copy in zip(trial.events, back.events, strict=True):
        assert (event.label, event.context) == (copy.label, copy.context)
        assert copy.time == pytest.approx(event.time, abs=1e-4)
    if trial.analog is None:
        assert back.analog is None
        return
    assert back.analog is not None
    own = back.analog.select(trial.analog.names)
    assert (own.units, own.rate) == (trial.analog.units, trial.analog.rate)
    np.testing.assert_allclose(own.values, trial.analog.values, rtol=1e-5, atol=1e-5)
    for plate, other in zip(trial.plates, back.plates, strict=True):
        np.testing.assert_allclose(other.corners, plate.corners, atol=1e-6)
        np.testing.assert_allclose(other.wrench, plate.wrench, atol=2e-3)
