# SPDX-License-Identifier: Apache-2.0
"""Reconstructions read back from files (``.npz``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.core.errors import MALFORMED_CONTENT, HumansError
from humans_sim.core.npz_file import read_npz
from humans_sim.models.catalogue import load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.recorded_parts import PART_ARRAYS, read_parts
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.result_writer import (
    FORMAT,
    LABELS,
    POSTURE_ARRAYS,
    TRIAL_ARRAYS,
    UNCERTAINTY_ARRAYS,
)

_KINDS = {
    "times": "f",
    "positions": "f",
    "frames": "iu",
    "filled": "b",
    "q": "f",
    "differences": "f",
    "status": "iu",
    "converged": "b",
    "iterations": "iu",
    "solve_times": "f",
    "std": "f",
    "bridged": "b",
}
"""Kinds of the numbers, in numpy's letters."""


def is_reconstruction(path: Path | str) -> bool:
    """Whether a file is a reconstruction, by its header; others may be anything."""
    try:
        header, _ = read_npz(Path(path), MarkerFileError, "", ())
    except MarkerFileError:
        return False
    return isinstance(header, dict) and header.get("kind") == "reconstruction"


def load_reconstruction(path: Path | str) -> Reconstruction:
    """Read what :meth:`Reconstruction.save` wrote.

    Args:
        path: the file, ``.npz``.

    Raises:
        MarkerFileError: the file is missing, damaged or of another kind.
    """
    path = Path(path)
    header, arrays = read_npz(
        path,
        MarkerFileError,
        "a stored reconstruction",
        (*TRIAL_ARRAYS, *POSTURE_ARRAYS),
        ("camera_residuals", *PART_ARRAYS, *UNCERTAINTY_ARRAYS),
    )
    try:
        if (header["kind"], header["format"]) != ("reconstruction", FORMAT):
            raise ValueError(
                f"it is a {str(header['kind'])[:20]} of format "
                f"{str(header['format'])[:20]}, and this software reads "
                f"reconstructions of format {FORMAT}"
            )
        return _put_together(header, arrays, arrays.pop("camera_residuals", None))
    except (*MALFORMED_CONTENT, HumansError) as error:
        raise MarkerFileError(f"not a stored reconstruction: {error}", path) from None


def _put_together(
    header: dict[str, Any], arrays: dict[str, np.ndarray], cameras: np.ndarray | None
) -> Reconstruction:
    model = _loaded(header["model"])
    source = header["source"]
    header = {**dict.fromkeys(LABELS, []), **header}  # older files have none
    for key in ("names", "unobservable", *LABELS):
        if not isinstance(header[key], list):
            raise ValueError(f"its {key} are no list")
    for name, kinds in _KINDS.items():
        if name in arrays and arrays[name].dtype.kind not in kinds:
            raise ValueError(f"{name} holds numbers of another kind")
    stored: dict[str, Any] = {name: arrays[name] for name in TRIAL_ARRAYS}
    trial = MarkerTrial(
        names=tuple(map(str, header["names"])),
        **stored,
        camera_residuals=cameras,
        source=None if source is None else Path(str(source)),
        **read_parts(header, arrays),
    )
    n, m = len(trial), len(trial.names)
    for name, shape in (
        ("q", (n, model.nq)),
        ("differences", (n, m, 3)),
        ("status", (n, m)),
        ("converged", (n,)),
        ("iterations", (n,)),
        ("solve_times", (n,)),
        ("std", (n, model.nv)),
        ("bridged", (n, model.nv - 6)),
    ):
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    if not np.isin(arrays["status"], [int(word) for word in MarkerStatus]).all():
        raise ValueError("a marker has an unknown status")
    if np.isinf(arrays["differences"]).any() or (arrays["iterations"] < 0).any():
        raise ValueError("a difference or a count cannot be")
    for q in arrays["q"]:
        model.check_configuration(q)
    if "std" in arrays and not (arrays["std"] >= 0).all():
        raise ValueError("a standard deviation cannot be")
    stored_names = (*POSTURE_ARRAYS, *UNCERTAINTY_ARRAYS)
    parts: dict[str, Any] = {k: arrays[k] for k in stored_names if k in arrays}
    noise = header.get("noise")
    parts["noise"] = float("nan") if noise is None else float(noise)
    for key in ("unobservable", *LABELS):
        parts[key] = tuple(map(str, header[key]))
    return Reconstruction(model=model, trial=trial, mode=str(header["mode"]), **parts)


def _loaded(described: dict[str, Any]) -> Model:
    known = ("height", "mass", "lengths", "tags")
    return load_model(
        str(described["name"]),
        xacro=False,
        **{k: described[k] for k in known if k in described},
    )
