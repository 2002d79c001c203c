# SPDX-License-Identifier: Apache-2.0
"""How far a command is: bars on a terminal, lines elsewhere, all on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from humans_sim.core.kernel_compilation import (
    Compilation,
    report_compilation,
)

COMPILING = "compiling kernels, once"
_LINE_EVERY = 5.0
"""Time between two lines about the compilation, where there is no terminal [s]."""


class Display:
    """Work under way; kernels that are compiled meanwhile are one part of it.

    Attributes:
        bars: one for each part.
    """

    def __init__(self) -> None:
        """Nothing is under way yet."""
        self._console = Console(stderr=True)
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._compiled = Compilation("", 0, 0.0)
        self._next_line = 0.0

    def show(self, name: str, done: int, total: int | None) -> None:
        """Report how much of something is done."""
        if name not in self._tasks:
            self._tasks[name] = self.bars.add_task(escape(name), total=total)
        self.bars.update(self._tasks[name], completed=done, total=total)

    def rate(self, name: str, done: int, total: int, text: str) -> None:
        """Report how fast it goes: beside a bar, or now and then as a line."""
        self.show(name, done, total)
        if not self.bars.disable:
            label = escape(f"{name}, {text}")
            self.bars.update(self._tasks[name], description=label)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY
            self._say(f"{done} of {total} {name}, {text}")

    def remove(self, name: str) -> None:
        """It is done."""
        if name in self._tasks:
            self.bars.remove_task(self._tasks.pop(name))

    def compiling(self, now: Compilation) -> None:
        """Report the compilation."""
        self._compiled = max(self._compiled, now, key=lambda c: c.count)
        if not self.bars.disable:
            # How many there are is not known before.
            self.show(COMPILING, now.count, None)
            label = escape(f"{COMPILING}: {now.kernel}")
            self.bars.update(self._tasks[COMPILING], description=label)
        elif now.kernel and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY
            done = f" ({now.count} done)" if now.count else ""
            self._say(f"{COMPILING}: {now.kernel}{done}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def finish(self) -> None:
        """Say what the compilation cost."""
        count, seconds = self._compiled.count, self._compiled.seconds
        if count:
            from humans_sim.core.kernels import are_kernels_kept

            kept = "kept for next time"
            if not are_kernels_kept():
                kept = "not kept, as nothing can be written (set NUMBA_CACHE_DIR)"
            self._say(f"compiled {count} kernels in {seconds:.1f} s: {kept}")


@contextmanager
def display() -> Iterator[Display]:
    """Show how far something is, and which kernels are compiled for it."""
    shown = Display()
    with shown.bars:
        with report_compilation(shown.compiling):
            yield shown
        shown.bars.stop()
        shown.finish()


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far one thing is: the function takes how much is done, of how much."""
    with display() as shown:
        yield lambda done, total: shown.show(name, done, total)
