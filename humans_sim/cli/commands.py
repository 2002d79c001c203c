# SPDX-License-Identifier: Apache-2.0
"""The commands of ``humans-sim``.

What a command works with is imported by the command itself: help and completion are
fast.
"""

from __future__ import annotations

from typing import Annotated

import typer

from humans_sim.cli.adjust import adjust
from humans_sim.cli.anatomy import app as anatomy
from humans_sim.cli.comparisons import compare
from humans_sim.cli.export import export
from humans_sim.cli.graphs import up
from humans_sim.cli.help import Command, Group
from humans_sim.cli.installation import compile, doctor, models
from humans_sim.cli.kondo.group import app as kondo
from humans_sim.cli.marker_sets import app as marker_set
from humans_sim.cli.output import console, register
from humans_sim.cli.reconstruct import calibrate, reconstruct
from humans_sim.cli.retarget import retarget
from humans_sim.cli.robots import init_robot, tune_servos
from humans_sim.cli.runs import check, report, run
from humans_sim.cli.sweeps import sweep
from humans_sim.cli.view import view
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
