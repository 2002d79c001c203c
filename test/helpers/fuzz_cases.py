# SPDX-License-Identifier: Apache-2.0
"""One damaged file at a time through a reader, and what became of it."""

from __future__ import annotations

import random
import shutil
from functools import cached_property
from pathlib import Path

from fuzz_meanings import Meaning, differences, told
from fuzz_targets import TARGETS, Target
from fuzz_workers import (
    READ,
    REFUSED,
    SILENT,
    SPECIAL,
    UNTYPED,
    Work,
    clean_folder,
    described,
)
from mutations import harmless

from humans_sim.core.errors import LONGEST_MESSAGE, HumansError

_HARMLESS = 0.15
"""Share of the cases whose files mean what they did."""
_MORE = ("trc", "c3d", "motion", "urdf")
"""Readers of which other folders have files."""
_LARGEST = 1 << 22
"""Largest sound file that is taken from elsewhere [bytes]."""


class Cases:
    """Damaged files of a reader.

    Args:
        target: the reader.
        home: folder of the sound files.
        more: another folder with such files; empty: none.
    """

    def __init__(self, target: Target, home: Path, more: str = "") -> None:
        """Read the first sound file: kernels compile, models load."""
        self._target, self._home = target, home
        self._files = sorted((home / target.seeds).iterdir())
        if more:
            endings = {path.suffix for path in self._files}
            others = (p for p in Path(more).rglob("*") if p.suffix in endings)
            self._files += sorted(p for p in others if p.stat().st_size < _LARGEST)
        self._contents = [path.read_bytes() for path in self._files]
        self._meanings: dict[int, Meaning] = {}
        self.sound(0)

    @cached_property
    def smallest(self) -> int:
        """Number of the smallest sound file."""
        return min(range(len(self._files)), key=lambda k: len(self._contents[k]))

    def sound(self, k: int) -> Meaning:
        """What a sound file means; its independent reading agrees."""
        if k not in self._meanings:
            with clean_folder() as folder:
                path = self._placed(folder, k, self._contents[k])
                self._meanings[k] = self._target.read(path)
            assert not self._differences(self._meanings[k], self._contents[k])
        return self._meanings[k]

    def outcome(self, special: int | None, chance: random.Random) -> tuple[str, str]:
        """What becomes of a file, and what is wrong with that.

        Args:
            special: number of a file that no accident makes; None: a damaged one.
            chance: source of randomness.
        """
        k = chance.randrange(len(self._files))
        content, same = None, False
        if special is None:
            same = bool(self._target.form) and chance.random() < _HARMLESS
            if same:
                content = harmless(self._contents[k], chance, self._target.form)
            else:
                content = self._target.damage(self._contents[k], chance, self._contents)
        with clean_folder() as folder:
            path = self._placed(folder, k, content)
            if special is not None:
                path.unlink(missing_ok=True)
                SPECIAL[special](path)
            try:
                meaning = self._target.read(path)
            except HumansError as error:
                return _refused(str(error))
            except AssertionError as error:
                return SILENT, described(error)
            except BaseException as error:
                return UNTYPED, described(error)
        changed = self._differences(meaning, content) if content else []
        if same:
            changed += differences(meaning, self.sound(k))
        return (SILENT, "; ".join(changed)) if changed else (READ, "")

    def _differences(self, meaning: Meaning, content: bytes) -> list[str]:
        reading = self._target.simple
        return [] if reading is None else differences(meaning, told(reading, content))

    def _placed(self, folder: Path, k: int, content: bytes | None) -> Path:
        """The file in a folder, with those that stand beside it."""
        for beside in self._target.beside:
            for path in (self._home / beside).iterdir():
                shutil.copy(path, folder / path.name)
        path = folder / (self._target.name or self._files[k].name)
        if content is not None:
            path.write_bytes(content)
        return path


def make_work(reader: str, seeds: str, more: str, seed: int | str) -> Work:
    """What does the cases of a reader; called in the worker's process.

    Args:
        reader: its name.
        seeds: folder of the sound files.
        more: another folder with such files; empty: none.
        seed: of chance; the same one gives the same cases.
    """
    cases = Cases(TARGETS[reader], Path(seeds), more if reader in _MORE else "")

    def work(case: int) -> tuple[str, str]:
        chance = random.Random(f"{seed} {reader} {case}")
        return cases.outcome(case if case < len(SPECIAL) else None, chance)

    return work


def _refused(text: str) -> tuple[str, str]:
    """A refusal, if its message is one short line."""
    if "\n" in text.strip():
        return UNTYPED, f"an error of many lines: {text[:80]!r}"
    if len(text) > LONGEST_MESSAGE:
        return UNTYPED, f"an error of {len(text)} letters: {text[:80]!r}"
    return REFUSED, ""
