# SPDX-License-Identifier: Apache-2.0
"""Recorded runs are runs like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.nodes.common.run_recorder import RunRecorder
from humans_sim.results.records import Event

PERIOD = 0.01


def record(recorder: RunRecorder, model: hs.Model, periods: int) -> None:
    """Simulate and record as the node does."""
    simulation = hs.Simulation(
        model, Servo(model, numbers=ServoNumbers()), method="time_stepping"
    )
    run = simulation.start(model.neutral())
    recorder.begin(simulation)
    recorder.keep(run.sample(), run.events)
    for k in range(periods):
        run.events.clear()
        run.advance((k + 1) * PERIOD)
        recorder.keep(run.sample(), run.events)


def test_file_is_a_run(tmp_path: Path, khr1: hs.Model) -> None:
    """What is written loads, checks, and equals the run of the library."""
    recorder = RunRecorder(tmp_path / "run.npz", 100)
    record(recorder, khr1, 5)
    assert recorder.write() == tmp_path / "run.npz"
    run = hs.load_run(tmp_path / "run.npz")
    simulation = hs.Simulation(
        khr1, Servo(khr1, numbers=ServoNumbers()), method="time_stepping"
    )
    whole = simulation.run(khr1.neutral(), t_end=0.05, sampling_period=PERIOD)
    np.testing.assert_array_equal(run.q, whole.q)
    np.testing.assert_array_equal(run.forces, whole.forces)
    assert [event.kind for event in run.events] == [e.kind for e in whole.events]
    assert run.check().ok


def test_runs_after_a_reset_have_files_of_their_own(
    tmp_path: Path, khr1: hs.Model
) -> None:
    """No run overwrites another; one that did not move is not written."""
    recorder = RunRecorder(tmp_path / "run.npz", 100)
    for periods in (2, 0, 3):
        record(recorder, khr1, periods)
        recorder.write()
    lengths = [len(hs.load_run(path).t) for path in sorted(tmp_path.iterdir())]
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "run-2.npz",
        "run.npz",
    ]
    assert lengths == [4, 3]


def test_memory_is_bounded(tmp_path: Path, khr1: hs.Model) -> None:
    """The newest samples are kept, and the events of their time."""
    recorder = RunRecorder(tmp_path / "run.npz", 3)
    record(recorder, khr1, 10)
    again = hs.Simulation(khr1, method="time_stepping")
    last = again.start(khr1.neutral(), t=0.1).sample()
    recorder.keep(last, [Event(0.0, "old"), Event(0.1, "new")])
    recorder.write()
    run = hs.load_run(tmp_path / "run.npz")
    np.testing.assert_allclose(run.t, [0.09, 0.1, 0.1], rtol=1e-12)
    assert [event.kind for event in run.events] == ["new"]


def test_a_folder_that_cannot_be(tmp_path: Path, khr1: hs.Model) -> None:
    """A file in the way is an OSError, for the node to report."""
    (tmp_path / "file").write_text("")
    recorder = RunRecorder(tmp_path / "file" / "run.npz", 10)
    record(recorder, khr1, 1)
    with pytest.raises(OSError):
        recorder.write()
