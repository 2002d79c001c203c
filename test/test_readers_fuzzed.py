# SPDX-License-Identifier: Apache-2.0
"""Some thousands of damaged files and command lines; benchmarks/ has the long way."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz_cases import Cases, make_work
from fuzz_command_lines import Lines, commands
from fuzz_meanings import Meaning
from fuzz_seeds import write_seeds
from fuzz_targets import TARGETS
from fuzz_workers import (
    DIED,
    FAULTS,
    HANG,
    LARGE,
    READ,
    SILENT,
    SPECIAL,
    Work,
    clean_folder,
    run_cases,
)
from typer.testing import CliRunner

from humans_sim.cli.commands import app
from humans_sim.core.errors import HumansError

CHEAP = 240
"""Cases of a reader that takes a millisecond; dear ones get fewer."""
LIMIT = 5.0
"""Processor time that a file may take [s]."""
FEW = 8
"""Cases of each of them in every run of the suite."""
LINES = 60


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound files of every kind."""
    folder = tmp_path_factory.mktemp("seeds")
    write_seeds(folder)
    return folder


def faults(reader: str, seeds: Path, cases: range) -> list[tuple[int, str, str]]:
    """Cases of a reader that became none of read and refused."""
    files, found = Cases(TARGETS[reader], seeds), []
    for case in cases:
        chance = random.Random(f"suite {reader} {case}")
        outcome, detail = files.outcome(None if case >= 0 else case, chance)
        if outcome in FAULTS:
            found.append((case, outcome, detail))
    return found


@pytest.mark.study
@pytest.mark.parametrize("reader", TARGETS)
def test_reader(reader: str, seeds: Path) -> None:
    """Each file is read as what it is or refused with a typed error, in time."""
    cases = range(len(SPECIAL) + max(CHEAP // TARGETS[reader].cost, 4))
    arguments = (reader, str(seeds), "", "suite")
    assert not run_cases(make_work, arguments, cases, LIMIT, "fuzz_targets").faults


@pytest.mark.parametrize("reader", [n for n in TARGETS if TARGETS[n].cost <= 4])
def test_some_files(reader: str, seeds: Path) -> None:
    """The first cases of the same, and those of no regular file."""
    assert not faults(reader, seeds, range(-len(SPECIAL), 0))
    assert not faults(reader, seeds, range(FEW))


@pytest.mark.parametrize("reader", TARGETS)
def test_sound_files_are_read(reader: str, seeds: Path) -> None:
    """What is damaged elsewhere was sound before, and means what it says."""
    cases = Cases(TARGETS[reader], seeds)
    meaning = cases.sound(cases.smallest)
    assert meaning and all(value == value for value in meaning.values())


def test_other_meanings_are_found(seeds: Path) -> None:
    """A reader that loses a pose, or that minds blanks, is caught."""
    motion = TARGETS["motion"]

    def lossy(path: Path) -> Meaning:
        meaning = motion.read(path)
        return meaning | {"poses": meaning["poses"] - (b"\r\n" in path.read_bytes())}

    for simple in (motion.simple, None):  # by the bytes, and by the sound file
        cases = Cases(replace(motion, read=lossy, simple=simple), seeds)
        outcomes = {cases.outcome(None, random.Random(k))[0] for k in range(200)}
        assert SILENT in outcomes


def work_of(kind: str) -> Work:
    """Cases of which one takes much time, or much memory, or ends the process."""

    def work(case: int) -> tuple[str, str]:
        if case == 1 and kind == HANG:
            while True:
                pass
        if case == 1 and kind == LARGE:
            return READ, str(len(bytes(range(256)) * (5 << 20)))
        if case == 1:
            os._exit(1)
        return READ, ""

    return work


@pytest.mark.study
@pytest.mark.parametrize("kind", [HANG, LARGE, DIED])
def test_limits_of_a_case(kind: str) -> None:
    """Each is counted, and the cases after it are done."""
    tally = run_cases(work_of, (kind,), range(3), 2.0)
    assert tally.counts == {READ: 2, kind: 1}


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
