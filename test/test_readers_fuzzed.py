# SPDX-License-Identifier: Apache-2.0
"""Some thousands of damaged files and command lines; benchmarks/ has the long way."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from fuzz_command_lines import Lines, commands
from fuzz_seeds import write_seeds
from fuzz_targets import TARGETS
from fuzz_workers import SPECIAL, clean_folder
from typer.testing import CliRunner

from humans_sim.cli.commands import app
from humans_sim.core.errors import HumansError

CHEAP = 240
"""Cases of a reader that takes a millisecond; dear ones get fewer."""
LINES = 60


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound files of every kind."""
    folder = tmp_path_factory.mktemp("seeds")
    write_seeds(folder)
    return folder


@pytest.mark.study
@pytest.mark.parametrize("reader", TARGETS)
def test_reader(reader: str, seeds: Path) -> None:
    """Each file is read or refused with a typed error; none is half believed."""
    target = TARGETS[reader]
    files = sorted((seeds / target.seeds).iterdir())
    contents = [path.read_bytes() for path in files]
    refused = 0
    count = max(CHEAP // target.cost, 4)
    for case in [*range(-len(SPECIAL), 0), *range(count)]:
        chance = random.Random(f"suite {reader} {case}")
        k = chance.randrange(len(files))
        with clean_folder() as folder:
            for beside in target.beside:
                for path in (seeds / beside).iterdir():
                    (folder / path.name).write_bytes(path.read_bytes())
            path = folder / (target.name or files[k].name)
            if case < 0:
                path.unlink(missing_ok=True)
                SPECIAL[case](path)
            else:
                path.write_bytes(target.damage(contents[k], chance, contents))
            try:
                target.read(path)
            except HumansError as error:
                assert "\n" not in str(error), case
                refused += 1
    assert refused or reader == "record"


@pytest.mark.parametrize("reader", TARGETS)
def test_sound_files_are_read(reader: str, seeds: Path) -> None:
    """What is damaged elsewhere was sound before."""
    target = TARGETS[reader]
    file = min((seeds / target.seeds).iterdir(), key=lambda path: path.stat().st_size)
    with clean_folder() as folder:
        for beside in target.beside:
            for path in (seeds / beside).iterdir():
                (folder / path.name).write_bytes(path.read_bytes())
        path = folder / (target.name or file.name)
        path.write_bytes(file.read_bytes())
        target.read(path)


@pytest.mark.study
def test_command_lines(seeds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends with a documented code or a typed error, with nothing half written."""
    lines, runner = Lines(commands(app), seeds), CliRunner()
    for case in range(LINES):
        with clean_folder() as folder:
            monkeypatch.chdir(folder)
            line = lines.line(random.Random(f"suite line {case}"), folder)
            result = runner.invoke(app, line)
            fault = result.exception
            assert fault is None or isinstance(fault, HumansError | SystemExit), line
            assert result.exit_code in (0, 1, 2, 130), line
            assert not list(folder.rglob(".humans-sim.*.part")), line
            monkeypatch.chdir(sys.prefix)
