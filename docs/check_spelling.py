# SPDX-License-Identifier: Apache-2.0
"""Looks for misspelt words in the documents: `python docs/check_spelling.py`.

A word is known if the English dictionary of pyspellchecker has it, if its parts are
known, or if docs/words.txt lists it. Code, links and names with capitals inside are
left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WORDS = DOCS / "words.txt"
_CODE = re.compile(r"^( *)```.*?^\1```", re.M | re.S)
_LEFT_OUT = re.compile(
    r"^ {4,}(?![-*\d]).*$|\$\$.*?\$\$|`[^`]*`|\$[^$\n]+\$|\]\([^)]*\)|<[^>]+>"
    r"|https?://\S+|\S+@\S+|^#:.*$",
    re.M | re.S,
)
_WORD = re.compile(r"(?<![\w./\\-])[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w/\\])")
_ENDINGS = {"'s": "", "ise": "ize", "ised": "ized", "ises": "izes", "ising": "izing"}
_ENDINGS |= {"isation": "ization", "our": "or", "oured": "ored", "ours": "ors"}


def documents() -> list[Path]:
    """Everything that people read."""
    files = [path for path in DOCS.rglob("*.md") if "reference" not in path.parts]
    return sorted([*files, *ROOT.glob("*.md")])


def words(text: str) -> set[str]:
    """Words of a document, in small letters."""
    plain = _LEFT_OUT.sub(" ", _CODE.sub(" ", text))
    return {match.group().lower() for match in _WORD.finditer(plain)}


def variants(word: str) -> set[str]:
    """Other spellings under which a dictionary may have a word."""
    found = {word, word.removesuffix("'s"), word.removesuffix("'")}
    for ending, other in _ENDINGS.items():
        if word.endswith(ending):
            found.add(word.removesuffix(ending) + other)
    return found


def unknown(candidates: Iterable[str]) -> set[str]:
    """Words that neither the dictionary nor docs/words.txt has."""
    from spellchecker import SpellChecker

    dictionary = SpellChecker(distance=1)
    own = set(WORDS.read_text().split())
    return {
        word
        for word in candidates
        if not any(form in dictionary or form in own for form in variants(word))
    }


def main() -> int:
    """Print each unknown word with the documents that have it; 1 if there is one."""
    by_document = {path: words(path.read_text()) for path in documents()}
    wrong = unknown(set().union(*by_document.values()))
    for word in sorted(wrong):
        places = [path.name for path, found in by_document.items() if word in found]
        print(f"{word}: {', '.join(places)}")
    if wrong:
        print("misspelt? else add it to docs/words.txt", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
