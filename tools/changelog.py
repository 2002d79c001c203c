# SPDX-License-Identifier: Apache-2.0
"""CHANGELOG.rst, which bloom and catkin_pkg read, from CHANGELOG.md."""

from __future__ import annotations

import re

TITLE = "Changelog for package humans_sim"
COMMENT = ".. Made from CHANGELOG.md: change that one."
_VERSION = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$")
_LINK = re.compile(r"\[([^\]]+)\]\((\S+?)\)")


def heading(version: str, date: str | None) -> str:
    """A version as catkin_pkg knows it, or what comes next."""
    return f"{version} ({date})" if date else "Forthcoming"


def inline(text: str) -> str:
    """A line of Markdown in reStructuredText; links keep their words alone."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [
        part.replace("\\", "\\\\").replace("*", r"\*").replace("|", r"\|")
        for part in (re.sub(r"_(?=\W|$)", r"\\_", plain) for plain in parts[::2])
    ]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return _LINK.sub(r"\1", "".join(parts))


def entries(lines: list[str]) -> list[str]:
    """Items of a section, each on one line."""
    found: list[str] = []
    for line in lines:
        if line.startswith("- "):
            found.append(line[2:])
        elif line.strip() and found:
            found[-1] += " " + line.strip()
    return found


def convert(text: str) -> str:
    """The changelog in reStructuredText."""
    line = "^" * len(TITLE)
    out = [line, TITLE, line, "", COMMENT, ""]
    for section in re.split(r"^(?=## )", text, flags=re.M)[1:]:
        first, *rest = section.splitlines()
        match = _VERSION.match(first)
        if match is None:
            raise SystemExit(f"CHANGELOG.md: a heading is '## [1.2.3] - date': {first}")
        title = heading(*match.groups())
        out += [title, "-" * len(title)]
        for part in re.split(r"^(?=### )", "\n".join(rest), flags=re.M):
            kind, *body = part.splitlines() or [""]
            word = kind.removeprefix("### ").lower()
            prefix = {"fixed": "Fixed: ", "changed": "Changed: "}.get(word, "")
            out += [f"* {prefix}{inline(entry)}" for entry in entries(body)]
        out.append("")
    return "\n".join(out)
