# SPDX-License-Identifier: Apache-2.0
"""Pages that are written by the build, in reStructuredText."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path


def repository() -> Path:
    """Where the library lies; pages may be built from a copy of docs/ elsewhere."""
    return Path(import_module("humans_sim").__file__ or "").parents[1]


def title(text: str, line: str = "=") -> list[str]:
    """A heading."""
    return [text, line * len(text), ""]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; empty where there are no rows."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    cells = [columns, *rows]
    for row in cells:
        marks = ["   * - ", *["     - "] * (len(row) - 1)]
        lines += [mark + cell for mark, cell in zip(marks, row, strict=True)]
    return [*lines, ""] if len(cells) > 1 else []


def contents(names: Iterable[str]) -> list[str]:
    """The pages below one."""
    entries = [f"   {name}" for name in names]
    return [".. toctree::", "   :maxdepth: 1", "", *entries, ""]


def literal(text: str) -> str:
    """Text as code; nothing where it is empty."""
    return f"``{text}``" if text else ""


def keep_only(folder: Path, names: Iterable[str]) -> None:
    """Remove pages of an earlier build that are not written any more."""
    kept = {folder / name for name in names}
    for path in [*folder.glob("*.rst"), *folder.glob("*.md")]:
        if path not in kept:
            path.unlink()


def write(path: Path, lines: Iterable[str]) -> None:
    """Write a page; one that is as it was keeps its time, and is not read again."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
