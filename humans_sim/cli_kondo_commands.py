# SPDX-License-Identifier: Apache-2.0
"""The commands of ``humans-sim kondo``."""

from __future__ import annotations

import typer

from humans_sim.cli_kondo_emulate import emulate
from humans_sim.cli_kondo_look import info, ports
from humans_sim.cli_kondo_moves import free, home, pose, walk
from humans_sim.cli_kondo_play import play, save
from humans_sim.cli_kondo_record import record
from humans_sim.cli_kondo_trim import trim
from humans_sim.cli_output import register

app = typer.Typer(no_args_is_help=True)
for _command in (
    ports,
    info,
    home,
    free,
    pose,
    play,
    save,
    record,
    trim,
    walk,
    emulate,
):
    register(app, _command)
