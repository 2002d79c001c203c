# SPDX-License-Identifier: Apache-2.0
"""Files that requests name. Whoever sends one may not choose among all files."""

from __future__ import annotations

import os
from pathlib import Path

from humans_sim.core.errors import ParameterError, printable
from humans_sim.core.expressions import shortened

_LONGEST = 4095
"""Length of a path that the system takes [bytes]."""


class RequestFolder:
    """The one folder that names of files in requests lead into.

    Args:
        folder: what they are relative to, and where they may be; None: the folder that
            the process was started in.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (Path.cwd() if folder is None else folder).resolve()

    def path(self, name: str) -> Path:
        """The file or folder of a name, links followed; refused if elsewhere."""
        shown = printable(shortened(name))
        try:
            if len(os.fsencode(name)) > _LONGEST:
                raise ValueError
            path = (self._folder / name).resolve()
            # From Python 3.13 on links in a circle are left as they are, silently.
            if any(part.is_symlink() for part in (path, *path.parents)):
                raise ValueError
        except (OSError, RuntimeError, ValueError):
            raise ParameterError(f"'{shown}' is no name of a file") from None
        if not path.is_relative_to(self._folder):
            raise ParameterError(
                f"'{shown}' is not in {printable(self._folder)}: requests name files "
                "there only (parameter request_folder)"
            )
        return path

    def known_or_path(self, name: str, suffix: str) -> str:
        """A name that the package knows as it is; one with the suffix as a path."""
        return str(self.path(name)) if name.endswith(suffix) else name
