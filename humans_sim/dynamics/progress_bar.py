# SPDX-License-Identifier: Apache-2.0
"""How far a simulation is, on the terminal or to whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

LONG_RUN = 200
"""Samples from which on a progress bar is shown on a terminal."""


class ProgressBar:
    """A progress bar where it is shown; gives the function that moves it."""

    def __init__(
        self, shown: bool | Callable[[int, int], None] | None, steps: int
    ) -> None:
        from rich.console import Console

        self._watch, self._done = None, 0
        if callable(shown):
            self._watch, shown = shown, False
        console = Console(stderr=True)
        if shown is None:
            shown = steps >= LONG_RUN and console.is_terminal
        self._bar: Any = nullcontext()
        if shown:
            from rich.progress import Progress

            self._bar = Progress(console=console, transient=True)
        self._shown, self._steps = shown, steps

    def __enter__(self) -> Callable[[], None]:
        bar = self._bar.__enter__()
        if self._watch is not None:
            return self._report
        if not self._shown:
            return lambda: None
        task = bar.add_task("simulating", total=self._steps)
        return lambda: bar.advance(task)

    def _report(self) -> None:
        assert self._watch is not None
        self._done += 1
        self._watch(self._done, self._steps)

    def __exit__(self, *failure: Any) -> None:
        self._bar.__exit__(*failure)
