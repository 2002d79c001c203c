# SPDX-License-Identifier: Apache-2.0
"""Long runs go to their file as they come, and are used from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core import npz_file
from humans_sim.core.errors import FileWriteError, ParameterError
from humans_sim.dynamics import problems, recording
from humans_sim.dynamics.recording import RunStream
from humans_sim.dynamics.simulation import SimulationError
from humans_sim.results import run
from humans_sim.results.records import EVENTS_LEFT_OUT, Event
from humans_sim.results.run import ARRAYS

BALL = problems.bouncing_ball(0.5)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is a long one: it is never compressed, and blocks are small."""
    monkeypatch.setattr(npz_file, "COMPRESSED", 0)
    monkeypatch.setattr(recording, "COMPRESSED", 0)
    monkeypatch.setattr(recording, "_BLOCK", 7)


def simulated(save: Path | None = None, **changes: object) -> hs.Run:
    """A ball that bounces, 601 samples."""
    simulation = hs.Simulation(BALL, method="event_driven")
    options = {"t_end": 0.6, "sampling_period": 0.001, "save": save, **changes}
    return simulation.run(np.array([0.2]), **options)


def assert_equal(one: hs.Run, other: hs.Run) -> None:
    """Bit for bit, events and names included."""
    for name in ARRAYS:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype, name
        np.testing.assert_array_equal(first, second, err_msg=name)
    assert list(one.events) == list(other.events)
    assert one.table.names == other.table.names
    np.testing.assert_array_equal(one.table.friction, other.table.friction)
    assert one.position_names == other.position_names


def test_the_file_is_the_one_of_save(tmp_path: Path) -> None:
    """A run that is not long: the same bytes as saved afterwards."""
    streamed = simulated(tmp_path / "streamed.npz")
    whole = simulated()
    whole.save(tmp_path / "saved.npz")
    assert_equal(streamed, whole)
    files = [(tmp_path / f"{name}.npz").read_bytes() for name in ("streamed", "saved")]
    assert files[0] == files[1]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("large")
def test_long_runs(tmp_path: Path) -> None:
    """Written in blocks, used from the file; the same as in memory."""
    path = tmp_path / "deep" / "run.npz"
    whole, streamed = simulated(), simulated(path)
    assert_equal(streamed, whole)
    assert streamed.info == whole.info
    whole.save(tmp_path / "saved.npz")
    assert path.read_bytes() == (tmp_path / "saved.npz").read_bytes()
    assert_equal(hs.load_run(path), whole)
    lazy = hs.load_run(path, lazy=True)
    assert_equal(lazy, whole)
    for stored in (streamed, lazy):
        assert not stored.q.flags.owndata and not stored.q.flags.writeable
        assert stored.forces.flags.aligned
        assert stored.check().findings == whole.check().findings
    with np.load(path) as others:  # numpy reads what this package writes
        np.testing.assert_array_equal(others["forces"], whole.forces)
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


@pytest.mark.usefixtures("large")
def test_a_lazy_run_outlives_its_name(tmp_path: Path) -> None:
    """A file that is exchanged or removed does not change a run that is used."""
    path, whole = tmp_path / "run.npz", simulated()
    lazy = simulated(path)
    simulated(path, t_end=0.1)
    assert_equal(lazy, whole)
    path.unlink()
    assert_equal(lazy, whole)


