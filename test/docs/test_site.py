# SPDX-License-Identifier: Apache-2.0
"""The documentation as pages: built without a warning, whole, and readable offline."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

import humans_sim as hs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """What a page loads, where it leads, and where it can be led to."""

    def __init__(self, path: Path) -> None:
        """Read a page."""
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.equations = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of addresses and anchors."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.add(values.get("id", ""))
        self.equations += tag == "math"
        if tag == "a":
            self.links.append(values.get("href", ""))
        elif tag in ("img", "script", "source", "iframe"):
            self.loads.append(values.get("src", ""))
        elif tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.append(values.get("href", ""))


Check = Callable[[dict[Path, Page]], None]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages; a warning is an error."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def inventory(path: Path) -> set[str]:
    """Names of Python objects that the pages describe."""
    data = path.read_bytes()
    start = data.index(b"zlib.\n") + 6
    lines = zlib.decompress(data[start:]).decode().splitlines()
    return {line.split()[0] for line in lines if line.split()[1].startswith("py:")}


def public_names() -> dict[str, object]:
    """Every public name of the library and its packages, with what it is."""
    names = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in (hs, hs.errors)
        for name in module.__all__
    }
    for path in sorted((ROOT / "humans_sim").glob("**/__init__.py"))[1:]:
        if "__all__" in path.read_text():
            package = ".".join(path.parent.relative_to(ROOT).parts)
            module = import_module(package)
            names |= {f"{package}.{n}": getattr(module, n) for n in module.__all__}
    return names


def check_names(described: set[str], pages: dict[Path, Page]) -> None:
    """Each public name is described, once, under one of its addresses."""
    names = {n: v for n, v in public_names().items() if not inspect.ismodule(v)}
    addresses: dict[int, set[str]] = {}
    for name, value in names.items():
        addresses.setdefault(id(value), set()).add(name)
    anchors = set().union(*(page.anchors for page in pages.values()))
    there = described & anchors
    lacking = [n for n, v in names.items() if not addresses[id(v)] & there]
    assert len(names) > 400 and lacking == []
    assert "humans_sim.Simulation.run" in there


def check_links(pages: dict[Path, Page]) -> None:
    """Links inside the pages lead to a page and an anchor that are there."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link) or not link.strip("#"):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.exists():
                broken.append(f"{path.name}: {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.name}: {link}")
    assert broken == []


def check_offline(pages: dict[Path, Page]) -> None:
    """A page loads nothing but files beside it."""
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"([a-z]+:)?//", address), f"{path.name}: {address}"


@pytest.mark.study
def test_site(tmp_path: Path) -> None:
    """It is built without a warning, names are complete, links and anchors hold."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module)
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    html = tmp_path / "html"
    pages = {path.resolve(): Page(path) for path in html.rglob("*.html")}
    assert len(pages) > 100
    check_offline(pages)
    check_links(pages)
    check_names(inventory(html / "objects.inv"), pages)
    assert pages[(html / "explanation" / "equations.html").resolve()].equations > 30
    assert (html / "searchindex.js").exists()
    for document in DOCS.rglob("*.md"):
        if "reference" not in document.relative_to(DOCS).parts:
            page = html / document.relative_to(DOCS).with_suffix(".html")
            assert page.exists(), document.name


def test_every_public_name_has_a_docstring() -> None:
    """Classes and functions that packages offer say what they are."""
    for name, value in public_names().items():
        if inspect.isclass(value) or inspect.isroutine(value):
            text = value.__doc__ or ""
            generated = inspect.isclass(value) and text.startswith(f"{value.__name__}(")
            assert text.strip() and not generated, name


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ('<a href="gone.html">x</a>', check_links),
        ('<a href="#gone">x</a>', check_links),
        ('<a href="page.html#gone">x</a>', check_links),
        ('<script src="https://cdn.example/x.js"></script>', check_offline),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', check_offline),
    ],
)
def test_faults_are_seen(tmp_path: Path, text: str, check: Check) -> None:
    """A link to nowhere and a file of another host are found."""
    path = (tmp_path / "page.html").resolve()
    path.write_text(f'<h1 id="top"></h1><a href="page.html#top">x</a>{text}')
    with pytest.raises(AssertionError):
        check({path: Page(path)})
