# SPDX-License-Identifier: Apache-2.0
"""Two runs compared: differences that are known, and runs that cannot be compared."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.analysis.run_comparison import (
    ComparedValue,
    common_times,
    value_texts,
)
from humans_sim.core.errors import ParameterError, RunFileError
from humans_sim.dynamics.problems import bouncing_ball, pendulum


def drop(
    height: float, end: float = 0.5, period: float = 0.01, e: float = 0.5
) -> hs.Run:
    """A ball that falls and bounces."""
    sim = hs.Simulation(bouncing_ball(e))
    return sim.run(np.array([height]), t_end=end, sampling_period=period)


def numbers(comparison: hs.RunComparison) -> dict[str, tuple[float, float]]:
    """Both numbers by name."""
    return {value.name: (value.a, value.b) for value in comparison.values}


def test_a_run_and_itself() -> None:
    """Nothing differs."""
    run = drop(0.1)
    comparison = hs.compare_runs(run, run)
    assert comparison.identical and comparison.labels == ("a", "b")
    assert all(part.rms == part.largest == 0.0 for part in comparison.coordinates)
    assert all(value.difference == 0.0 for value in comparison.values)


def test_a_fall_from_higher() -> None:
    """Before both hit the ground, the second stays as much higher as it began."""
    low, high = drop(0.1, end=0.1), drop(0.13, end=0.12)
    (part,) = hs.compare_runs(low, high).coordinates
    assert (part.name, part.unit) == ("height", "m")
    assert part.rms == pytest.approx(0.03, rel=1e-6)
    assert part.largest == pytest.approx(0.03, rel=1e-6)
    (back,) = hs.compare_runs(high, low).coordinates
    assert back.largest == pytest.approx(-0.03, rel=1e-6)


def test_numbers_of_theory() -> None:
    """Impacts, largest kinetic energy and lost energy of a ball."""
    h, end = 0.1, 0.2
    comparison = hs.compare_runs(drop(h, end, e=0.5), drop(h, end, e=0.8))
    shown = numbers(comparison)
    assert shown["impacts"] == (1.0, 1.0)
    lost = [-9.81 * h * (1 - e**2) for e in (0.5, 0.8)]
    assert shown["change of energy"] == pytest.approx(lost, rel=1e-6)
    assert shown["checks that do not hold"] == (0.0, 0.0)
    by_name = {value.name: value for value in comparison.values}
    assert by_name["change of energy"].difference == pytest.approx(lost[1] - lost[0])


def test_largest_difference_has_its_time() -> None:
    """A bump in one sample is found there, with its sign."""
    run = drop(0.1)
    q = run.q.copy()
    q[17] -= 0.25
    (part,) = hs.compare_runs(run, replace(run, q=q)).coordinates
    assert part.largest == pytest.approx(-0.25)
    assert part.time == run.t[17]
    assert part.rms == pytest.approx(0.25 / math.sqrt(len(run.t)))


def test_common_time_axis() -> None:
    """Only the time that both have, at the samples of the coarser run."""
    fine, coarse = np.linspace(0.0, 2.0, 201), np.linspace(1.0, 3.0, 21)
    times = common_times(fine, coarse)
    assert np.allclose(times, np.linspace(1.0, 2.0, 11))
    assert np.array_equal(common_times(coarse, fine), times)
    # samples of the fine run between which there is one of the coarse
    assert len(common_times(fine, np.array([0.5, 9.0]))) == 1


def test_other_sampling_does_not_matter() -> None:
    """A line sampled by other periods is the same line."""
    run = drop(0.1, end=0.1)
    t = np.linspace(0.0, 0.1, 4)
    rows = np.searchsorted(run.t, t - 1e-9)
    coarse = run[::3]
    assert len(coarse) == len(rows)
    assert hs.compare_runs(run, coarse).identical


def test_turns_are_compared_without_whole_ones(khr1: hs.Model) -> None:
    """A body that faces 179 degrees and one that faces -179 are 2 degrees apart."""
    q = np.tile(khr1.neutral(), (3, 1))
    runs = []
    sim = hs.Simulation(
        khr1, ground=hs.Ground.empty(), contacts=hs.Contacts(limits=False)
    )
    flight = sim.run(khr1.neutral(), t_end=0.02, sampling_period=0.01)
    for yaw in (179.0, -179.0):
        q[:, 3:7] = Rotation.from_euler("z", yaw, degrees=True).as_quat()
        runs.append(replace(flight, q=q.copy()))
    comparison = hs.compare_runs(*runs)
    parts = {part.name: part for part in comparison.coordinates}
    assert parts["base_yaw"].rms == pytest.approx(math.radians(2.0))
    assert parts["base_yaw"].largest == pytest.approx(math.radians(2.0))
    assert parts["l_knee"].unit == "rad" and parts["base_x"].unit == "m"
    assert "largest tilt of the base" in numbers(comparison)
    assert comparison.verdicts == ("floated", "floated")


def test_text() -> None:
    """People read both numbers, their difference, and degrees."""
    runs = [
        hs.Simulation(pendulum(-1.0)).run(np.array([start]), t_end=0.1)
        for start in (0.1, 0.1 + math.radians(1.0))
    ]
    text = hs.compare_runs(*runs, labels=("one", "other")).table()
    assert "one" in text and "other" in text
    assert "+1°" in text.split("coordinate")[1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ComparedValue("samples", "1", 2401.0, 545.0), ("2401", "545", "-1856")),
        (ComparedValue("steps", "1", 20.0, 20.0), ("20", "20", "0")),
        (ComparedValue("cost", "1", 0.5, 0.75), ("0.5", "0.75", "+0.25")),
        (ComparedValue("fall", "s", math.nan, 2.0), ("n/a", "2 s", "")),
        (ComparedValue("tilt", "rad", 0.0, math.pi / 2), ("0°", "90°", "+90°")),
    ],
)
def test_texts_of_numbers(value: ComparedValue, expected: tuple[str, ...]) -> None:
    """Counts are whole, angles in degrees, what is not known is said so."""
    assert value_texts(value) == expected


def test_different_systems() -> None:
    """The error names both."""
    swing = hs.Simulation(pendulum(-1.0)).run(np.array([0.1]), t_end=0.1)
    with pytest.raises(ParameterError, match="'bouncing ball' and 'pendulum.*'"):
        hs.compare_runs(drop(0.1, end=0.1), swing)


def test_no_common_time() -> None:
    """The error has both spans."""
    run = drop(0.1, end=0.1)
    with pytest.raises(ParameterError, match="no common time: 0 s to 0.1 s, and 2 s"):
        hs.compare_runs(run, replace(run, t=run.t + 2.0))


def test_files(tmp_path: Path) -> None:
    """Runs are read from their files, which give the names; what is none is refused."""
    for name, height in (("low", 0.1), ("high", 0.2)):
        drop(height, end=0.1).save(tmp_path / f"{name}.npz")
    comparison = hs.compare_runs(tmp_path / "low.npz", str(tmp_path / "high.npz"))
    assert comparison.labels == ("low", "high") and not comparison.identical
    same = hs.compare_runs(tmp_path / "low.npz", tmp_path / "low.npz")
    assert same.labels == ("low (a)", "low (b)")
    (tmp_path / "bad.npz").write_bytes(b"no run")
    for name in ("bad.npz", "none.npz"):
        with pytest.raises(RunFileError):
            hs.compare_runs(tmp_path / "low.npz", tmp_path / name)
