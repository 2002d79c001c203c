# SPDX-License-Identifier: Apache-2.0
"""humans-sim calibrate and reconstruct, as a person types them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from recordings import swaying, tags_of, write_recordings
from typer.testing import CliRunner, Result

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.observation.markers import write_trc

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Types a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def typed(*words: object) -> Result:
        runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
        return runner.invoke(app, [str(word) for word in words])

    return typed


def plain_error(result: Result) -> str:
    """The one line that main() prints of an error of ours."""
    assert result.exit_code == 1
    assert isinstance(result.exception, hs.HumansError), result.exception
    return str(result.exception)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tall person that stands and sways a little."""
    tall = hs.load_model("human36", height=1.85)
    q = swaying(tall, 12)
    q[:, 7:] *= 0.2
    trial = tags_of(tall, np.array([tall.standing(row[7:]) for row in q]))
    return write_trc(trial, tmp_path_factory.mktemp("tall") / "standing.trc")


def test_marker_sets_are_listed(run: Run) -> None:
    """Without a file, calibrate lists the marker sets."""
    done = run("calibrate")
    assert done.exit_code == 0
    for word in ("canonical", "rajagopal", "markers.md"):
        assert word in done.output


@pytest.mark.study
def test_calibrate_and_reconstruct(run: Run, standing: Path, tmp_path: Path) -> None:
    """A person is measured, then reconstructed; tables say how well."""
    done = run(
        "calibrate",
        standing,
        *("--marker-set", "canonical", "--mass", 80, "--title", "tall one"),
    )
    assert done.exit_code == 0, done.output
    for word in (
        "found [mm]",
        "usual [mm]",
        "moved [mm]",
        "left over [mm]",
        "not seen",
    ):
        assert word in done.output
    subject = hs.load_subject(tmp_path / "subject.yaml")
    assert abs(subject.height - 1.85) < 0.05 and subject.mass == 80.0
    assert subject.title == "tall one"
    found = run(
        "reconstruct", standing, "--subject", "subject.yaml", "--formats", "csv"
    )
    assert found.exit_code == 0, found.output
    for word in ("rms [mm]", "worst frames", "r_lateral_malleolus", "head_yaw", "ok"):
        assert word in found.output
    names = {path.name for path in (tmp_path / "reconstructed").glob("[!.]*")}
    assert names == {
        "RecPosstanding.csv",
        "TagPosstanding.csv",
        "COMPosstanding.csv",
        "StdPosstanding.csv",
        "standing.html",
    }
    again = run(
        "reconstruct", standing, "--subject", "subject.yaml", "--formats", "csv"
    )
    assert again.exit_code == 0 and "1 done before" in again.output


def test_options_reach_the_solver(
    run: Run, human: hs.Model, standing: Path, tmp_path: Path
) -> None:
    """Mode, frame change and formats; a frame change turns the person to x."""
    trial = hs.read_markers(standing)
    turned = trial.positions[:, :, [1, 0, 2]] * [-1.0, 1.0, 1.0] + [2.0, 3.0, 0.0]
    write_trc(trial.moved(turned), tmp_path / "turned.trc")
    words = ["reconstruct", "turned.trc", "--marker-set", "canonical", "--height", 1.85]
    words += ["--formats", "npz,trc", "--no-report", "--cutoff", 0]
    done = run(*words, "--frame-change", "standing", "--mode", "smooth")
    assert done.exit_code == 0, done.output
    result = hs.load_reconstruction(tmp_path / "reconstructed" / "turned.npz")
    assert result.mode == "smooth"
    assert np.abs(result.q[0, :2]).max() < 0.1
    assert (tmp_path / "reconstructed" / "turned.trc").is_file()
    done = run(*words, "--frame-change", "none")
    result = hs.load_reconstruction(tmp_path / "reconstructed" / "turned.npz")
    assert result.mode == "static" and np.abs(result.q[0, :2] - [2, 3]).max() < 0.2
    (tmp_path / "frame.yaml").write_text("translation: [-3, 2, 0]\nrpy: [0, 0, -90]\n")
    done = run(*words, "--frame-change", "frame.yaml")
    result = hs.load_reconstruction(tmp_path / "reconstructed" / "turned.npz")
    assert np.abs(result.trial.positions - trial.positions).max() < 1e-9


def test_a_batch_with_a_failing_file(run: Run, human: hs.Model, tmp_path: Path) -> None:
    """It is named in plain words, the others are done, the exit code says so."""
    write_recordings(human, tmp_path / "in", 2, 5)
    (tmp_path / "in" / "Subject01" / "notes.csv").write_text("some,words\n")
    words = ["reconstruct", "in", "--marker-set", "canonical", "--no-report"]
    done = run(*words, "--workers", 0)
    assert "1 of 3 recordings failed" in plain_error(done)
    assert "notes.csv:" in done.output and "Traceback" not in done.output
    assert (tmp_path / "reconstructed" / "Subject02" / "walk01.mot").is_file()


