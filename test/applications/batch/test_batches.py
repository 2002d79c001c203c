# SPDX-License-Identifier: Apache-2.0
"""Batches: found, done once, gone on with after a kill, on processes and a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import group_alive
from recordings import swaying, tags_of, write_recordings

import humans_sim as hs
from humans_sim.applications.batch.batches import plan_batch, run_batch
from humans_sim.applications.batch.record import HOME, BatchBusyError, Ledger
from humans_sim.applications.batch.runner import ClusterError
from humans_sim.applications.batch.trial import Outcome, TrialSettings
from humans_sim.applications.person import Person
from humans_sim.observation.markers import write_trc
from humans_sim.observation.posture.subject import Subject

QUICK = TrialSettings(formats=("npz",), report=False, cutoff=0.0)
CANONICAL = Person()
COUNT, SAMPLES = 24, 60
PATIENCE = 300.0
"""Longest wait for what does come, on any machine [s]."""


@pytest.fixture(scope="module")
def tree(human: hs.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of three people."""
    folder = tmp_path_factory.mktemp("recordings")
    write_recordings(human, folder, COUNT, SAMPLES)
    return folder


def few(folder: Path, human: hs.Model, count: int = 3) -> Path:
    """A small tree of short recordings."""
    write_recordings(human, folder, count, 5)
    return folder


def states(outcomes: Iterator[Outcome]) -> dict[str, str]:
    """What became of the trials, by name."""
    return {outcome.name: outcome.state for outcome in outcomes}


@pytest.mark.study
def test_the_tree_of_results_is_that_of_the_recordings(
    human: hs.Model, tmp_path: Path
) -> None:
    """Names follow the manual: XXX is the trial's name, or its Optotrak number."""
    source = few(tmp_path / "in", human)
    trial = tags_of(human, swaying(human, 4))
    write_trc(trial, source / "Subject01" / "fl_c_dat#106.trc")
    write_trc(trial, source / "Subject01" / "RecPos106.trc")
    (source / "Subject01" / "RecPos106.csv").write_text("Sample,QREC1\n")
    (source / "Subject01" / "README.txt").write_text("no recording")
    (source / ".hidden.trc").write_text("no recording")
    (source / "Subject01" / "walk00.c3d").write_text("the same trial, other format")
    jobs = plan_batch([source], tmp_path / "out", CANONICAL, QUICK)
    assert [job.name for job in jobs] == [
        "Subject01/RecPos106",
        "Subject01/106",
        "Subject01/walk00_c3d",
        "Subject01/walk00_trc",
        "Subject02/walk01",
        "Subject03/walk02",
    ]
    two = plan_batch(
        [source / "Subject02", source / "Subject03"], tmp_path / "out", CANONICAL, QUICK
    )
    assert [job.name for job in two] == ["Subject02/walk01", "Subject03/walk02"]
    job = replace(jobs[1], settings=TrialSettings(formats=("csv", "mot", "trc")))
    (done,) = run_batch([job])
    assert set(done.files) == {
        "Subject01/RecPos106.csv",
        "Subject01/TagPos106.csv",
        "Subject01/COMPos106.csv",
        "Subject01/StdPos106.csv",
        "Subject01/106.mot",
        "Subject01/106_std.sto",
        "Subject01/106.trc",
        "Subject01/106.html",
    }
    assert all((tmp_path / "out" / name).stat().st_size > 100 for name in done.files)
    within = plan_batch([tmp_path], tmp_path / "out", CANONICAL, QUICK)
    assert len(within) == len(jobs)  # results are no recordings


def test_folders_of_the_manual(human: hs.Model, tmp_path: Path) -> None:
    """Measures/Condition/Subject01, and one file with the sizes of all (9.6)."""
    parameters = tmp_path / "Measures" / "ReconstructionParameters.csv"
    folder = parameters.parent / "Walking" / "Subject01"
    folder.mkdir(parents=True)
    tall = human.with_height(1.9)
    hs.write_reconstruction_parameters(parameters, "01", tall)
    trial = tags_of(tall, swaying(tall, 4))
    write_trc(trial, folder / "fl_c_dat#106.trc")
    (job,) = plan_batch([parameters.parent], tmp_path / "out", None, QUICK)
    assert job.name == "Walking/Subject01/106" and job.person is not None
    model, _ = job.person.load()
    assert model.height == pytest.approx(tall.height, abs=1e-3)
    (done,) = run_batch([job])
    assert done.state == "done" and done.summary["rms"] < 1e-3
    folder.rename(folder.with_name("Subject02"))
    (other,) = plan_batch([parameters.parent], tmp_path / "out", None, QUICK)
    (failed,) = run_batch([other])
    assert failed.state == "failed" and "no subject 02, but 01" in failed.message


