# SPDX-License-Identifier: Apache-2.0
"""Files that are reconstructed in a thread, without topics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.nodes.reconstruction.job import (
    CancelledError,
    FileJob,
    FileWorker,
    occlusion,
)
from humans_sim.observation.markers import write_trc
from humans_sim.observation.markers.synthetic import swaying, synthetic_trial


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> FileJob:
    """Half a second of a person's motion."""
    human = hs.load_model("human36")
    path = tmp_path_factory.mktemp("job") / "walk.trc"
    write_trc(synthetic_trial(human, duration=0.5, dropout=0.1), path)
    return FileJob(path, human, "canonical")


def changed(job: FileJob, **change: Any) -> FileJob:
    """A job with other fields, of its own or of its options."""
    own = {key: change.pop(key) for key in vars(job) if key in change}
    return replace(job, options=replace(job.options, **change), **own)


def finished(job: FileJob) -> FileWorker:
    """A worker at its end."""
    job.check()
    worker = FileWorker(job)
    worker.join(120.0)
    assert worker.over
    return worker


@pytest.mark.study
def test_part_of_a_file(job: FileJob, tmp_path: Path) -> None:
    """The part asked for is done, and written."""
    worker = finished(changed(job, start=0.1, end=0.3, folder=tmp_path / "new" / "out"))
    assert worker.error is None
    result = worker.result
    assert result is not None
    assert len(result.q) == 21
    assert worker.done is not None
    assert (worker.done.frames, worker.done.total) == (21, 21)
    assert worker.done.number in result.trial.frames
    assert worker.seconds > 0
    truth = swaying(job.model)(0.3)
    knee = 7 + job.model.joint_names.index("l_knee")
    assert result.q[-1, knee] == pytest.approx(truth[knee], abs=0.01)
    endings = sorted(path.suffix for path in worker.files)
    tables = [".csv"] * 4
    assert endings == [*tables, ".html", ".mcap", ".mot", ".npz", ".sto"]
    assert all(path.is_file() for path in worker.files)
    share = occlusion(result)
    assert share.shape == (28,)
    assert 0.0 < share.mean() < 0.4
    assert np.isfinite(share).all()


def test_nothing_is_written_without_a_folder(job: FileJob) -> None:
    """The result is there all the same."""
    worker = finished(changed(job, mode="smooth", end=0.2))
    assert worker.result is not None
    assert worker.result.mode == "smooth"
    assert worker.files == ()


def test_a_job_is_cancelled(job: FileJob, tmp_path: Path) -> None:
    """Nothing is found, nothing is written."""
    worker = FileWorker(replace(job, folder=tmp_path / "out"))
    worker.cancel()
    worker.join(120.0)
    assert isinstance(worker.error, CancelledError)
    assert worker.result is None
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "quick"}, "mode is one of"),
        ({"file": Path("none.trc")}, "there is no file"),
        ({"start": float("inf")}, "finite"),
        ({"end": float("nan")}, "finite"),
    ],
)
def test_jobs_that_are_refused(job: FileJob, change: dict, message: str) -> None:  # type: ignore[type-arg]
    """The error says why."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        changed(job, **change).check()


def test_a_folder_that_is_a_file(job: FileJob) -> None:
    """Results go into a folder."""
    with pytest.raises(hs.errors.ParameterError, match="is no folder"):
        replace(job, folder=job.file).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"marker_set": "none"}, "no marker set"),
        ({"subject": "none.yaml"}, "none.yaml"),
        ({"start": 60.0}, "no sample"),
        ({"pipeline": Path("none.yaml")}, "none.yaml"),
    ],
)
def test_jobs_that_fail(job: FileJob, change: dict, message: str) -> None:  # type: ignore[type-arg]
    """What only the thread finds out is kept for whoever asks."""
    worker = finished(changed(job, **change))
    assert isinstance(worker.error, hs.HumansError)
    assert message in str(worker.error)