@pytest.mark.usefixtures("large")
def test_damaged_long_runs(tmp_path: Path) -> None:
    """A bit that fell over is seen by its check sum before anything is used."""
    path = tmp_path / "run.npz"
    simulated(path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("q.npy").header_offset + 300
    content[place] ^= 1
    path.write_bytes(content)
    for lazy in (False, True):
        with pytest.raises(hs.errors.RunFileError, match="CRC"):
            hs.load_run(path, lazy=lazy)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(hs.errors.RunFileError):
        hs.load_run(path, lazy=True)


@pytest.mark.usefixtures("large")
def test_values_of_lazy_runs(tmp_path: Path) -> None:
    """What cannot be is refused in every block, not in the first alone."""
    whole = simulated()
    q = whole.q.copy()
    q[-1] = np.nan
    replace(whole, q=q).save(tmp_path / "run.npz")
    with pytest.raises(hs.errors.RunFileError, match="q has a value"):
        hs.load_run(tmp_path / "run.npz", lazy=True)


@pytest.mark.parametrize("newest", [1, 6, 7, 10, 20, 21, 100])
@pytest.mark.usefixtures("large")
def test_newest(tmp_path: Path, newest: int) -> None:
    """The newest samples in their order, wherever the ring was closed."""
    simulation = hs.Simulation(BALL)
    sample = simulation.start(np.array([0.2])).sample()
    stream = RunStream(tmp_path / "run.npz", newest)
    for k in range(20):
        stream.append(sample._replace(t=0.1 * k, q=np.array([float(k)])))
    events = [Event(0.1 * k, "tick") for k in range(20)]
    kept = simulation.result(stream, events)
    first = max(0, 20 - newest)
    np.testing.assert_array_equal(kept.q[:, 0], np.arange(first, 20))
    assert list(kept.events) == events[first:]
    assert_equal(hs.load_run(tmp_path / "run.npz"), kept)


@pytest.mark.parametrize("moment", ["start", "later"])
@pytest.mark.usefixtures("large")
def test_failures_are_written(tmp_path: Path, moment: str) -> None:
    """A simulation that cannot continue leaves what it computed, in its file too."""
    path = tmp_path / "run.npz"
    # An event, the first impact, counts as a hundred evaluations.
    work = 1 if moment == "start" else 60
    simulation = hs.Simulation(BALL, max_work=work, hand_over=False)
    with pytest.raises(SimulationError) as caught:
        simulation.run(np.array([0.2]), t_end=0.6, sampling_period=0.01, save=path)
    stored = hs.load_run(path)
    assert stored.events[-1].kind == "failure"
    assert_equal(stored, caught.value.run)
    assert (len(stored.t) > 2) == (moment == "later")


@pytest.mark.study
def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The run ends with one line; the old file stays and nothing else is left."""
    if os.uname().sysname != "Linux":
        pytest.skip("limits of file sizes are those of Linux")
    path = tmp_path / "run.npz"
    path.write_text("old")
    code = """if True:
        import resource, signal, sys
        import numpy as np
        import humans_sim as hs
        from humans_sim.dynamics import problems
        from humans_sim.dynamics import recording
        recording._BLOCK = 16
        ball = hs.Simulation(problems.bouncing_ball(0.5))
        ball.run(np.array([0.2]), t_end=2.0)  # compiled kernels are kept
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            ball.run(
                np.array([0.2]), t_end=2.0, sampling_period=0.001, save=sys.argv[1]
            )
        except hs.HumansError as error:
            print(type(error).__name__, error, len(str(error).splitlines()))
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, check=True
    )
    assert done.stdout.decode().startswith(f"FileWriteError {path}: cannot write")
    assert done.stdout.decode().endswith(" 1\n")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_a_run_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL on the way: no file under the name, and none that is hidden."""
    code = """if True:
        import sys
        import numpy as np
        import humans_sim as hs
        from humans_sim.dynamics import problems
        from humans_sim.dynamics import recording
        recording._BLOCK = 16
        def watch(done, count):
            if done == 100:
                print("on the way", flush=True)
        hs.Simulation(problems.bouncing_ball(0.5)).run(
            np.array([0.2]), t_end=1e4, sampling_period=0.001, save=sys.argv[1],
            progress=watch,
        )
    """
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run.npz")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"on the way\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(tmp_path.iterdir()) == []


def test_too_long_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose file nobody could read is refused at its first sample."""
    monkeypatch.setattr(recording, "LARGEST_ARCHIVE", 10_000)
    with pytest.raises(ParameterError, match="601 samples take"):
        simulated(tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def test_no_folder(tmp_path: Path) -> None:
    """A file where the folder should be: a typed error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(FileWriteError, match="cannot write the file"):
        simulated(tmp_path / "file" / "run.npz")


def test_too_many_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are stored, and how many are not; the file can be read."""
    monkeypatch.setattr(run, "LARGEST_HEADER", (4 << 20) + 4000)
    whole = simulated()
    events = [Event(0.001 * k, "tick", "ball", {"n": k}) for k in range(100)]
    path = replace(whole, events=events).save(tmp_path / "run.npz")
    *first, last = hs.load_run(path).events
    assert 5 < len(first) < 50 and first == events[: len(first)]
    assert last.kind == EVENTS_LEFT_OUT
    assert last.detail["text"] == f"{100 - len(first)} events are not stored"
