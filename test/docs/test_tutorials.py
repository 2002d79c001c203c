# SPDX-License-Identifier: Apache-2.0
"""The commands of tutorials and how-to pages work as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from unhurried import type_unhurried

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted([*(DOCS / "tutorials").glob("*.md"), *(DOCS / "howto").glob("*.md")])


def blocks(text: str) -> list[tuple[str, str]]:
    """Python snippets and commands of a page in their order."""
    return re.findall(r"```(python|bash)\n(.*?)```", text, re.S)


@pytest.mark.study
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snippets and commands run one after the other, in one folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    background: list[subprocess.Popen[str]] = []
    try:
        for kind, text in blocks(path.read_text()):
            if kind == "python":
                exec(compile(text, path.name, "exec"), names)
            else:
                for line in text.splitlines():
                    run_command(line, background)
    finally:
        for process in background:
            process.terminate()
            process.communicate()


def run_command(line: str, background: list[subprocess.Popen[str]]) -> None:
    """Run a line as a shell would; one with an ampersand beside the others."""
    words = shlex.split(line, comments=True)
    if words[-1] == "&":
        command = [sys.executable, "-m", "humans_sim", *words[1:-1]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        background.append(process)
        assert process.stdout is not None and process.stdout.readline()
        return
    done = type_unhurried(words[1:])
    assert done.exit_code == 0, (line, done.output, done.exception)


def test_pages_have_something_to_run() -> None:
    """Every tutorial has a snippet, and most have a command."""
    tutorials = [path for path in PAGES if path.parent.name == "tutorials"]
    assert len(tutorials) >= 6
    for path in tutorials:
        assert "python" in dict(blocks(path.read_text())), path.name
