# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo``: the real KHR-1, or an emulated one, from a shell.

The driver and its commands are loaded when they are asked for: others start faster.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from humans_sim.cli.output import Group


@cache
def _commands() -> TyperGroup:
    from humans_sim.cli.kondo.commands import app

    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


class KondoGroup(Group):
    """The commands, whenever they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return _commands().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them."""
        return _commands().get_command(ctx, cmd_name)


app = typer.Typer(cls=KondoGroup, no_args_is_help=True)
