# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo``: the real KHR-1, or an emulated one, from a shell.

The driver and its commands are loaded when they are asked for: others start faster.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from humans_sim.cli.output import Group, register


@cache
def kondo_commands() -> TyperGroup:
    """All of them, loaded."""
    from humans_sim.cli.kondo.emulate import emulate
    from humans_sim.cli.kondo.look import info, ports, trim
    from humans_sim.cli.kondo.moves import energize, free, home, pose, walk
    from humans_sim.cli.kondo.play import play, record, save

    moving = (home, free, energize, pose, play, save, record)
    loaded = typer.Typer(no_args_is_help=True)
    for command in (ports, info, *moving, trim, walk, emulate):
        register(loaded, command)
    group = typer.main.get_command(loaded)
    assert isinstance(group, TyperGroup)
    return group


class KondoGroup(Group):
    """The commands, whenever they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return kondo_commands().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them."""
        return kondo_commands().get_command(ctx, cmd_name)


app = typer.Typer(cls=KondoGroup, no_args_is_help=True)
