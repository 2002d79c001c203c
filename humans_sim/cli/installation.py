# SPDX-License-Identifier: Apache-2.0
"""``humans-sim doctor``, ``models`` and ``compile``: what there is, ready to run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

from rich.table import Table

from humans_sim.cli.options import checked_option, number
from humans_sim.cli.output import console, result, say
from humans_sim.core.errors import HumansError

_FIRST_COMMANDS = (
    "run drop",
    "reconstruct --example",
    "run khr1-walk --end 2",
    "run bip-one-step",
    "run fes-sit-to-stand",
    "run carpus-adduction",
    "run sand-walk --end 2",
)
"""What needs all kernels of the first simulations, walks as far as they need new ones.
Neighbours share few: side by side one would wait for the other's."""
_POLLING = 0.2
"""Time between two looks at the commands that run [s]."""


def doctor() -> None:
    """Report what is installed, what is missing and how to fix it."""
    from humans_sim.core.doctor import examine

    findings = examine()
    result(findings=findings)
    table = Table(title="humans-sim doctor")
    for column in ("", "what", "found", "what to do"):
        table.add_column(column, overflow="fold")
    group, missing = "", 0
    for finding in findings:
        if finding.group != group:
            group = finding.group
            table.add_section()
        ok = finding.found is not None
        missing += finding.needed and not ok
        mark = "[green]ok" if ok else "[red]no" if finding.needed else "[yellow]--"
        found = finding.found or "missing"
        table.add_row(mark, finding.name, found, "" if ok else finding.fix)
    console.print(table)
    if missing:
        raise HumansError(f"{missing} needed part(s) missing: see the table")
    console.print("Everything that is needed is here.")


def models() -> None:
    """List the models that come with the package."""
    from humans_sim.models import NAMES, load_model

    table = Table(title="models")
    for column in ("name", "what it is"):
        table.add_column(column)
    for column in ("joints", "mass [kg]", "height [m]", "tags", "contacts"):
        table.add_column(column, justify="right")
    listed = []
    for name in NAMES:
        model = load_model(name)
        height = model.tags(model.neutral())[:, 2].max()
        table.add_row(
            name,
            model.title,
            str(len(model.joint_names)),
            f"{model.mass:.2f}",
            f"{height:.3f}",
            str(len(model.tag_names)),
            str(len(model.contact_names)),
        )
        listed.append(
            {
                "name": name,
                "title": model.title,
                "mass": model.mass,
                "height": height,
                "joints": model.joint_names,
                "tags": model.tag_names,
                "contacts": model.contact_names,
            }
        )
    result(models=listed)
    console.print(table)
    console.print("Any two-legged URDF or table (.yaml) is a model too: give its path.")


class _Ended(NamedTuple):
    """A command that ended: its words, its exit code, what it printed, the time [s]."""

    words: str
    code: int
    printed: str
    wall: float


def compile(
    workers: Annotated[
        int | None,
        checked_option("Commands side by side; default: one a core.", number(least=1)),
    ] = None,
) -> None:
    """Compile the kernels that the first simulations need; it takes some minutes.

    Runs of some scenarios and of a reconstruction do it, in several processes. What is
    compiled is kept, so that it can be interrupted, and done again after an update.
    """
    from humans_sim.applications.batch.runner import cores
    from humans_sim.cli.progress import Display
    from humans_sim.core.kernels import are_kernels_kept, cache_root

    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)

    def kept() -> set[str]:
        names: set[str] = set()
        for place in root.iterdir():
            with suppress(OSError):  # old ones are removed meanwhile
                names.update(f"{place.name}/{name}" for name in os.listdir(place))
        return {name for name in names if name.endswith(".nbc")}

    if not are_kernels_kept():
        raise HumansError(
            "machine code cannot be kept, as nothing can be written: set "
            "NUMBA_CACHE_DIR to a folder"
        )
    total, before, start = len(_FIRST_COMMANDS), kept(), time.perf_counter()
    say(
        "compiling kernels, once: about 7 minutes of processor time if none is kept yet"
    )
    shown, failed = Display(), []
    with shown.bars, tempfile.TemporaryDirectory() as folder:
        done = 0
        for ended in _side_by_side(Path(folder), workers or cores()):
            if ended is not None:
                done += 1
                failed += [ended] if ended.code else []
                say(f"{done} of {total}: humans-sim {ended.words}, {ended.wall:.0f} s")
            shown.rate(
                "commands", done, total, f"{len(kept() - before)} kernels compiled"
            )
    wall, count = time.perf_counter() - start, len(kept() - before)
    result(kernels=count, wall_time=wall, failed=[ended.words for ended in failed])
    say(f"compiled {count} kernels in {wall:.0f} s, kept in {root}")
    if failed:
        lines = failed[0].printed.strip().splitlines() or ["it printed nothing"]
        raise HumansError(
            f"humans-sim {failed[0].words} ended with {failed[0].code}: {lines[-1]}"
        )


def _side_by_side(folder: Path, workers: int) -> Iterator[_Ended | None]:
    """Run the first commands, some at a time; now and then None, while nothing ends.

    Args:
        folder: where their files go.
        workers: number of commands at a time.
    """
    waiting = deque(enumerate(_FIRST_COMMANDS))
    running: dict[str, tuple[subprocess.Popen[bytes], Path, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                k, words = waiting.popleft()
                printed = folder / f"{k}.txt"
                typed = words.split()
                if typed[0] == "reconstruct":
                    typed += ["--output", str(folder / "reconstructed")]
                with printed.open("wb") as stream:
                    process = subprocess.Popen(
                        [sys.executable, "-m", "humans_sim", *typed],
                        stdout=stream,
                        stderr=stream,
                    )
                running[words] = process, printed, time.perf_counter()
            time.sleep(_POLLING)
            yield None
            for words, (process, printed, start) in list(running.items()):
                code = process.poll()
                if code is not None:
                    del running[words]
                    text = printed.read_text("utf-8", "replace")
                    yield _Ended(words, code, text, time.perf_counter() - start)
    finally:
        for process, _, _ in running.values():
            process.terminate()
        for process, _, _ in running.values():
            process.wait()
