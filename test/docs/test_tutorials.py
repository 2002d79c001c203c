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


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def blocks(text: str) -> list[tuple[str, str]]:
    """Python snippets, what they print, and commands of a page in their order."""
    return re.findall(r"^```(python|bash|text)\n(.*?)^```", text, re.M | re.S)


def check_printed(expected: str, printed: str) -> None:
    """The same words, and numbers to 5 % or two of their last digits.

    Three dots stand for anything: a line of them for lines, others for words.
    """
    pattern = re.escape(_NUMBER.sub("#", expected))
    pattern = re.sub(r"(?m)^\\.\\.\\.\\\n", r"(?:.*\n)*?", pattern)
    pattern = pattern.replace(r"\.\.\.", r".*").replace(r"\#", f"({_NUMBER.pattern})")
    found = re.fullmatch(pattern.rstrip("\\\n") + r"\s*", printed)
    assert found, f"{expected}\nbut it printed\n{printed}"
    for wanted, number in zip(_NUMBER.findall(expected), found.groups(), strict=True):
        unit = 10.0 ** -len(wanted.partition(".")[2])
        off = abs(float(wanted) - float(number))
        assert off <= max(2 * unit, 0.05 * abs(float(wanted))), (wanted, printed)


@pytest.mark.study
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Snippets and commands run one after the other, in one folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    background: list[subprocess.Popen[str]] = []
    printed = ""
    try:
        for kind, text in blocks(path.read_text()):
            if kind == "python":
                capsys.readouterr()
                exec(compile(text, path.name, "exec"), names)
                printed = capsys.readouterr().out
            elif kind == "text":
                check_printed(text, printed)
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


@pytest.mark.parametrize(
    ("printed", "right"),
    [
        ("a 1.30 kg\nx\ny\nend 7 N\n", True),
        ("a 1.31 kg\nend 8 N\n", True),
        ("a 1.50 kg\nend 7 N\n", False),
        ("b 1.30 kg\nend 7 N\n", False),
        ("a 1.30 kg\nx\n", False),
    ],
)
def test_what_is_printed_is_compared(printed: str, right: bool) -> None:
    """Words and numbers that differ are seen; lines may be left out."""
    expected = "a 1.30 kg\n...\nend 7 N\n"
    if right:
        check_printed(expected, printed)
        return
    with pytest.raises(AssertionError):
        check_printed(expected, printed)
