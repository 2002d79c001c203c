# SPDX-License-Identifier: Apache-2.0
"""Templates of pages: values stay text wherever they are inserted."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import pytest

import humans_sim.view
from humans_sim.view.browser.page import titled
from humans_sim.view.html_templates import render
from humans_sim.view.reports.report import Note, Table

TEMPLATES = Path(humans_sim.view.__file__).parent / "templates"
EVIL = """</script></title>"'><script>alert(1)</script><img src=x onerror=y>"""
NOTE = Note(EVIL, EVIL)
TABLE = Table([(EVIL, "ok"), ("no", EVIL)], (EVIL, EVIL), "checks")
DATA = {"names": [EVIL], "t": [0.0]}
REPORT = {
    "title": EVIL,
    "verdict": NOTE,
    "extra": TABLE,
    "summary": {EVIL: TABLE},
    "figures": {EVIL: EVIL},
    "provenance": TABLE,
}
VALUES: dict[str, dict[str, Any]] = {
    "run_report": {
        **REPORT,
        "failure": EVIL,
        "physics": NOTE,
        "checks": TABLE,
        "film": {"url": EVIL, "text": EVIL},
        "footprints": {"url": EVIL, "text": EVIL},
        "steps": TABLE,
        "joints": TABLE,
        "scene": {"page": EVIL, "failure": ""},
        "events": TABLE,
    },
    "comparison_report": {
        **REPORT,
        "common": EVIL,
        "values": TABLE,
        "coordinates": TABLE,
        "runs": [
            {"label": EVIL, "physics": NOTE, "checks": TABLE, "film": film}
            for film in ({"url": EVIL, "text": EVIL}, {"url": "", "text": EVIL})
        ],
    },
    "posture_report": {
        **REPORT,
        "notes": [NOTE],
        "stick_figure": DATA,
        "legend": {EVIL: EVIL},
        "frames": TABLE,
        "markers": TABLE,
    },
    "status": {"rows": [[(EVIL, EVIL)]], "message": EVIL, "colour": EVIL},
    "marker_legend": {"rows": [(EVIL, EVIL, EVIL, EVIL)]},
    "wrist_legend": {
        "title": EVIL,
        "panel": False,
        "symbol": "●",
        "rows": [(EVIL, EVIL)],
        "ramp": [EVIL],
        "scale": EVIL,
    },
    "residuals": {"rows": [(EVIL, EVIL, EVIL, EVIL, EVIL)]},
    "scene_title": {"title": EVIL},
    "colour_scheme": {},
    "control_names": {},
    "heartbeat": {"kind": EVIL, "period": 200},
}


class Elements(HTMLParser):
    """The elements of a page, each with the names of its attributes."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.opened: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.opened.append((tag, tuple(name for name, _ in attrs)))


def tame(value: Any) -> Any:
    """The same values with a word in the place of each hostile text."""
    if isinstance(value, str):
        return value.replace(EVIL, "plain")
    if isinstance(value, dict):
        return {tame(key): tame(content) for key, content in value.items()}
    if isinstance(value, Note):
        return Note(*map(tame, value))
    if isinstance(value, list | tuple):
        return type(value)(map(tame, value))
    if isinstance(value, Table):
        return Table(tame(value.rows), tame(value.columns), value.kind)
    return value


@pytest.mark.parametrize("template", VALUES)
def test_hostile_values_add_no_element(template: str) -> None:
    """A page has the same elements and attributes whatever its values are."""
    hostile = Elements(render(template, **VALUES[template]))
    harmless = Elements(render(template, **tame(VALUES[template])))
    assert hostile.opened == harmless.opened and harmless.opened


def test_every_template_is_tried() -> None:
    """Templates that are pages or parts of the viewer are in the test above."""
    included = {"page", "parts", "stick_figure"}
    names = {path.name.removesuffix(".html.j2") for path in TEMPLATES.glob("*.j2")}
    assert names == set(VALUES) | included


def test_data_of_a_script_come_back() -> None:
    """What a script reads is the same text, and cannot end its element."""
    text = render("posture_report", **VALUES["posture_report"])
    data = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert data is not None and json.loads(data.group(1)) == DATA


def test_outcomes_of_checks_are_coloured() -> None:
    """In tables of checks alone."""
    checks = render("run_report", **VALUES["run_report"])
    assert '<td class="good">ok</td>' in checks and '<td class="bad">no</td>' in checks
    numbers = {**VALUES["run_report"], "checks": Table([("ok",)], (), "numbers")}
    for name in ("extra", "steps", "joints", "events", "provenance"):
        numbers[name] = Table([("ok",)])
    numbers["summary"] = {}
    assert '<td class="' not in render("run_report", **numbers)


def test_missing_values_are_errors() -> None:
    """A template that is given too little does not leave a hole in the page."""
    with pytest.raises(jinja2.UndefinedError, match="message"):
        render("status", rows=[], colour="red")


def test_titles_of_scenes() -> None:
    """The page of a scene gets its own title, once, as text."""
    page = "<head><title>Viser</title></head><p><title>Viser</title></p>"
    text = titled(page, "a < b")
    assert text.startswith("<head><title>humans_sim: a &lt; b</title></head>")
    assert text.endswith("<p><title>Viser</title></p>")
