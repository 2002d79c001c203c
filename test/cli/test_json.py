# SPDX-License-Identifier: Apache-2.0
"""What --json prints: one object with the documented keys."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import swaying, tags_of
from typer.testing import CliRunner
from unhurried import type_unhurried

import humans_sim as hs
from humans_sim.cli.anatomy import app as anatomy_app
from humans_sim.cli.commands import app
from humans_sim.cli.kondo.commands import kondo_commands
from humans_sim.cli.marker_sets import app as set_app
from humans_sim.cli.output import plain
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.observation.markers import write_trc

GUIDE = Path(__file__).parents[2] / "docs" / "cli.md"
HEAD = {"command", "ok", "error"}


def type_json(*words: object, code: int = 0, **variables: str) -> dict[str, Any]:
    """Type a command with --json; the object, which is all of standard output."""
    runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1", **variables})
    done = runner.invoke(app, [*map(str, words), "--json"])
    assert (done.exit_code == 0) == (code == 0), done.output
    document = json.loads(done.stdout)
    assert (
        document["ok"] == (code == 0)
        and document["error"] is None
        or not document["ok"]
    )
    return document


def documented() -> dict[str, set[str]]:
    """Keys of each command in the guide; of things in lists, those outside."""
    table = GUIDE.read_text().split("| further keys |")[1].split("\n\n")[0]
    keys: dict[str, set[str]] = {}
    for line in table.splitlines()[2:]:
        commands, _, rest = line.strip("| ").partition(" | ")
        rest = re.sub(r"(`\w+`): .*", r"\1", rest)  # keys of the things in a list
        for command in re.findall(r"`([\w -]+)`", commands):
            name = f"{command} (a list)" if "(a list)" in commands else command
            keys[name] = set(re.findall(r"`(\w+)`", rest.split(";")[0]))
    return keys


def test_retarget() -> None:
    """A motion that is not simulated has no fall to report."""
    document = type_json("retarget", "--example", "wave", "--no-simulate")
    assert set(document) == HEAD | documented()["retarget"]
    assert document["robot"] == "khr1" and document["fallen"] is None
    assert 0.0 < document["direction_error"] < math.radians(15.0)


def test_every_command_is_documented() -> None:
    """The guide has a row for each command that has --json."""
    names = {c.callback.__name__.replace("_", "-") for c in app.registered_commands}
    names -= {"view", "adjust"}  # pages, which report nothing
    names |= {f"kondo {name}" for name in kondo_commands().commands}
    names -= {"kondo free"}  # has nothing to report
    bones = {c.callback.__name__ for c in anatomy_app.registered_commands}
    names |= {f"anatomy {name.replace('_', '-')}" for name in bones}
    names |= {f"marker-set {c.callback.__name__}" for c in set_app.registered_commands}
    assert {name.removesuffix(" (a list)") for name in documented()} == names


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("doctor",), "doctor"),
        (("models",), "models"),
        (("run",), "run (a list)"),
        (("up",), "up (a list)"),
        (("calibrate",), "calibrate (a list)"),
    ],
)
def test_lists(words: tuple[str, ...], row: str) -> None:
    """Lists have the documented keys, and things in them."""
    document = type_json(*words)
    assert set(document) == HEAD | documented()[row]
    assert all(document[key] for key in documented()[row])


def test_export(tmp_path: Path) -> None:
    """A model in a file of another program."""
    file = tmp_path / "khr1.glb"
    document = type_json("export", "khr1", file)
    assert set(document) == HEAD | documented()["export"]
    assert document["written"] == [str(file)] and document["kind"] == "model"
    assert document["frames"] == 1 and file.read_bytes().startswith(b"glTF")


@pytest.mark.study
def test_runs(tmp_path: Path) -> None:
    """A run, its check and its report: the same checks, numbers in full."""
    file = tmp_path / "run.npz"
    ran = type_json("run", "drop", "--end", 0.1, "--save", file)
    assert set(ran) == HEAD | documented()["run"]
    assert ran["written"] == [str(file)] and ran["physically_right"]
    checked = type_json("check", file)
    assert set(checked) == HEAD | documented()["check"]
    values = [finding.value for finding in hs.load_run(file).check().findings]
    assert [finding["value"] for finding in checked["checks"]] == values
    reported = type_json("report", file, "--no-animation")
    assert set(reported) == HEAD | documented()["report"]
    assert reported["walk"]["verdict"] == "stood"


@pytest.mark.study
def test_compare(tmp_path: Path) -> None:
    """Two runs: the documented keys, also of the things in its lists."""
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file, end in zip(files, (0.1, 0.2), strict=True):
        type_json("run", "bounce", "--end", end, "--save", file)
    page, plot = tmp_path / "both.html", tmp_path / "both.png"
    document = type_json("compare", *files, "-o", page, "--plot", plot)
    assert set(document) == HEAD | documented()["compare"]
    assert set(document["values"][0]) == {"name", "unit", "a", "b", "difference"}
    assert set(document["coordinates"][0]) == {
        *("name", "unit", "rms", "largest", "time")
    }
    assert (document["start"], document["end"]) == (0.0, 0.1)
    assert all(abs(part["largest"]) < 1e-9 for part in document["coordinates"])
    assert document["written"] == [str(plot), str(page)]
    assert page.is_file() and plot.is_file()
    failed = type_json("compare", files[0], tmp_path / "none.npz", code=1)
    assert "none.npz" in failed["error"]


def test_sweep(tmp_path: Path) -> None:
    """A sweep: how many runs, what became of them, what was written."""
    table = tmp_path / "table.csv"
    document = type_json(
        *("sweep", "bounce", "--vary", "end=0.1,0.2", "--workers", 0, "-o", table)
    )
    assert set(document) == HEAD | documented()["sweep"]
    assert document["outcomes"] == {"finished": 2}
    assert document["written"] == [str(table)]


def test_failures(tmp_path: Path) -> None:
    """They are in the object, with what was found until then."""
    document = type_json("check", tmp_path / "none.npz", code=1)
    assert set(document) == HEAD and "there is no such file" in document["error"]
    assert not document["ok"]


@pytest.mark.study
def test_markers(human: hs.Model, tmp_path: Path) -> None:
    """A person measured, and reconstructed."""
    trial = tags_of(human, swaying(human, 6))
    path = write_trc(trial, tmp_path / "standing.trc")
    document = type_json("marker-set", "draft", path, "-o", tmp_path / "set.yaml")
    assert set(document) == HEAD | documented()["marker-set draft"]
    subject = tmp_path / "subject.yaml"
    document = type_json("calibrate", path, "--marker-set", "canonical", "-o", subject)
    assert set(document) == HEAD | documented()["calibrate"]
    assert abs(document["height"] - hs.load_subject(subject).height) < 1e-3
    document = type_json(
        *("reconstruct", path, "--subject", subject, "--no-report"),
        *("--formats", "npz", "-o", tmp_path / "out"),
    )
    assert set(document) == HEAD | documented()["reconstruct"]
    stored = hs.load_reconstruction(tmp_path / "out" / "standing.npz")
    assert document["trials"][0]["summary"]["frames"] == len(stored.t)


@pytest.mark.study
def test_kondo(tmp_path: Path) -> None:
    """Boards, joints, a motion."""
    with Emulator(link=tmp_path / "port") as boards:
        for words in (("info",), ("pose", "head_yaw=5")):
            document = type_json("kondo", *words, KONDO_PORT=boards.port)
            assert set(document) == HEAD | documented()[f"kondo {words[0]}"], words
        words = ("kondo", "play", "greeting", "--json")
        done = type_unhurried(words, KONDO_PORT=boards.port)
        document = json.loads(done.stdout)
        assert document["ok"], document
        assert set(document) == HEAD | documented()["kondo play"]
        assert len(type_json("kondo", "trim", KONDO_PORT=boards.port)["trims"]) == 17


def test_plain_values() -> None:
    """Numbers keep their precision; what is none is null."""
    values = {"a": np.array([0.1, math.nan]), "b": (np.int64(3), math.inf), "c": None}
    assert plain(values) == {"a": [0.1, None], "b": [3, None], "c": None}
    assert plain(Path("x") / "y") == "x/y" and plain(np.bool_(True)) is True
