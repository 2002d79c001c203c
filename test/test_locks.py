"""The locked versions: the same on every Python that the package supports."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "requirements"


def pins(name: str) -> list[tuple[str, str]]:
    """Package and version of every line of a lock file."""
    text = (FOLDER / name).read_text()
    return re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!-]+)", text, re.M)


@pytest.mark.parametrize("name", ["library.lock", "ros.lock"])
def test_one_version_for_every_python(name: str) -> None:
    """No package is locked twice, so all Pythons and machines test the same code."""
    count = Counter(package for package, _ in pins(name))
    assert count["numpy"] == 1
    assert [package for package, times in count.items() if times > 1] == []


def test_locks_agree() -> None:
    """What both files lock has one version: they are installed together."""
    library = dict(pins("library.lock"))
    for package, version in pins("ros.lock"):
        assert library.get(package, version) == version, package
