# SPDX-License-Identifier: Apache-2.0
"""Documents of the repository's root among the pages: changes, security and others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from generated_pages import keep_only, repository, write

FOLDER = "reference/project"
_ROOT_LINK = re.compile(r"\]\((?:\.\./)+([A-Z_]+)\.md")


def _write_pages(app: Any, config: Any) -> None:
    source = Path(app.srcdir)
    paths = [p for p in repository().glob("[A-Z]*.md") if p.stem != "README"]
    for path in paths:
        text = path.read_text().replace("](docs/", "](/")
        write(source / FOLDER / path.name, text.splitlines())
    keep_only(source / FOLDER, [path.name for path in paths])


def _lead_there(app: Any, name: str, source: list[str]) -> None:
    source[0] = _ROOT_LINK.sub(rf"](/{FOLDER}/\1.md", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.connect("config-inited", _write_pages)
    app.connect("source-read", _lead_there)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
