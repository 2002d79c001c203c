# SPDX-License-Identifier: Apache-2.0
"""Which ending of a file stands for which format, and a model written alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.models import Model
from humans_sim.view.scene_files.gltf_file import glb
from humans_sim.view.scene_files.moving_scene import MovingScene
from humans_sim.view.scene_files.scenes import model_scene
from humans_sim.view.scene_files.web3d_files import vrml, x3d

SCENE_FORMATS: dict[str, Callable[[MovingScene], bytes]] = {
    ".glb": glb,
    ".x3d": x3d,
    ".wrl": vrml,
}
"""What makes the content of a file, by its ending."""


def check_scene_path(path: Path) -> None:
    """Refuse a file whose ending is not one of :data:`SCENE_FORMATS`."""
    if path.suffix.lower() not in SCENE_FORMATS:
        raise ParameterError(
            f"a scene is written to {', '.join(SCENE_FORMATS)}, not to '{path.name}'"
        )


def export_model(model: Model, path: Path | str, q: np.ndarray | None = None) -> Path:
    """Write a model as a tree of its links: glTF (.glb), X3D (.x3d) or VRML (.wrl).

    Args:
        model: what to write.
        path: the file.
        q: its configuration; the zero position unless given.

    Returns:
        The path.

    Raises:
        ParameterError: another ending, or a configuration that is not the model's.
        ModelFileError: a mesh of the model is missing or unreadable.
        FileWriteError: it cannot be written.
    """
    path = Path(path)
    check_scene_path(path)
    content = SCENE_FORMATS[path.suffix.lower()](model_scene(model, q))
    with atomic_stream(path) as stream:
        stream.write(content)
    return path
