# SPDX-License-Identifier: Apache-2.0
"""Reconstructions written to files (``.npz``): everything, to be loaded again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.core.npz_writer import write_npz
from humans_sim.models.files.named_models import is_packaged
from humans_sim.models.model import Model
from humans_sim.observation.posture.recorded_parts import describe_parts

if TYPE_CHECKING:  # a result writes itself by this file
    from humans_sim.observation.posture.result import Reconstruction

FORMAT = 1
TRIAL_ARRAYS = ("times", "positions", "frames", "filled")
POSTURE_ARRAYS = (
    "q",
    "differences",
    "status",
    "converged",
    "iterations",
    "solve_times",
)
UNCERTAINTY_ARRAYS = ("std", "bridged")
"""Arrays that files of this format may lack."""
LABELS = ("missing", "ignored", "doubts")
"""Lists of the header that files of this format may lack."""


def save_reconstruction(result: Reconstruction, path: Path | str) -> Path:
    """Write a reconstruction, whole or not at all.

    The model is stored by its name and its sizes, one from a URDF by its path.

    Args:
        result: what was reconstructed.
        path: the file; :func:`humans_sim.load_reconstruction` reads it if it ends in
            ``.npz``.

    Returns:
        The path.
    """
    trial = result.trial
    parts, part_arrays = describe_parts(trial)
    header = {
        "format": FORMAT,
        "kind": "reconstruction",
        "model": _described(result.model),
        "names": list(trial.names),
        "source": None if trial.source is None else str(trial.source),
        "unobservable": list(result.unobservable),
        "mode": result.mode,
        "noise": result.noise if math.isfinite(result.noise) else None,
        **{key: list(getattr(result, key)) for key in LABELS},
        **parts,
    }
    arrays = {name: getattr(trial, name) for name in TRIAL_ARRAYS}
    arrays |= part_arrays
    arrays |= {name: getattr(result, name) for name in POSTURE_ARRAYS}
    for name in UNCERTAINTY_ARRAYS:
        if getattr(result, name) is not None:
            arrays[name] = getattr(result, name)
    if trial.camera_residuals is not None:
        arrays["camera_residuals"] = trial.camera_residuals
    return write_npz(Path(path), header, arrays)


def _described(model: Model) -> dict[str, Any]:
    """What makes the same model again."""
    parts = model.parts
    name = model.name if is_packaged(parts) else str(parts.source)
    if not parts.from_table:
        return {"name": name}
    sizes = {"h": "height", "m": "mass"}
    return {
        "name": name,
        **{sizes[k]: float(v) for k, v in parts.parameters.items() if k in sizes},
        "lengths": {k: float(v) for k, v in parts.given_lengths.items()},
        "tags": {k: np.asarray(v).tolist() for k, v in parts.given_tags.items()},
    }