def test_places_that_clash(human: hs.Model, tmp_path: Path) -> None:
    """Nothing is written over something else."""
    source = few(tmp_path / "in", human)
    file = source / "Subject01" / "walk00.trc"
    write_trc(tags_of(human, swaying(human, 4)), source / "walk00.trc")
    for sources, output, words in (
        ([file, source / "walk00.trc"], tmp_path / "out", "would both be written"),
        ([source], source, "among the recordings"),
        ([tmp_path / "none"], tmp_path / "out", "no such file"),
        ([], tmp_path / "out", "no recording"),
        ([file], file, "is a file"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=words):
            plan_batch(sources, output, CANONICAL, QUICK)
    over = replace(QUICK, formats=("trc",))
    with pytest.raises(hs.errors.ParameterError, match="written over"):
        plan_batch([file], file.parent, CANONICAL, over)


def test_each_ones_own_subject(human: hs.Model, tmp_path: Path) -> None:
    """The nearest subject.yaml counts; who has none fails alone."""
    source = few(tmp_path / "in", human)
    tall = hs.load_model("human36", height=1.9)
    markers = hs.load_marker_set("canonical", tall).markers
    subject = Subject("human36", 1.9, 80.0, {}, markers)
    subject.save(source / "Subject02" / "subject.yaml")
    (source / "Subject03" / "subject.yaml").write_text(
        "model: human36\nheight: tall\nmass: 70\nlengths: {}\nmarkers: []\n"
    )
    outcomes = {
        o.name: o
        for o in run_batch(
            plan_batch([source], tmp_path / "out", None, QUICK), workers=0
        )
    }
    result = hs.load_reconstruction(tmp_path / "out" / "Subject02" / "walk01.npz")
    assert result.model.mass == pytest.approx(80.0, rel=1e-3)
    assert "nobody said who this is" in outcomes["Subject01/walk00"].message
    damaged = outcomes["Subject03/walk02"]
    assert damaged.state == "failed" and "subject.yaml:2" in damaged.message


def test_done_once_and_again(human: hs.Model, tmp_path: Path) -> None:
    """Kept while nothing changed; redone for a new recording, person or setting."""
    source = few(tmp_path / "in", human, 2)
    out = tmp_path / "out"

    def run(person: Person = CANONICAL, settings=QUICK, **options) -> dict[str, str]:
        jobs = plan_batch([source], out, person, settings)
        return states(run_batch(jobs, workers=0, **options))

    first, second = "Subject01/walk00", "Subject02/walk01"
    assert set(run().values()) == {"done"}
    assert set(run().values()) == {"kept"}
    trial = tags_of(human, swaying(human, 6))
    write_trc(trial, source / f"{first}.trc")
    assert run() == {first: "done", second: "kept"}
    (out / f"{second}.npz").unlink()
    assert run() == {first: "kept", second: "done"}
    (out / HOME / "records" / f"{second}.json").write_text('{"name": ')
    assert run() == {first: "kept", second: "done"}
    assert set(run(replace(CANONICAL, height=1.8)).values()) == {"done"}
    assert set(run(replace(CANONICAL, height=1.8), again=True).values()) == {"done"}
    both = replace(QUICK, formats=("npz", "mot"))
    assert set(run(settings=both).values()) == {"done"}
    assert (out / f"{first}.mot").is_file()
    assert set(run().values()) == {"done"}
    assert not (out / f"{first}.mot").exists()  # it was of other settings


def test_a_failing_file_does_not_stop_the_others(
    human: hs.Model, tmp_path: Path
) -> None:
    """The message names the file and the line; it is tried again next time."""
    source = few(tmp_path / "in", human, 4)
    broken = source / "Subject02" / "walk01.trc"
    sound = broken.read_text()
    broken.write_text(sound.replace("0.01\t", "0.01\tx", 1))
    jobs = plan_batch([source], tmp_path / "out", CANONICAL, QUICK)
    outcomes = {o.name: o for o in run_batch(jobs, workers=0)}
    assert Counter(o.state for o in outcomes.values()) == {"done": 3, "failed": 1}
    assert f"{broken}:" in outcomes["Subject02/walk01"].message
    assert not outcomes["Subject02/walk01"].detail  # expected: no traceback
    broken.write_text(sound)
    assert Counter(states(run_batch(jobs)).values()) == {"kept": 3, "done": 1}


@pytest.mark.study
def test_a_worker_that_dies(human: hs.Model, tmp_path: Path) -> None:
    """Its trial fails, the others are done, and nothing half written stays."""
    source, out = few(tmp_path / "in", human, 4), tmp_path / "out"
    jobs = plan_batch([source], out, CANONICAL, QUICK)
    victim = jobs[1].name
    folder = (out / victim).parent
    claim = out / HOME / "claims" / f"{victim}.lock"

    def kill() -> None:
        wait_for(lambda: waiting_for(claim) is not None)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f".humans-sim.{'0' * 32}.part").write_text("half")
        os.kill(waiting_for(claim) or 0, signal.SIGKILL)

    # The worker cannot finish before it is killed: its trial is claimed already.
    with Ledger(out).claim(victim), ThreadPoolExecutor() as pool:
        killed = pool.submit(kill)
        outcomes = {o.name: o for o in run_batch(jobs, workers=2)}
        killed.result()
    assert "killed by SIGKILL" in outcomes[victim].message
    assert Counter(o.state for o in outcomes.values()) == {"done": 3, "failed": 1}
    assert not list(folder.glob(".humans-sim.*"))


