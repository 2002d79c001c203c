# SPDX-License-Identifier: Apache-2.0
"""Navigation out of the lists of index.md, which Git hosts show as they are.

Each heading of the second level is a caption; the pages of its list follow it. Pages
that no list has come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

GENERATED = {"Reference": ["reference/python", "reference/ros", "reference/modules"]}
"""Pages that are written by the build, at the end of a caption."""
_SECTION = re.compile(r"^## (.+)$", re.M)
_PAGE = re.compile(r"^- \[([^\]]+)\]\(([./\w-]+)\.md\)", re.M)


def sections(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Captions of the start page, each with titles and names of its pages."""
    parts = _SECTION.split(text)[1:]
    listed = zip(parts[::2], parts[1::2], strict=True)
    found = [(caption, _PAGE.findall(part)) for caption, part in listed]
    return [(caption, pages) for caption, pages in found if pages]


def toctree(caption: str, pages: list[tuple[str, str]]) -> str:
    """The directive that puts pages into the navigation."""
    entries = []
    for title, name in pages:
        page = name.replace("../", "reference/project/")
        entries.append(f"{title} <{page}>" if title else page)
    entries += GENERATED.get(caption, [])
    head = ["", "```{toctree}", ":hidden:", f":caption: {caption}", ""]
    return "\n".join([*head, *entries, "```", ""])


def others(text: str, names: Iterable[str]) -> list[str]:
    """Pages that no list of the start page has; those of the build are elsewhere."""
    listed = {name for _, pages in sections(text) for _, name in pages}
    return sorted(
        name
        for name in set(names) - listed
        if name.split("/")[0] not in ("index", "reference")
    )


def _add_navigation(app: Any, name: str, source: list[str]) -> None:
    if name == app.config.root_doc:
        trees = [toctree(*section) for section in sections(source[0])]
        if rest := others(source[0], app.project.docnames):
            trees.append(toctree("More", [("", page) for page in rest]))
        source[0] += "".join(trees)


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.connect("source-read", _add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
