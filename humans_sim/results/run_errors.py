# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with files of runs."""

from __future__ import annotations

from humans_sim.core.errors import FileError


class RunFileError(FileError):
    """A run file is missing, damaged or of another kind."""
