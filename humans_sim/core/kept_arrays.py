# SPDX-License-Identifier: Apache-2.0
"""Arrays that take long to compute, kept on the disk beside the kernels.

For pure functions of what every process computes again, for example hulls of the
meshes of a model. A folder holds those of one module, named by a hash of its sources;
folders that nobody used for long go with old kernels (:mod:`.kernels`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version

import numpy as np

from humans_sim.core.errors import FileWriteError
from humans_sim.core.files import atomic_stream
from humans_sim.core.kernels import cache_root, source_hash

_MOST = 2000
"""Arrays of a module; further ones are computed in every process."""


def kept_array(
    module: str, arguments: tuple[object, ...], compute: Callable[[], np.ndarray]
) -> np.ndarray:
    """The array of a function, read where an earlier process computed it.

    Args:
        module: of the function; its arrays are computed anew when its sources change,
            or numpy, scipy or trimesh.
        arguments: all that the array depends on; their ``repr`` tells them apart.
        compute: gives the array.
    """
    key = hashlib.sha256(repr((_versions(), arguments)).encode()).hexdigest()
    folder = cache_root() / f"{module}.{source_hash(module)}"
    path = folder / f"{key[:32]}.npy"
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError):  # missing or damaged
        array = compute()
    with suppress(FileWriteError):  # a full disk: computed again the next time
        if not folder.is_dir() or len(os.listdir(folder)) < _MOST:
            with atomic_stream(path) as stream:
                np.save(stream, array)
    return array


@cache
def _versions() -> tuple[str, ...]:
    return tuple(version(name) for name in ("numpy", "scipy", "trimesh"))
