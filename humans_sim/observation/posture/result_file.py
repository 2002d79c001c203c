"""Reconstructions in files (``.npz``): everything, to be loaded again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.errors import HumansError
from humans_sim.files import atomic_stream
from humans_sim.models.catalogue import NAMES, load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction

FORMAT = 1
_TRIAL = ("times", "positions", "frames", "filled")
_FOUND = ("q", "differences", "status", "converged", "iterations", "solve_times")


def save_reconstruction(result: Reconstruction, path: Path | str) -> Path:
    """Write a reconstruction, whole or not at all.

    The model is stored by its name and its sizes, one from a URDF by its path.

    Args:
        result: what was reconstructed.
        path: the file; load_reconstruction wants the ending ``.npz``.

    Returns:
        The path.
    """
    path = Path(path)
    trial = result.trial
    header = {
        "format": FORMAT,
        "kind": "reconstruction",
        "model": _described(result.model),
        "names": list(trial.names),
        "source": None if trial.source is None else str(trial.source),
        "unobservable": list(result.unobservable),
        "mode": result.mode,
    }
    arrays = {name: getattr(trial, name) for name in _TRIAL}
    arrays |= {name: getattr(result, name) for name in _FOUND}
    if trial.camera_residuals is not None:
        arrays["camera_residuals"] = trial.camera_residuals
    with atomic_stream(path) as stream:
        np.savez_compressed(stream, header=np.array(json.dumps(header)), **arrays)
    return path


def load_reconstruction(path: Path | str) -> Reconstruction:
    """Read what :func:`save_reconstruction` wrote.

    Raises:
        MarkerFileError: the file is missing, damaged or of another kind.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            if (header["kind"], header["format"]) != ("reconstruction", FORMAT):
                raise ValueError(
                    f"it is a {header['kind']} of format {header['format']}, and this "
                    f"software reads reconstructions of format {FORMAT}"
                )
            arrays = {name: stored[name] for name in (*_TRIAL, *_FOUND)}
            cameras = stored.get("camera_residuals")
        return _put_together(header, arrays, cameras)
    except FileNotFoundError:
        raise MarkerFileError("there is no such file", path) from None
    except (
        AttributeError,
        OSError,
        EOFError,
        KeyError,
        MemoryError,
        TypeError,
        ValueError,
        HumansError,
        zipfile.BadZipFile,
    ) as error:
        raise MarkerFileError(f"not a stored reconstruction: {error}", path) from None


def _put_together(
    header: dict[str, Any], arrays: dict[str, np.ndarray], cameras: np.ndarray | None
) -> Reconstruction:
    model = _loaded(header["model"])
    source = header["source"]
    trial = MarkerTrial(
        names=tuple(header["names"]),
        **{name: arrays[name] for name in _TRIAL},
        camera_residuals=cameras,
        source=None if source is None else Path(source),
    )
    n, m = len(trial), len(trial.names)
    for name, shape in (
        ("q", (n, model.nq)),
        ("differences", (n, m, 3)),
        ("status", (n, m)),
        ("converged", (n,)),
        ("iterations", (n,)),
        ("solve_times", (n,)),
    ):
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    if arrays["status"].size and arrays["status"].max() > max(MarkerStatus):
        raise ValueError("a marker has an unknown status")
    for q in arrays["q"]:
        model.check_configuration(q)
    return Reconstruction(
        model=model,
        trial=trial,
        **{name: arrays[name] for name in _FOUND},
        unobservable=tuple(header["unobservable"]),
        mode=str(header["mode"]),
    )


def _described(model: Model) -> dict[str, Any]:
    """What makes the same model again."""
    parts = model.parts
    if model.name not in NAMES:
        return {"name": str(parts.source)}
    sizes = {"h": "height", "m": "mass"}
    return {
        "name": model.name,
        **{sizes[k]: float(v) for k, v in parts.parameters.items() if k in sizes},
        "lengths": {k: float(v) for k, v in parts.given_lengths.items()},
        "tags": {k: np.asarray(v).tolist() for k, v in parts.given_tags.items()},
    }


def _loaded(described: dict[str, Any]) -> Model:
    known = ("height", "mass", "lengths", "tags")
    return load_model(
        str(described["name"]), **{k: described[k] for k in known if k in described}
    )
