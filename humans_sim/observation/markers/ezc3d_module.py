# SPDX-License-Identifier: Apache-2.0
"""The module ezc3d, also where it was built from source.

Where ezc3d has no wheel (Linux on arm64), its extension looks for its own library in
the folder it was built in, which is gone. The library lies beside the extension: loaded
first, it is found.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from humans_sim.core.errors import MissingDependencyError

_LIBRARY = "libezc3d.so"


def ezc3d_module() -> ModuleType:
    """The module ezc3d.

    Raises:
        MissingDependencyError: it is not installed, or does not load.
    """
    spec = find_spec("ezc3d")
    if spec is None:
        raise MissingDependencyError(
            "C3D files are written by ezc3d: pip install 'humans-sim[c3d]'"
        )
    for folder in spec.submodule_search_locations or ():
        library = Path(folder) / _LIBRARY
        if library.is_file():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    try:
        return import_module("ezc3d")
    except ImportError as error:
        raise MissingDependencyError(f"ezc3d does not load: {error}") from error
