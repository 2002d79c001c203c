# SPDX-License-Identifier: Apache-2.0
"""Force plates of C3D files: every type gives the load that stands on the plate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from plate_files import LEVER, Load, plate_axes_of, plate_bytes, walking_load

from humans_sim.observation.markers import MarkerTrial, read_markers
from humans_sim.observation.markers.c3d_writer import ezc3d_module

Read = Callable[[bytes], MarkerTrial]
TYPES = (1, 2, 3, 4)


@pytest.mark.parametrize("up", ["z", "y"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("origin_sign", [1.0, -1.0])
@pytest.mark.parametrize("kind", TYPES)
def test_types(
    kind: int, origin_sign: float, sign: float, up: str, read_c3d: Read
) -> None:
    """Force, centre of pressure and free moment, whichever way the file writes them."""
    load = walking_load()
    data = plate_bytes(load, kind, up=up, sign=sign, origin_sign=origin_sign)
    trial = read_c3d(data)
    (plate,) = trial.plates
    np.testing.assert_allclose(plate.corners, load.corners, atol=1e-6)
    np.testing.assert_allclose(plate.force, load.force, atol=1e-3)
    stands = slice(20, None)
    np.testing.assert_allclose(
        plate.centre_of_pressure[stands], load.point[stands], atol=1e-5
    )
    np.testing.assert_allclose(plate.free_moment[stands], load.free[stands], atol=2e-3)
    assert np.isnan(plate.centre_of_pressure[:20]).all()
    np.testing.assert_allclose(plate.times, np.arange(60) / 200)
    assert plate.contains(plate.centre_of_pressure[stands]).all()
    assert not trial.notes


def test_sensors_lie_beneath_the_surface(read_c3d: Read) -> None:
    """The origin of the sensors is below the plate, by ORIGIN."""
    load = walking_load()
    (plate,) = read_c3d(plate_bytes(load, 2)).plates
    place = load.corners.mean(axis=0) - plate_axes_of(load.corners) @ LEVER
    np.testing.assert_allclose(plate.origin, place, atol=1e-6)
    assert plate.origin[2] == pytest.approx(-0.04, abs=1e-6)


@pytest.mark.parametrize("kind", [2, 4])
def test_beside_ezc3d(kind: int, tmp_path: Path) -> None:
    """Forces, moments and centres of pressure are those of ezc3d, but for the sign."""
    path = tmp_path / "walk.c3d"
    path.write_bytes(plate_bytes(walking_load(), kind))
    (plate,) = read_markers(path).plates
    (theirs,) = ezc3d_module().c3d(str(path), extract_forceplat_data=True)["data"][
        "platform"
    ]
    np.testing.assert_allclose(plate.force, theirs["force"].T, atol=1e-4)
    np.testing.assert_allclose(plate.moment, theirs["moment"].T / 1000, atol=1e-4)
    points = theirs["center_of_pressure"].T / 1000
    np.testing.assert_allclose(plate.centre_of_pressure[20:], points[20:], atol=1e-6)


def standing_load(weight: float) -> Load:
    """Somebody who stands on the plate all the time."""
    load = walking_load()
    rng = np.random.default_rng(4)
    load.force[:] = (0.0, 0.0, weight)
    load.force[:, 2] += rng.normal(0, 1, len(load.force))
    return load


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_standing_is_body_weight(sign: float, read_c3d: Read) -> None:
    """A standing person pushes up with his weight, also where ZERO says: empty."""
    data = plate_bytes(
        standing_load(700.0),
        2,
        sign=sign,
        extra={"FORCE_PLATFORM:ZERO": np.array([1, 10])},
    )
    (plate,) = read_c3d(data).plates
    assert plate.force[:, 2].mean() == pytest.approx(700.0, abs=1.0)


def test_zero_is_taken_off(read_c3d: Read) -> None:
    """What the empty plate shows in the frames of ZERO is no load."""
    load = walking_load()
    load.force += (3.0, -2.0, 30.0)
    zero = {"FORCE_PLATFORM:ZERO": np.array([1, 5])}
    (plate,) = read_c3d(plate_bytes(load, 2, extra=zero)).plates
    assert np.abs(plate.force[:20]).max() < 1e-3
    (raw,) = read_c3d(plate_bytes(load, 2)).plates
    assert raw.force[0, 2] == pytest.approx(30.0, abs=1e-3)


def test_unit_of_moments(read_c3d: Read) -> None:
    """Moments that put all pressure beside the plate have another unit, with a note."""
    load = walking_load()
    units = {"ANALOG:UNITS": ["N"] * 3 + ["Nm"] * 3}  # they are N mm
    trial = read_c3d(plate_bytes(load, 2, extra=units))
    points = trial.plates[0].centre_of_pressure[20:]
    np.testing.assert_allclose(points, load.point[20:], atol=1e-5)
    assert any("moments are not in Nm" in note for note in trial.notes)


def test_pressure_beside_the_plate(read_c3d: Read) -> None:
    """Where no unit of moments brings the pressure onto the plate, a note says so."""
    scale = {"ANALOG:SCALE": np.array([1.0, 1, 1, 30, 30, 30])}
    trial = read_c3d(plate_bytes(walking_load(), 2, extra=scale))
    assert any("pressure lies beside" in note for note in trial.notes)


def test_type_3_without_places_of_sensors(read_c3d: Read) -> None:
    """Forces are there, moments are not, and a note says why."""
    load = walking_load()
    origin = {"FORCE_PLATFORM:ORIGIN": np.zeros((1, 3))}
    trial = read_c3d(plate_bytes(load, 3, extra=origin))
    np.testing.assert_allclose(trial.plates[0].force, load.force, atol=1e-3)
    assert np.isnan(trial.plates[0].moment).all()
    assert any("places of sensors" in note for note in trial.notes)


LEFT_OUT = {
    "type 5": ({"TYPE": np.array([5])}, "plate 1 is left out: its type 5"),
    "type 9": ({"TYPE": np.array([9])}, "its type 9"),
    "type -1": ({"TYPE": np.array([-1])}, "its type -1"),
    "no type": ({"TYPE": None}, "1 plates, but 0 types"),
    "channel 7 of 6": ({"CHANNEL": np.arange(2, 8)[None]}, "channel 7 is none of 6"),
    "channel 0": ({"CHANNEL": np.arange(6)[None]}, "channel 0 is none of 6"),
    "few channels": ({"CHANNEL": np.arange(1, 5)[None]}, "has 4 channels, not 6"),
    "one twice": ({"CHANNEL": np.array([[1, 2, 3, 4, 5, 5]])}, "named twice"),
    "no corners": ({"CORNERS": None}, "CORNERS are missing"),
    "one place": ({"CORNERS": np.zeros((1, 4, 3))}, "span no surface"),
    "corners of NaN": ({"CORNERS": np.full((1, 4, 3), np.nan)}, "CORNERS are missing"),
    "corners far off": ({"CORNERS": np.full((1, 4, 3), 1e9)}, "are no places"),
    "origin far off": ({"ORIGIN": np.full((1, 3), 1e9)}, "ORIGIN is no place"),
    "no matrix": ({"TYPE": np.array([4])}, "CAL_MATRIX are missing"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_left_out(case: str, read_c3d: Read) -> None:
    """A plate of which something is missing is left out, the markers are read."""
    extra, words = LEFT_OUT[case]
    named = {f"FORCE_PLATFORM:{name}": value for name, value in extra.items()}
    trial = read_c3d(plate_bytes(walking_load(), 2, extra=named))
    assert trial.plates == () and len(trial) == 30
    assert any(words in note for note in trial.notes), trial.notes


def test_plates_do_not_share_channels(read_c3d: Read) -> None:
    """A second plate with the channels of the first is left out."""
    load = walking_load()
    one = plate_bytes(load, 2)
    assert len(read_c3d(one).plates) == 1
    corners = np.repeat(load.corners[None] * 1000, 2, axis=0)
    extra = {
        "FORCE_PLATFORM:USED": 2,
        "FORCE_PLATFORM:TYPE": np.array([2, 2]),
        "FORCE_PLATFORM:CORNERS": corners,
        "FORCE_PLATFORM:ORIGIN": np.zeros((2, 3)),
        "FORCE_PLATFORM:CHANNEL": np.array([np.arange(1, 7)] * 2),
    }
    trial = read_c3d(plate_bytes(load, 2, extra=extra))
    assert [plate.name for plate in trial.plates] == ["plate 1"]
    assert any("another plate" in note for note in trial.notes)
