# SPDX-License-Identifier: Apache-2.0
"""The commands of ``humans-sim kondo``."""

from __future__ import annotations

import typer

from humans_sim.cli.kondo.emulate import emulate
from humans_sim.cli.kondo.look import info, ports, trim
from humans_sim.cli.kondo.moves import energize, free, home, pose, walk
from humans_sim.cli.kondo.play import play, record, save
from humans_sim.cli.output import register

app = typer.Typer(no_args_is_help=True)
for _command in (
    ports,
    info,
    home,
    free,
    energize,
    pose,
    play,
    save,
    record,
    trim,
    walk,
    emulate,
):
    register(app, _command)
