# SPDX-License-Identifier: Apache-2.0
"""Skins kept in the user's cache, by what they are made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

from humans_sim.core.errors import FileWriteError
from humans_sim.core.files import atomic_stream
from humans_sim.models import Model
from humans_sim.soft.skin.body_shape import skin_file
from humans_sim.soft.skin.skin import Skin

VERSION = 1
"""Of how skins are made; another one makes them anew."""
_UNREADABLE = (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError)


def cache_folder() -> Path:
    """Where skins are kept: below ``XDG_CACHE_HOME``, else ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "humans_sim" / "skins"


def skin_key(model: Model, spacing: float) -> str:
    """What a skin is made from, as a name: the file, the subject's sizes, the grid."""
    placements = [pose.translation for pose in model.pin.jointPlacements]
    sizes = np.concatenate(
        [
            np.ravel(placements),
            model.tags(model.neutral())[:-1].ravel(),
            [model.mass, model.height, spacing],
        ]
    )
    digest = hashlib.sha256(skin_file(model.name).read_bytes())
    digest.update(f"{VERSION} {model.name}".encode())
    digest.update(np.round(sizes, 9).tobytes())
    return digest.hexdigest()[:32]


def cached(model: Model, spacing: float, make: Callable[[Model, float], Skin]) -> Skin:
    """The skin of a model: read where it is kept, else made and kept.

    A cache that cannot be read or written is passed over.
    """
    path = cache_folder() / f"{model.name}-{skin_key(model, spacing)}.npz"
    with contextlib.suppress(*_UNREADABLE):
        return _read(path)
    skin = make(model, spacing)
    with contextlib.suppress(FileWriteError, OSError), atomic_stream(path) as stream:
        np.savez_compressed(stream, **_arrays(skin))  # type: ignore[arg-type]
    return skin


def _arrays(skin: Skin) -> dict[str, np.ndarray]:
    arrays = {}
    for field in fields(skin):
        values = np.asarray(getattr(skin, field.name))
        arrays[field.name] = (
            values.astype(np.float32) if field.name == "weights" else values
        )
    return arrays


def _read(path: Path) -> Skin:
    with np.load(path, allow_pickle=False) as file:
        arrays = {field.name: file[field.name] for field in fields(Skin)}
    words = {
        key: tuple(str(word) for word in arrays[key]) for key in ("materials", "bones")
    }
    weights = arrays["weights"].astype(float)
    arrays["weights"] = weights / weights.sum(axis=1)[:, None]
    if not np.isfinite(arrays["vertices"]).all():
        raise ValueError("damaged")
    return Skin(**{**arrays, **words})
