# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a file of markers."""

from __future__ import annotations

from humans_sim.core.errors import FileError


class MarkerFileError(FileError):
    """A file of markers, or of what was made of them, cannot be read.

    Its key is the parameter or the byte at fault (C3D), or None.
    """
