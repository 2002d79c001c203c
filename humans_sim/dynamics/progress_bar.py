# SPDX-License-Identifier: Apache-2.0
"""How far a simulation is, on the terminal or to whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

LONG_RUN = 200
"""Samples from which on a progress bar is shown on a terminal."""


@contextmanager
def progress_bar(
    shown: bool | Callable[[int, int], None] | None, steps: int
) -> Iterator[Callable[[], None]]:
    """A progress bar where it is shown; gives the function that moves it.

    Args:
        shown: whether it is, or who is told the steps done and all steps; None: on a
            terminal, where there are many.
        steps: their number.
    """
    if callable(shown):
        watch, done = shown, count(1)
        yield lambda: watch(next(done), steps)
        return
    from rich.console import Console

    console = Console(stderr=True)
    if shown is None:
        shown = steps >= LONG_RUN and console.is_terminal
    if not shown:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("simulating", total=steps)
        yield lambda: bar.advance(task)
