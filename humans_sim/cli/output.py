# SPDX-License-Identifier: Apache-2.0
"""Output of ``humans-sim``: text for people, or with ``--json`` one object.

Commands are registered by :func:`register`, which adds ``--json`` to them; they print
on :data:`console`, and put what they found into the object by :func:`result`. With
``--json`` the object is all there is on standard output, text goes to standard error.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from humans_sim.cli.signals import exit_code
from humans_sim.core.errors import HumansError, printable
from humans_sim.core.kernel_compilation import (
    Compilation,
    report_compilation,
)


def _without_types(parameters: list[Any]) -> list[Any]:
    """A flag is typed without a value: it shows none."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options."""
        return _without_types(super().get_params(ctx))


CLOSED_PIPE = 141
"""Exit code where nobody reads what is printed, as of programs that SIGPIPE ends."""


class SafeConsole(Console):
    """Prints names of files and words out of them as they are.

    Control characters are shown, not sent to the terminal; what looks like markup and
    is none is text. It ends quietly where nobody reads any more, with one line where
    nothing fits.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Text of a string."""
        text = printable(text, lines=True)
        try:
            return super().render_str(text, **options)
        except MarkupError:
            return super().render_str(escape(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as rich's own console does."""
        try:
            super().print(*objects, **options)
        except BrokenPipeError:
            raise
        except OSError as error:
            mute()
            raise HumansError(os_error_line(error, "standard output")) from None

    def on_broken_pipe(self) -> None:
        """End without a word."""
        self.quiet = True
        end_quietly()


console = SafeConsole()
_fields: dict[str, Any] = {}
_printed: list[str] = []
_JSON = typer.Option("--json", help="Print the result as one JSON object.")


def result(**fields: Any) -> None:
    """Put what was found into the object that ``--json`` prints."""
    _fields.update(fields)


def say(text: str) -> None:
    """Print words that hold names, as they are."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def table_of(
    title: str, *columns: str, right: Sequence[str] = (), **look: Any
) -> Table:
    """A table with its columns, those of numbers last, on the right."""
    table = Table(title=title, **look)
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for column in right:
        table.add_column(escape(column), justify="right")
    return table


def print_titles(
    kind: str, column: str, names: Iterable[str], read: Callable[[str], Any]
) -> None:
    """List the package's files of a kind, in the plural, with the ``title`` of each."""
    titles = {name: read(name).title for name in names}
    table = table_of(kind, "name", column)
    for name, text in titles.items():
        table.add_row(name, text)
    console.print(table)
    result(**{kind: [{"name": name, "title": text} for name, text in titles.items()]})


def register(app: typer.Typer, command: Callable[..., None]) -> None:
    """Make a function a command that has ``--json``."""
    signature = inspect.signature(command, eval_str=True)
    flag = inspect.Parameter(
        "as_json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, _JSON],
    )

    @functools.wraps(command)
    def call(*arguments: Any, as_json: bool = False, **options: Any) -> None:
        _fields.clear()
        console.stderr = as_json
        error = None
        try:
            with described_os_errors():
                command(*arguments, **options)
        except HumansError as raised:
            error = str(raised)
            raise
        except KeyboardInterrupt as interrupt:
            error = "interrupted"
            raise typer.Exit(exit_code(interrupt)) from None
        finally:
            console.stderr = False
            if as_json:
                print_json(command.__name__, error, _fields)

    parameters = [*signature.parameters.values(), flag]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(cls=Command)(call)


class described_os_errors:  # noqa: N801
    """Errors of the system as a HumansError: one line.

    Args:
        path: what is written, where the system does not name it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError) and not isinstance(
            error, (BrokenPipeError, HumansError)
        ):
            raise HumansError(os_error_line(error, self._path)) from None


def os_error_line(error: OSError, path: Path | str | None = None) -> str:
    """Where, and what the system said."""
    reason = error.strerror or str(error) or type(error).__name__
    where = path or error.filename
    return f"{where}: {reason}" if where else reason


def print_json(command: str, error: str | None, fields: Mapping[str, Any]) -> None:
    """Print the object of a command on standard output."""
    head = {"command": command, "ok": error is None, "error": error}
    text = json.dumps(plain({**head, **fields}), allow_nan=False, ensure_ascii=False)
    _printed.append(command)
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()


def json_printed() -> bool:
    """Whether the object was printed."""
    return bool(_printed)


def plain(value: Any) -> Any:
    """Values that JSON has; numbers in full, those that are none are null."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "_asdict"):  # a named tuple
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if hasattr(value, "tolist"):  # of numpy, which need not be loaded
        return plain(value.tolist())
    return [plain(item) for item in value]


def end_quietly() -> NoReturn:
    """End where standard output is a pipe that nobody reads.

    Raises:
        SystemExit: always.
    """
    mute()
    raise SystemExit(CLOSED_PIPE)


def mute() -> None:
    """Let nothing be said at the end that could not be said before."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


COMPILING = "compiling kernels, once"
_LINE_EVERY = 5.0
"""Time between two lines about the compilation, where there is no terminal [s]."""


class Display:
    """Work under way; kernels that are compiled meanwhile are one part of it.

    Attributes:
        bars: one for each part.
    """

    def __init__(self) -> None:
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

    def show(self, name: str, done: float, total: float | None) -> None:
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
def progress(name: str) -> Iterator[Callable[[float, float], None]]:
    """Show how far one thing is: the function takes how much is done, of how much."""
    with display() as shown:
        yield lambda done, total: shown.show(name, done, total)
