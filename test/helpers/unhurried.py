# SPDX-License-Identifier: Apache-2.0
"""Commands that drive a robot, typed again where the machine was too busy for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typer.testing import CliRunner, Result

from humans_sim.cli.commands import app

BUSY = ("was kept from its line", "were heard in time", "no command came for")
"""What the driver says of a machine that is late, not of a fault."""
TRIES = 5


def type_unhurried(words: Sequence[str], **variables: str) -> Result:
    """Type a command in this process; the result of the last try."""
    environment: Mapping[str, str] = variables
    for _ in range(TRIES):
        done = CliRunner(env=environment).invoke(app, list(words))
        said = f"{done.output} {done.exception}"
        if done.exit_code == 0 or not any(word in said for word in BUSY):
            break
    return done
