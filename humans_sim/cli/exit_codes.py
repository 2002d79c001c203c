# SPDX-License-Identifier: Apache-2.0
"""What a command's exit code says."""

from __future__ import annotations

from humans_sim.core.errors import HumansError

DONE, FAILED, WRONG_USAGE, DOUBTFUL = 0, 1, 2, 3


class DoubtfulResultError(HumansError):
    """A command did what it was asked to, and its result is to be looked at first."""


def code_of(error: HumansError) -> int:
    """The exit code of a command that ends by an error."""
    return DOUBTFUL if isinstance(error, DoubtfulResultError) else FAILED