def test_forces_of_a_motion(run: Run, standing: Path, tmp_path: Path) -> None:
    """Ground forces of a file go to the feet; tables, JSON and files have them."""
    words = ["reconstruct", standing, "--marker-set", "canonical", "--height", 1.85]
    words += ["--formats", "mot", "--no-report", "--workers", 0]
    alone = run(*words, "--inverse-dynamics")
    assert alone.exit_code == 0 and "residual force" in alone.output, alone.output
    folder = tmp_path / "reconstructed"
    loads = folder / f"{standing.stem}_loads.mot"
    (tmp_path / "plates.mot").write_text(loads.read_text())
    done = run(*words, "--force-file", "plates.mot", "--reduce-residuals")
    assert done.exit_code == 0, done.output
    assert "plates cover" in done.output and "markers alone: r" in done.output
    header = (folder / f"Forces{standing.stem}.csv").read_text().partition("\n")[0]
    assert "l_sole_fz" in header and "residual_fx" in header
    assert (folder / f"{standing.stem}_forces.sto").is_file()
    (tmp_path / "other.trc").write_bytes(standing.read_bytes())
    two = [*words[:2], "other.trc", *words[2:], "--force-file", "plates.mot"]
    assert "--force-file is of one recording" in plain_error(run(*two))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("calibrate none.trc", "--marker-set"),
        ("calibrate none.trc --marker-set nobody", "no marker set is called 'nobody'"),
        ("calibrate none.trc --marker-set canonical", "none.trc"),
        ("calibrate none.trc --marker-set canonical -o x.txt", ".yaml"),
        ("calibrate none.trc --marker-set canonical --height -2", "height"),
        ("reconstruct none.trc --subject none.yaml", "none.yaml"),
        ("reconstruct none.trc --marker-set canonical", "no such file"),
        ("reconstruct x.trc --subject a.yaml --marker-set canonical", "not both"),
        ("reconstruct x.trc --height 1.8", "go with a marker set"),
        ("reconstruct x.trc --cutoff -1", "--cutoff must be"),
        ("reconstruct x.trc --rate nan", "--rate must be"),
        ("reconstruct x.trc -o none/out", "there is no folder"),
        ("reconstruct x.trc --formats doc", "csv, mot, osim, trc, mcap, npz"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, words: str, said: str) -> None:
    """One clear line."""
    assert said in plain_error(run(*words.split()))


def test_a_damaged_subject(run: Run, standing: Path, tmp_path: Path) -> None:
    """The file and the line are named before anything is done."""
    (tmp_path / "s.yaml").write_text("model: human36\nheight: -1\nmass: 70\n")
    message = plain_error(run("reconstruct", standing, "--subject", "s.yaml"))
    assert "s.yaml:" in message
    assert not (tmp_path / "reconstructed").exists()


@pytest.mark.study
def test_names_that_others_use(run: Run, standing: Path, tmp_path: Path) -> None:
    """Person, motion and table have OpenSim's names, on the same coordinates."""
    done = run(
        "calibrate",
        standing,
        *("--marker-set", "canonical", "--mass", 80),
        *("--osim", "person.osim", "--convention", "opensim"),
    )
    assert done.exit_code == 0, done.output
    assert "hip_flexion_r" in done.output and "r_hip_pitch" not in done.output
    done = run(
        "reconstruct",
        standing,
        *("--subject", "subject.yaml", "--no-report", "--convention", "opensim"),
        *("--formats", "csv,mot,osim"),
    )
    assert done.exit_code == 0, done.output
    folder = tmp_path / "reconstructed"
    person = (tmp_path / "person.osim").read_text()
    body = (folder / "standing.osim").read_text()
    lines = (folder / "standing.mot").read_text().split("endheader\n")[1].splitlines()
    names = lines[0].split("\t")[1:]
    for name in names:
        assert f'<Coordinate name="{name}">' in person
    assert re.findall("Coordinate name=.*", person) == re.findall(
        "Coordinate name=.*", body
    )
    table = (folder / "JointAnglesstanding.csv").read_text().splitlines()
    assert table[0].split(",") == ["time", *names]
    assert table[1] == lines[1].replace("\t", ",")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reconstruct", "--convention", "vicon"), "there are: humans, isb, opensim"),
        (
            ("reconstruct", "--convention", "isb", "--formats", "osim"),
            "'isb' has no .osim",
        ),
        (
            ("calibrate", "--convention", "plug-in-gait", "--osim", "a.osim"),
            "'plug-in-gait' has no .osim",
        ),
    ],
)
def test_conventions_are_checked_before_the_work(
    run: Run, standing: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """A name that is not there, or that has no model, is refused; nothing is made."""
    command, *options = words
    done = run(command, standing, "--marker-set", "canonical", *options)
    assert message in plain_error(done)
    assert not list(tmp_path.iterdir())
