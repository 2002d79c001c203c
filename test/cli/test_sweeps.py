# SPDX-License-Identifier: Apache-2.0
"""``humans-sim sweep`` as a person types it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications.batch.sweeps import RunOutcome, run_sweep
from humans_sim.cli.commands import app
from humans_sim.cli.sweeps import _pace
from humans_sim.core.resources import resource

runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
LINE = ["sweep", "bounce", "--vary", "end=0.1", "--vary", "start.q.0=0.5:1.5:3"]


def test_table_plot_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row a run, a picture, and an object with what became of them."""
    monkeypatch.chdir(tmp_path)
    line = [*LINE, "--workers", "0", "--plot", "a.png", "-o", "a.csv", "--json"]
    done = runner.invoke(app, [*line, "--metric", "end_time"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["runs"] == answer["new"] == 3 and answer["outcomes"] == {
        "finished": 3
    }
    assert answer["written"] == ["a.csv", "a.png"] and 0 < answer["busy"] <= 1
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    with Path("a.csv").open() as stream:
        assert [row["start.q.0"] for row in csv.DictReader(stream)] == [
            "0.5",
            "1.0",
            "1.5",
        ]
    again = runner.invoke(app, [*LINE, "--workers", "0", "-o", "a.csv"])
    assert "3 done before, kept" in again.output


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["sweep", "bounce"], "nothing varies"),
        ([*LINE, "--metric", "joy"], "is not one of success"),
        ([*LINE, "--seeds", "2"], "no biped alone"),
        (["sweep", "bounce", "--vary", "end=1", "--plot", "a.png"], "one or two keys"),
        ([*LINE, "-o", "a.txt"], ".csv or .parquet"),
        ([*LINE, "-o", "none/a.csv"], "none"),
        ([*LINE, "--vary", "end=0.2"], "varied twice"),
        (["sweep", "bonce", "--vary", "end=1"], "no scenario is called"),
    ],
)
def test_refused_before_the_work(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made."""
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, words)
    assert done.exit_code and isinstance(done.exception, hs.HumansError)
    assert text in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how far it came and how to resume; there is no table of a part."""
    monkeypatch.chdir(tmp_path)

    def stopped_after_two(*given, **options) -> Iterator[RunOutcome]:
        yield from islice(run_sweep(*given, **options), 2)
        raise KeyboardInterrupt

    place = "humans_sim.applications.batch.sweeps.run_sweep"
    line = [*LINE, "--workers", "0"]
    with monkeypatch.context() as patch:
        patch.setattr(place, stopped_after_two)
        stopped = runner.invoke(app, line)
    assert stopped.exit_code == 130 and not Path("sweep.csv").exists()
    assert "stopped: 2 of 3 runs are done; the same command resumes" in stopped.output
    resumed = runner.invoke(app, line)
    assert "2 done before, kept" in resumed.output and Path("sweep.csv").exists()


def test_errors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is written, and the command fails with the first of them."""
    monkeypatch.chdir(tmp_path)
    source = resource("config", "scenarios", "bounce.yaml").read_text()
    Path("ball.yaml").write_text(source)

    def broken(*given, **options) -> Iterator[RunOutcome]:
        Path("ball.yaml").write_text(source.replace("bouncing_ball", "no_ball"))
        yield from run_sweep(*given, **options)

    place = "humans_sim.applications.batch.sweeps.run_sweep"
    monkeypatch.setattr(place, broken)
    line = ["sweep", "ball.yaml", "--vary", "end=0.1,0.2", "--workers", "0"]
    done = runner.invoke(app, line)
    assert "2 of 2 runs ended by an error" in str(done.exception)
    assert "no_ball" in str(done.exception)
    assert Path("sweep.csv").read_text().count("no_ball") == 2


def test_pace() -> None:
    """Rate and time left; nothing is guessed where nothing was run."""
    assert _pace(0, 10, 0.0) == "kept"
    assert _pace(10, 30, 5.0) == "2.00 a second, 15 s left"
    assert _pace(10, 1000, 20.0) == "0.50 a second, 33 min left"
