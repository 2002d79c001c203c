# SPDX-License-Identifier: Apache-2.0
"""The commands of ``humans-sim``, from their words to an exit code.

What a command works with is imported by the command itself: help and completion are
fast. Every error is one line.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, TextIO

import typer
from rich.markup import escape

from humans_sim.cli import signals
from humans_sim.cli.anatomy import app as anatomy
from humans_sim.cli.export import compare, export
from humans_sim.cli.graphs import compile, doctor, models, up
from humans_sim.cli.kondo.commands import app as kondo
from humans_sim.cli.marker_sets import adjust
from humans_sim.cli.marker_sets import app as marker_set
from humans_sim.cli.output import (
    Command,
    Group,
    SafeConsole,
    console,
    end_quietly,
    json_printed,
    mute,
    os_error_line,
    print_json,
    register,
)
from humans_sim.cli.reconstruct import calibrate, reconstruct
from humans_sim.cli.retarget import retarget
from humans_sim.cli.robots import init_robot, tune_servos
from humans_sim.cli.runs import check, report, run
from humans_sim.cli.signals import DONE, FAILED, WRONG_USAGE, code_of
from humans_sim.cli.sweeps import sweep
from humans_sim.cli.view import view
from humans_sim.core.errors import (
    HumansError,
    ModelFileWarning,
    ParameterError,
    UnknownModelError,
    printable,
)
from humans_sim.core.files import remove_unfinished
from humans_sim.core.version import __version__

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Simulate, observe and control bipeds: humans and robots.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(given: bool) -> None:
    if given:
        console.print(f"humans_sim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Simulate, observe and control bipeds: humans and robots."""


register(app, doctor)
register(app, models)
register(app, compile)
app.command(cls=Command)(view)
register(app, run)
register(app, sweep)
register(app, check)
register(app, report)
register(app, export)
register(app, compare)
register(app, init_robot)
register(app, tune_servos)
register(app, calibrate)
app.command(cls=Command)(adjust)
register(app, reconstruct)
register(app, retarget)
register(app, up)
app.add_typer(marker_set, name="marker-set", help="Make a marker set of your own.")
app.add_typer(anatomy, name="anatomy", help="Make models of bones.")
app.add_typer(kondo, name="kondo", help="Drive a Kondo KHR-1, or an emulated one.")


_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises where the words make no sense; it has no public name there."""


def run_app(words: Sequence[str]) -> int:
    """Run a command; its exit code.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    signals.at_forced_end(remove_unfinished)
    signals.at_forced_end(_show_cursor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # names need not be text it knows
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()
    except OSError as error:  # standard output itself
        mute()
        _print_error(os_error_line(error, "standard output"))
        return FAILED
    return code


def _show_cursor() -> None:
    """A progress bar hides it."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h")


def _run(words: Sequence[str]) -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, set())
            returned = app(list(words), prog_name="humans-sim", standalone_mode=False)
    except (ParameterError, UnknownModelError) as error:
        return _refuse(words, str(error))
    except HumansError as error:
        _print_error(str(error))
        return code_of(error)
    except typer.Abort:
        return FAILED
    except _USAGE_ERROR as error:
        return _explain(words, error)
    except SystemExit as end:  # typer's own answer to a closed pipe
        if isinstance(end.__context__, BrokenPipeError):
            end_quietly()
        raise
    return returned if isinstance(returned, int) else DONE


def _explain(words: Sequence[str], error: Any) -> int:
    """Say what is wrong with the words, and where help is."""
    message = " ".join(error.format_message().split())
    if error.ctx is None:
        return _refuse(words, message)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return WRONG_USAGE
    path = error.ctx.command_path
    return _refuse(words, f"{message} ({path} --help)", error.ctx.info_name)


def _refuse(words: Sequence[str], message: str, command: str | None = None) -> int:
    """Nothing was done, as what was typed makes no sense."""
    if "--json" in words and not json_printed():
        print_json(command or words[0], message, {})
    _print_error(message)
    return WRONG_USAGE


def _show_warning(
    shown: set[str],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print what a model leaves out in one line, once; other warnings as Python does.

    ``shown`` are those that were printed: commands may load a model several times.
    """
    if issubclass(category, ModelFileWarning):
        text = f"warning: {message}"
        if text not in shown:
            _print_error(text)
        shown.add(text)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        (file or sys.stderr).write(text)


def _print_error(message: str) -> None:
    SafeConsole(stderr=True).print(
        f"[red]humans-sim:[/] {escape(printable(message))}",
        highlight=False,
        soft_wrap=True,
    )
