# SPDX-License-Identifier: Apache-2.0
"""One recording gives one result, whoever asks for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications.person import UnknownPersonError
from humans_sim.cli.commands import app
from humans_sim.nodes.reconstruction.job import FileJob, FileWorker
from humans_sim.observation.markers import PipelineSettings, prepare, write_trc
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.subject import Subject

SET = "plug-in-gait"
ARRAYS = ("t", "q", "residuals", "status", "occluded", "converged")


def in_other_words(trial: MarkerTrial, human: hs.Model) -> MarkerTrial:
    """The trial as a laboratory calls its markers, with one that no set has."""
    markers = hs.load_marker_set(SET, human)
    names = [f"Lab:{(*markers[name].aliases, name)[0]}" for name in trial.names]
    stray = np.full((len(trial), 1, 3), 0.3)
    return MarkerTrial(
        (*names, "tripod"),
        trial.times,
        np.concatenate([trial.positions, stray], axis=1),
        trial.frames,
    )


@pytest.fixture(scope="module")
def file(human: hs.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with noise, gaps and labels of a laboratory."""
    trial = synthetic_trial(
        human, SET, duration=0.4, noise=0.003, dropout=0.1, gap=0.05
    )
    path = tmp_path_factory.mktemp("recording") / "walk.trc"
    return write_trc(in_other_words(trial, human), path)


@pytest.fixture(scope="module")
def result(file: Path) -> Reconstruction:
    """What the library finds."""
    return hs.reconstruct(file, SET)


def by_command(file: Path, folder: Path, *options: str) -> Reconstruction:
    """What ``humans-sim reconstruct`` writes."""
    words = ["reconstruct", str(file), "--no-report", "--formats", "npz", *options]
    done = CliRunner().invoke(app, [*words, "--output", str(folder)])
    doubtful = isinstance(done.exception, hs.errors.DoubtfulResultError)
    assert done.exit_code == 0 or doubtful, (done.output, done.exception)
    return hs.load_reconstruction(folder / f"{file.stem}.npz")


def by_action(file: Path, human: hs.Model, **options: Any) -> Reconstruction:
    """What the action ``reconstruct`` of the node finds."""
    job = FileJob(file, human, SET, hs.ReconstructionOptions(**options))
    job.check()
    worker = FileWorker(job)
    worker.join(120.0)
    assert worker.error is None and worker.result is not None
    return worker.result


def assert_equal(one: Reconstruction, other: Reconstruction) -> None:
    """Two results are the same, to the last bit."""
    assert one.names == other.names and one.mode == other.mode
    assert (one.missing, one.ignored) == (other.missing, other.ignored)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.rms == other.rms


@pytest.mark.parametrize("mode", ["static", "smooth"])
def test_one_result(
    human: hs.Model, file: Path, result: Reconstruction, mode: str, tmp_path: Path
) -> None:
    """Library, command and action find the same postures in the same file."""
    if mode != result.mode:
        result = hs.reconstruct(file, SET, mode=mode)
    trial = hs.read_markers(file)
    assert_equal(result, hs.reconstruct(human, trial, marker_set=SET, mode=mode))
    command = by_command(file, tmp_path, "--marker-set", SET, "--mode", mode)
    assert_equal(result, command)
    assert_equal(result, by_action(file, human, mode=mode))


def test_markers_are_prepared(
    human: hs.Model, file: Path, result: Reconstruction
) -> None:
    """Labels are identified, gaps filled and noise filtered where nothing is said."""
    markers = hs.load_marker_set(SET, human)
    moving = [m.name for m in markers.markers if not m.calibration]
    assert result.names == tuple(moving)
    assert "tripod" in result.ignored and not result.missing
    assert result.trial.filled.any()
    noisy = hs.reconstruct(
        file, SET, preparation=PipelineSettings(fill=False, filter=False)
    )
    assert not noisy.trial.filled.any()
    assert result.rms < 0.8 * noisy.rms
    assert np.abs(np.diff(result.q, 2, axis=0)).max() < (
        np.abs(np.diff(noisy.q, 2, axis=0)).max()
    )


def test_prepared_markers_stay_as_they_are(
    human: hs.Model, file: Path, result: Reconstruction
) -> None:
    """Markers are not filtered twice."""
    markers = [m for m in hs.load_marker_set(SET, human).markers if not m.calibration]
    ready = prepare(
        hs.read_markers(file),
        None,
        [marker.name for marker in markers],
        {marker.name: marker.aliases for marker in markers},
    )
    assert_equal(result, hs.reconstruct(human, ready, SET))
    bare = solve_postures(human, ready.trial, SET)
    np.testing.assert_array_equal(bare.q, result.q)


def test_a_subject_beside_the_recording(
    human: hs.Model, file: Path, tmp_path: Path
) -> None:
    """Library, command and action take a calibrated person, given or beside."""
    tall = hs.load_model("human36", height=1.86)
    markers = hs.load_marker_set(SET, tall).markers
    subject = Subject("human36", 1.86, 80.0, {}, markers).save(tmp_path / "tall.yaml")
    own = hs.reconstruct(file, subject=subject)
    assert own.model.mass == pytest.approx(80.0, rel=1e-3)
    assert_equal(own, by_action(file, human, subject=subject))
    beside = tmp_path / "walk.trc"
    shutil.copy(file, beside)
    shutil.copy(subject, tmp_path / "subject.yaml")
    assert_equal(own, hs.reconstruct(str(beside)))
    assert_equal(own, by_command(beside, tmp_path / "out"))


