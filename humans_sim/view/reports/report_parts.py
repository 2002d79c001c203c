# SPDX-License-Identifier: Apache-2.0
"""What the templates of reports are given: tables, verdicts, figures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from humans_sim.core.errors import ParameterError

_DPI = 110


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        rows: their cells.
        columns: the names above; none by default.
        kind: ``numbers`` (right-aligned), ``checks`` (outcomes first), or neither.
    """

    rows: Sequence[Sequence[Any]]
    columns: Sequence[str] = ()
    kind: str = ""


def numbers(records: Sequence[Mapping[str, str]]) -> Table:
    """A table of numbers whose records all have the same columns, by name."""
    columns = list(records[0]) if records else []
    return Table([list(record.values()) for record in records], columns, "numbers")


class Note(NamedTuple):
    """A sentence of a page.

    Attributes:
        kind: ``good``, ``bad`` or ``plain``: its colour.
        text: the sentence.
    """

    kind: str
    text: str


def report_path(path: Path | str) -> Path:
    """The path of a report.

    Raises:
        ParameterError: it does not end in ``.html``.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is written to .html, not to '{path.name}'")
    return path


def extra_table(extra: Mapping[str, Any] | None) -> Table | None:
    """The table of what else a page shows, by name."""
    return Table(list(extra.items())) if extra else None


def figure_urls(figures: Mapping[str, Figure]) -> dict[str, str]:
    """Figures as images within the page, by their captions."""
    urls, left = {}, dict(figures)
    while left:  # a figure that is drawn is no longer needed
        caption = next(iter(left))
        figure = left.pop(caption)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=_DPI)
        urls[caption] = image_url(stream.getvalue(), "png")
    return urls


def image_url(content: bytes, kind: str) -> str:
    """An image within the page, ``kind`` as in its media type."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
