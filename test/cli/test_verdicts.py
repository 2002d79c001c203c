# SPDX-License-Identifier: Apache-2.0
"""What a recording is worth, on the terminal, in JSON, on the page and in the code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.cli.commands import run_app
from humans_sim.observation.markers import write_trc
from humans_sim.observation.markers.synthetic import synthetic_trial

GOOD, FAILED, DOUBTFUL = 0, 1, 3
SET = ("--marker-set", "cmu")


@pytest.fixture(scope="module")
def folder(human: hs.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording as it is, with markers hidden, in another unit, mirrored."""
    folder = tmp_path_factory.mktemp("recordings")
    trial = synthetic_trial(human, "cmu", duration=0.2, noise=0.001)
    write_trc(trial, folder / "good.trc")
    hidden = trial.positions.copy()
    hidden[5:15, ::2] = np.nan
    write_trc(trial.moved(hidden), folder / "hidden.trc")
    text = (folder / "good.trc").read_text()
    write_trc(trial, folder / "metres.trc", units="m")
    metres = (folder / "metres.trc").read_text()
    (folder / "metres.trc").write_text(metres.replace("\tm\t", "\tmm\t", 1))
    assert "\tmm\t" in text
    mirrored = trial.moved(trial.positions * [1.0, -1.0, 1.0])
    write_trc(mirrored, folder / "mirrored.trc")
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results go to an empty folder; lines are not broken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_good(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said, and the code is 0."""
    code = run_app(["reconstruct", str(folder / "good.trc"), *SET, "--no-report"])
    shown = capsys.readouterr()
    assert code == GOOD and "doubtful" not in shown.out and shown.err == ""


@pytest.mark.study
def test_doubtful(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is on the terminal, on the page and in JSON; the code is 3."""
    words = ["reconstruct", str(folder / "hidden.trc"), *SET, "--formats", "npz"]
    assert run_app(words) == DOUBTFUL
    shown = capsys.readouterr()
    reason = "26 % of the samples are interpolated"
    assert f"hidden: doubtful: {reason}" in " ".join(shown.out.split())
    assert "1 of 1 recordings gave doubtful results" in shown.err
    assert reason in Path("reconstructed/hidden.html").read_text(encoding="utf-8")
    assert run_app([*words, "--json"]) == DOUBTFUL  # kept, and doubtful still
    answer = json.loads(capsys.readouterr().out)
    summary = answer["trials"][0]["summary"]
    assert answer["ok"] is False and answer["trials"][0]["state"] == "kept"
    assert summary["verdict"] == "doubtful" and reason in summary["reasons"]


def test_corrected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unit against the header is corrected, which is doubtful until it is given."""
    file = str(folder / "metres.trc")
    words = [*SET, "--no-report", "--formats", "npz"]
    assert run_app(["reconstruct", file, *words]) == DOUBTFUL
    shown = " ".join(capsys.readouterr().out.split())
    assert "read as m, not mm (--units confirms it)" in shown
    assert run_app(["reconstruct", file, *words, "--units", "m"]) == GOOD


def test_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a batch, each recording has its verdict; --force does what was refused."""
    words = ["reconstruct", str(folder), *SET, "--no-report", "--formats", "npz"]
    assert run_app([*words, "--workers", "0"]) == FAILED
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())  # lines are broken where paths are long
    assert "mirrored: " in text and "left and right labels" in text
    assert "1 of 4 recordings failed" in shown.err
    assert "hidden: doubtful" in text and "good: doubtful" not in text
    assert not Path("reconstructed/mirrored.npz").exists()
    file = str(folder / "mirrored.trc")
    assert run_app([*words[:1], file, *words[2:], "--force"]) in (FAILED, DOUBTFUL)
    result = hs.load_reconstruction("reconstructed/mirrored.npz")
    assert result.doubts and not result.verdict.good


def test_a_wrong_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The set that has more of the labels is named."""
    words = ["--marker-set", "rajagopal", "--no-report"]
    assert run_app(["reconstruct", str(folder / "good.trc"), *words]) == FAILED
    shown = " ".join(capsys.readouterr().out.split())
    assert "the set cmu has 41 of these labels" in shown


def test_a_mirrored_static_trial(folder: Path) -> None:
    """Nobody is measured from what cannot be a person."""
    words = ["calibrate", str(folder / "mirrored.trc"), *SET]
    assert run_app(words) == FAILED and not Path("subject.yaml").exists()
