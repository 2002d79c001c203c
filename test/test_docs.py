# SPDX-License-Identifier: Apache-2.0
"""What the README and the examples say, runs."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from humans_sim.cli.commands import app
from humans_sim.models import NAMES

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=str)
def test_examples(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each example runs and prints something."""
    runpy.run_path(str(path))
    assert capsys.readouterr().out


def test_readme_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python snippet runs as it stands."""
    text = (ROOT / "README.md").read_text()
    for snippet in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(snippet, "README.md", "exec"), {})
    assert "75.0 kg" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name
)
def test_guide_snippets(path: Path, monkeypatch: Any, tmp_path: Path) -> None:
    """The Python snippets of each guide run, one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(), re.S):
        exec(compile(snippet, path.name, "exec"), names)


def test_readme_links_exist() -> None:
    """Links and pictures of the documents point at files that are there."""
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_readme_lists_the_commands() -> None:
    """The README's table of commands is the command's own list."""
    text = (ROOT / "README.md").read_text()
    listed = set(re.findall(r"^\| `humans-sim (\w+)", text, re.M))
    commands = {command.callback.__name__ for command in app.registered_commands}
    assert listed == commands | {group.name for group in app.registered_groups}
    for line in re.findall(r"^make (\w+)", text, re.M):
        assert f"\n{line}:" in (ROOT / "Makefile").read_text()


def test_docs_list_the_models_and_messages() -> None:
    """The tables of models and interfaces are complete."""
    models = (ROOT / "docs" / "models.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \| \d+", models, re.M)) == set(NAMES)
    ros = (ROOT / "docs" / "ros.md").read_text()
    for folder in ("msg", "srv", "action"):
        for path in (ROOT / "msgs" / folder).iterdir():
            assert f"`{path.stem}`" in ros, path.name


def test_no_command_of_the_readme_is_misspelt() -> None:
    """Shell lines of the documents parse."""
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for block in re.findall(r"```sh\n(.*?)```", document.read_text(), re.S):
            for line in block.splitlines():
                shlex.split(line, comments=True)
