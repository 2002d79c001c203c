# SPDX-License-Identifier: Apache-2.0
"""humans-sim marker-set, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.observation.markers import write_trc
from humans_sim.observation.markers.synthetic import synthetic_trial

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Types a command in a folder with a recording, standing.trc."""
    person = hs.load_model("human36", height=1.8)
    trial = synthetic_trial(
        person, "cast-ior", lambda t: person.neutral(), duration=0.02
    )
    write_trc(trial, tmp_path / "standing.trc")
    monkeypatch.chdir(tmp_path)

    def typed(*words: object) -> Result:
        runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
        return runner.invoke(app, [str(word) for word in words])

    return typed


@pytest.mark.study
def test_a_draft_is_used_at_once(run: Run, tmp_path: Path) -> None:
    """What draft writes, calibrate and reconstruct take."""
    done = run("marker-set", "draft", "standing.trc", "-o", "own.yaml")
    assert done.exit_code == 0, done.output
    for word in ("RLM", "r_shank", "sure", "name: RLM (cast-ior)", "own.yaml"):
        assert word in done.output
    done = run("calibrate", "standing.trc", "--marker-set", "own.yaml")
    assert done.exit_code == 0, done.output
    assert hs.load_subject("subject.yaml").height == pytest.approx(1.8, rel=0.03)
    words = ("--marker-set", "own.yaml", "--no-report", "--formats", "npz")
    done = run("reconstruct", "standing.trc", *words, "--height", 1.8)
    assert done.exit_code == 0, done.output
    assert hs.load_reconstruction("reconstructed/standing.npz").rms < 0.02


def test_nothing_is_written_over(run: Run, tmp_path: Path) -> None:
    """A file that is there stays, unless it is asked for."""
    path = tmp_path / "marker_set.yaml"
    path.write_text("mine")
    done = run("marker-set", "draft", "standing.trc")
    assert isinstance(done.exception, hs.errors.ParameterError)
    assert "--overwrite" in str(done.exception) and path.read_text() == "mine"
    done = run("marker-set", "draft", "standing.trc", "--overwrite", "--json")
    assert done.exit_code == 0 and path.read_text().startswith("# A draft")
    printed = json.loads(done.stdout)
    assert printed["counts"]["sure"] == len(printed["markers"]) == 26
    assert printed["height"] == pytest.approx(1.8, rel=0.05)


def test_what_cannot_be(run: Run, tmp_path: Path) -> None:
    """Wrong words are errors before the work, and leave nothing behind."""
    for words, text in (
        (("none.trc",), "there is no such file"),
        (("standing.trc", "--height", 3.0), "--height must be"),
        (("standing.trc", "-o", "set.txt"), ".yaml or .yml"),
        (("standing.trc", "--up", "x"), "upward axis"),
    ):
        done = run("marker-set", "draft", *words)
        assert isinstance(done.exception, hs.HumansError), done.output
        assert text in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["standing.trc"]
