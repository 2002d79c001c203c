# SPDX-License-Identifier: Apache-2.0
"""The checker of spelling, and the documents by it."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def checker() -> dict[str, Any]:
    """The names of the script."""
    pytest.importorskip("spellchecker")
    return run_path(str(DOCS / "check_spelling.py"))


def test_documents_are_spelt_right(
    checker: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """No document has an unknown word."""
    code = checker["main"]()
    assert code == 0, capsys.readouterr().out


def test_a_misspelt_word_is_seen(checker: dict[str, Any]) -> None:
    """Mistakes are seen in text; code, links and equations are left out."""
    text = "A contakt forse.\n```sh\nmakke\n```\n`forrce` [see](forrce.md) $forrce$\n"
    assert checker["unknown"](checker["words"](text)) == {"contakt", "forse"}


def test_own_words_are_sorted(checker: dict[str, Any]) -> None:
    """The list is sorted, and has each word once."""
    listed = checker["WORDS"].read_text().split()
    assert listed == sorted(set(listed))