def waiting_for(path: Path) -> int | None:
    """The process that waits for a lock."""
    inode = str(path.stat().st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1:3] == ["->", "FLOCK"] and words[6].endswith(f":{inode}"):
            return int(words[5])
    return None


def command(source: Path, out: Path) -> list[str]:
    """A batch as a person starts it."""
    line = [sys.executable, "-m", "humans_sim", "reconstruct", str(source)]
    line += ["--marker-set", "canonical", "--formats", "npz", "--no-report"]
    return [*line, "--workers", "2", "--cutoff", "0", "--output", str(out)]


def done_marks(out: Path) -> list[tuple[str, str]]:
    """Names and marks of the trials that the journal says are done."""
    entries = Ledger(out).entries()
    return [(e["name"], e["mark"]) for e in entries if e["state"] == "done"]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.01)


@contextmanager
def half(tree: Path, out: Path) -> Iterator[None]:
    """No batch of two workers gets further than half of the trials.

    The two after that half are claimed here, and workers take trials in their order.
    """
    jobs = plan_batch([tree], out, CANONICAL, QUICK)[COUNT // 2 :][:2]
    with Ledger(out).claim(jobs[0].name), Ledger(out).claim(jobs[1].name):
        yield


@pytest.mark.study
def test_killed_half_way_and_resumed(
    human: hs.Model, tree: Path, tmp_path: Path
) -> None:
    """Nothing is lost, nothing is done twice; a second process has to wait."""
    out = tmp_path / "out"
    with (
        half(tree, out),
        subprocess.Popen(
            command(tree, out), stdout=subprocess.DEVNULL, start_new_session=True
        ) as batch,
    ):
        wait_for(lambda: len(done_marks(out)) >= 2)
        with pytest.raises(BatchBusyError, match=f"process {batch.pid}"):
            states(run_batch(plan_batch([tree], out, CANONICAL, QUICK)))
        wait_for(lambda: len(done_marks(out)) >= COUNT // 3)
        batch.kill()
    assert batch.returncode == -signal.SIGKILL
    wait_for(lambda: not group_alive(batch.pid))  # workers end with their parent
    records = {path: path.stat().st_mtime_ns for path in out.rglob("records/**/*.json")}
    assert COUNT // 3 <= len(records) <= COUNT // 2
    before = len(records)
    again = subprocess.run(command(tree, out), capture_output=True, text=True)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{before} done before" in again.stdout
    assert all(path.stat().st_mtime_ns == when for path, when in records.items())
    counts = Counter(name for name, _ in done_marks(out))
    assert len(counts) == COUNT and set(counts.values()) == {1}
    assert not list(out.rglob(".*.npz.*"))
    for k in range(0, COUNT, 5):
        path = out / f"Subject{k % 3 + 1:02}" / f"walk{k:02}.npz"
        result, expected = (
            hs.load_reconstruction(path),
            swaying(human, SAMPLES, float(k)),
        )
        assert result.rms < 1e-4 and len(result.t) == SAMPLES
        assert np.abs(result.q[:, :3] - expected[:, :3]).max() < 1e-3


@pytest.mark.study
def test_ctrl_c(tree: Path, tmp_path: Path) -> None:
    """Ends workers, says how to resume, leaves nothing half done."""
    out = tmp_path / "out"
    with (
        half(tree, out),
        subprocess.Popen(
            command(tree, out),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as batch,
    ):
        wait_for(lambda: len(done_marks(out)) >= 2)
        os.killpg(batch.pid, signal.SIGINT)
        text = batch.communicate(timeout=PATIENCE)[0]
    assert batch.returncode == 130
    assert "the same command resumes" in text and "Traceback" not in text
    wait_for(lambda: not group_alive(batch.pid))
    # A trial may be recorded whose line in the journal was not written any more.
    records = len(list(out.rglob("records/**/*.json")))
    assert len(done_marks(out)) <= records <= COUNT // 2
    assert not list(out.rglob(".*.npz.*"))


def test_journal_and_lock_after_a_kill(tmp_path: Path) -> None:
    """A line cut off is left out, a record without one gets it, an old lock is void."""
    ledger = Ledger(tmp_path)
    ledger.log({"name": "a", "state": "done", "mark": "1"})
    with ledger.journal.open("a") as stream:
        stream.write('{"name": "b", "sta')
    record = {"name": "c/d", "state": "done", "mark": "2", "files": []}
    ledger.write("c/d", record)
    (ledger.home / "lock").write_text("process 999999 on elsewhere")
    with ledger.lock():
        ledger.catch_up()
        ledger.catch_up()
        with pytest.raises(BatchBusyError, match=str(os.getpid())), ledger.lock():
            pass
    assert [entry["name"] for entry in ledger.entries()] == ["a", "c/d"]
    assert json.loads(ledger.journal.read_text().splitlines()[-1])["mark"] == "2"


def test_settings_that_cannot_be(human: hs.Model, tmp_path: Path) -> None:
    """Said before anything is done."""
    source = few(tmp_path / "in", human, 1)
    for options in (
        {"mode": "guess"},
        {"formats": ("doc",)},
        {"formats": (), "report": False},
        {"cutoff": -1.0},
        {"max_gap": float("nan")},
    ):
        with pytest.raises(hs.errors.ParameterError):
            TrialSettings(**options)
    for options in (
        {"frame_change": "lying"},
        {"frame_change": str(tmp_path / "none.yaml")},
        {"correspondence": tmp_path / "none.txt"},
        {"pipeline": tmp_path / "none.yaml"},
    ):
        with pytest.raises(hs.HumansError):
            plan_batch([source], tmp_path / "out", CANONICAL, TrialSettings(**options))
    with pytest.raises(hs.errors.ParameterError, match="workers must be 0 or more"):
        jobs = plan_batch([source], tmp_path / "out", CANONICAL, QUICK)
        states(run_batch(jobs, workers=-1))
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / HOME).write_text("a file where a folder should be")
    with pytest.raises(hs.HumansError, match="cannot write the file"):
        jobs = plan_batch([source], tmp_path / "shut", CANONICAL, QUICK)
        states(run_batch(jobs))


@pytest.mark.study
def test_on_a_cluster(human: hs.Model, tmp_path: Path) -> None:
    """A dask cluster gives what processes here give; a failing file fails alone."""
    distributed = pytest.importorskip("distributed")
    source = few(tmp_path / "in", human, 4)
    (source / "bad.trc").write_text("PathFileType\t4\n")
    here = plan_batch([source], tmp_path / "here", CANONICAL, QUICK)
    there = plan_batch([source], tmp_path / "there", CANONICAL, QUICK)
    local = states(run_batch(here, workers=0))
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        address = cluster.scheduler_address
        assert states(run_batch(there, cluster=address)) == local
        assert Counter(local.values()) == {"done": 4, "failed": 1}
        assert set(states(run_batch(there, cluster=address)).values()) == {
            "kept",
            "failed",
        }
    for path in sorted((tmp_path / "here").rglob("*.npz")):
        other = tmp_path / "there" / path.relative_to(tmp_path / "here")
        apart = hs.load_reconstruction(path).q - hs.load_reconstruction(other).q
        assert np.abs(apart).max() < 1e-9


def test_a_cluster_that_is_not_there(human: hs.Model, tmp_path: Path, monkeypatch):
    """Said in words: no package, no scheduler."""
    source = few(tmp_path / "in", human, 1)
    jobs = plan_batch([source], tmp_path / "out", CANONICAL, QUICK)
    monkeypatch.setattr("humans_sim.applications.batch.runner._ANSWER", 1.0)
    if "distributed" in sys.modules or _has_distributed():
        for address in ("tcp://127.0.0.1:9", "not an address"):
            with pytest.raises(ClusterError, match="no dask scheduler"):
                states(run_batch(jobs, cluster=address))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(hs.errors.MissingDependencyError, match=r"humans-sim\[dask\]"):
        states(run_batch(jobs, cluster="tcp://127.0.0.1:9"))


def _has_distributed() -> bool:
    from importlib.util import find_spec

    return find_spec("distributed") is not None