def test_a_person_measured_first(tmp_path: Path) -> None:
    """A static trial gives the sizes, in the library as by the command."""
    tall = hs.load_model("human36", height=1.90)
    still = synthetic_trial(
        tall, "helen-hayes", lambda t: tall.neutral(), duration=0.02
    )
    static = write_trc(still, tmp_path / "static.trc")
    file = write_trc(
        synthetic_trial(tall, "helen-hayes", duration=0.1), tmp_path / "walk.trc"
    )
    usual = hs.reconstruct(file, "helen-hayes")
    own = hs.reconstruct(file, "helen-hayes", static=static, mass=85.0)
    assert own.rms < 0.3 * usual.rms
    words = ("--marker-set", "helen-hayes", "--static", str(static), "--mass", "85")
    assert_equal(own, by_command(file, tmp_path / "out", *words))


def test_a_result_writes_itself(result: Reconstruction, tmp_path: Path) -> None:
    """All of it for later, the motion for OpenSim."""
    assert_equal(result, hs.load_reconstruction(result.save(tmp_path / "walk.npz")))
    lines = result.to_mot(tmp_path / "walk.mot").read_text().splitlines()
    assert f"nRows={len(result.q)}" in lines
    knee = lines[6].split("\t").index("r_knee")
    value = float(lines[7].split("\t")[knee])
    assert value == pytest.approx(np.degrees(result.joint("r_knee")[0]))


def test_a_marker_set_that_changed(human: hs.Model, tmp_path: Path) -> None:
    """A laboratory's own set is read anew when its file changed."""
    file = write_trc(
        synthetic_trial(human, "canonical", duration=0.05), tmp_path / "walk.trc"
    )
    own = tmp_path / "own.yaml"
    tags = hs.load_marker_set("canonical", human).markers

    def write(weight: float) -> None:
        entries = [
            f"- {{name: {m.name}, segment: {m.segment}, weight: {weight},"
            f" at: [{', '.join(map(str, m.at + 0.01 * (weight > 1)))}]}}"
            for m in tags
        ]
        own.write_text("\n".join(["title: own", "markers:", *entries]) + "\n")

    write(1.0)
    before = hs.reconstruct(file, own)
    write(2.0)
    assert hs.reconstruct(file, own).rms > before.rms + 0.001


def test_what_cannot_be_done(human: hs.Model, file: Path, tmp_path: Path) -> None:
    """One clear line for each wrong call."""
    trial = hs.read_markers(file)
    markers = hs.load_marker_set(SET, human)
    for call, words in (
        (lambda: hs.reconstruct(human), "needs a recording"),
        (lambda: hs.reconstruct(human, trial, SET, height=1.8), "has its sizes"),
        (lambda: hs.reconstruct(file, markers), "needs its model"),
        (lambda: hs.reconstruct("human36", trial, SET), "two marker sets"),
        (lambda: hs.reconstruct(file, SET, subject="s.yaml"), "not both"),
        (lambda: hs.reconstruct(file, height=1.8), "go with a marker set"),
        (lambda: hs.reconstruct(file, SET, mode="quick"), "mode is one of"),
        (lambda: hs.reconstruct(human, trial, SET, units="mm"), "are of files"),
        (lambda: hs.reconstruct(file, SET, start=50.0), "no sample"),
        (lambda: hs.reconstruct(human, prepare(trial), SET, end=0.1), "are prepared"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=words):
            call()
    for recording in (file, trial):
        with pytest.raises(UnknownPersonError, match="nobody said who this is"):
            hs.reconstruct(recording)
    with pytest.raises(hs.HumansError, match="none.trc"):
        hs.reconstruct(tmp_path / "none.trc", SET)


def test_settings_of_files(human: hs.Model, file: Path, tmp_path: Path) -> None:
    """A file of choices means the same to library, command and action."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("max_gap: 0.02\ncutoff: 12\norder: 4\n")
    steps = PipelineSettings.load(path)
    own = hs.reconstruct(file, SET, preparation=steps)
    other = hs.reconstruct(file, SET, preparation=replace(steps, cutoff=8.0))
    assert np.abs(own.q - other.q).max() > 1e-4
    words = ("--marker-set", SET, "--pipeline", str(path))
    assert_equal(own, by_command(file, tmp_path / "out", *words))
    assert_equal(own, by_action(file, human, pipeline=path))
    options = hs.ReconstructionOptions(pipeline=path, marker_set=SET, cutoff=8.0)
    assert_equal(other, hs.reconstruct(file, options=options))
    assert_equal(own, hs.reconstruct(file, options=options, cutoff=None))
    with pytest.raises(hs.errors.ParameterError, match="a preparation is given"):
        hs.reconstruct(file, options=options, preparation=steps)
