# SPDX-License-Identifier: Apache-2.0
"""What pages of reports are put together from: page, tables, pictures."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from humans_sim.core.errors import ParameterError
from humans_sim.view.reports.report_style import STYLE

_DPI = 110


def report_path(path: Path | str) -> Path:
    """The path of a report.

    Raises:
        ParameterError: it does not end in ``.html``.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is written to .html, not to '{path.name}'")
    return path


def page(title: str, parts: Sequence[str]) -> str:
    """A whole page that needs nothing else."""
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def cards(sections: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Small tables beside each other, by their titles."""
    made = [
        f"<section><h3>{html.escape(name)}</h3>{table('', (), rows)}</section>"
        for name, rows in sections.items()
    ]
    return f'<div class="cards">{"".join(made)}</div>'


def picture(caption: str, figure: Figure) -> str:
    """A figure below its heading."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI)
    title = html.escape(caption)
    return f"<h2>{title}</h2>\n{image(stream.getvalue(), 'png', title)}"


def image(content: bytes, kind: str, text: str) -> str:
    """An image within the page; ``text`` is for those who cannot see it."""
    data = base64.b64encode(content).decode("ascii")
    return f'<img src="data:image/{kind};base64,{data}" alt="{text}">'


def table(kind: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; its first column names the row, and words of a check are coloured."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    lines = [f"<thead><tr>{head}</tr></thead>"] if columns else []
    for row in rows:
        cells = []
        for value in row:
            text = html.escape(str(value))
            mark = {"ok": ' class="good"', "no": ' class="bad"'}.get(text, "")
            cells.append(f"<td{mark if kind == 'checks' else ''}>{text}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table class="{kind}">{"".join(lines)}</table></div>'
