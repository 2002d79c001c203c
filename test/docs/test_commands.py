# SPDX-License-Identifier: Apache-2.0
"""Every command of the documents has options and keys that exist; nothing is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from humans_sim.applications.batch.variations import parse_settings
from humans_sim.applications.scenarios import read_scenario
from humans_sim.cli.commands import app
from humans_sim.core.errors import HumansError

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    path
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if "reference" not in path.parts and path.name != "CHANGELOG.md"
]
FAULTS = ("NoSuchOption", "NoSuchCommand", "MissingParameter", "UsageError")
"""What a command says of words that it does not know; files need not be there."""


def commands(text: str) -> list[list[str]]:
    """Words of the lines that call humans-sim, in blocks and between backticks."""
    blocks = re.findall(r"^ *```(?:sh|bash)\n(.*?)```", text, re.M | re.S)
    lines = [
        line for block in blocks for line in block.replace("\\\n", " ").split("\n")
    ]
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    lines += [code.replace("\n", " ") for code in re.findall(r"`([^`]+)`", prose)]
    found = []
    for line in lines:
        line = line.split("|")[0].rstrip("\\& ").strip()
        if line.startswith("humans-sim ") and "..." not in line and "…" not in line:
            found.append(shlex.split(line, comments=True)[1:])
    return found


def fault_of(words: list[str]) -> str:
    """What is wrong with a command; nothing where it could be run."""
    group: Any = get_command(app)
    context = group.make_context("humans-sim", [], resilient_parsing=True)
    try:
        while hasattr(group, "resolve_command") and words and words[0][:1] != "-":
            name, group, words = group.resolve_command(context, words)
            if group is None:
                return f"NoSuchCommand: {name}"
            context = group.make_context(
                name, [], parent=context, resilient_parsing=True
            )
        if words and not {"--help", "-h", "--version"} & set(words):
            if "completion" not in words[0]:
                group.make_context(context.info_name, list(words))
    except Exception as error:
        if type(error).__name__ in FAULTS:
            return f"{type(error).__name__}: {error}"
    return ""


def settings_of(words: list[str]) -> tuple[str, list[str]]:
    """The scenario that a command runs, and its settings."""
    if words[:1] != ["run"] or len(words) < 2 or words[1].endswith((".yaml", ".npz")):
        return "", []
    places = [k + 1 for k, word in enumerate(words) if word == "--set"]
    return words[1], [words[k] for k in places]


@pytest.mark.study
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document(path: Path) -> None:
    """Its commands exist with these options, its scenarios with these keys."""
    for words in commands(path.read_text()):
        if any(word.isupper() and len(word) > 2 for word in words):
            continue  # stands for something
        line = "humans-sim " + " ".join(words)
        assert fault_of(words) == "", line
        scenario, settings = settings_of(words)
        if settings:
            read_scenario(scenario, parse_settings(settings))


def test_there_are_many() -> None:
    """The documents have commands, and this finds them."""
    assert sum(len(commands(path.read_text())) for path in DOCUMENTS) > 150


@pytest.mark.parametrize(
    "line", ["run drop --sav x.npz", "rum drop", "compare a.npz", "kondo plai greeting"]
)
def test_faults_are_seen(line: str) -> None:
    """Unknown options and commands, and what lacks, are found."""
    assert fault_of(line.split())


def test_a_wrong_key_is_seen() -> None:
    """A setting that scenarios do not have is refused."""
    scenario, settings = settings_of("run khr1-walk --set friction=0.2".split())
    with pytest.raises(HumansError):
        read_scenario(scenario, parse_settings(settings))
