# SPDX-License-Identifier: Apache-2.0
"""What ``humans-sim`` prints: text for people, or with ``--json`` one object.

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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from humans_sim.cli.help import Command
from humans_sim.cli.signals import exit_code
from humans_sim.core.errors import HumansError, printable

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


def print_titles(
    kind: str, column: str, names: Iterable[str], read: Callable[[str], Any]
) -> None:
    """List the package's files of one kind, with a line about each.

    Args:
        kind: in the plural.
        column: heading of the lines.
        names: of the files.
        read: reads a file by its name; what it returns has a ``title``.
    """
    titles = {name: read(name).title for name in names}
    table = Table(title=kind)
    table.add_column("name")
    table.add_column(column)
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
    """What the system refuses is a HumansError: one line.

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
    """What JSON knows; numbers in full, those that are none are null."""
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
