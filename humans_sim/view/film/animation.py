# SPDX-License-Identifier: Apache-2.0
"""A run in a file that moves or shows how it moved: a page, film, strip, 3D scene."""

from __future__ import annotations

from pathlib import Path

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream, check_ending
from humans_sim.models import Model
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.results.run import Run
from humans_sim.view.scene_files.scenes import (
    SCENE_FORMATS,
    reconstruction_scene,
    run_scene,
)

ANIMATION_SUFFIXES = (".html", ".gif", ".png", *SCENE_FORMATS)
"""Endings of all files that show how something moved."""


def animate(
    run: Run | WristRun | Reconstruction,
    path: Path | str,
    model: Model | None = None,
    ground: Ground | None = None,
) -> Path:
    """Write a run as a page (.html), a looping film (.gif) or a film strip (.png).

    Or as an animated scene for 3D programs, with every sample of the run: glTF (.glb),
    X3D (.x3d) or VRML (.wrl).

    Args:
        run: a run of a biped model, of free bodies (with a robot among them no film and
            no strip), or of a wrist; a reconstruction with its markers as a scene only.
        path: the file.
        model: the run's model; that of its record unless given.
        ground: the run's scene; that of its record unless given.

    Raises:
        ParameterError: another ending, or a run that cannot be shown.
    """
    path = Path(path)
    suffix = check_ending("an animation", path, ANIMATION_SUFFIXES)
    if suffix in SCENE_FORMATS:
        if isinstance(run, Reconstruction):
            scene = reconstruction_scene(run)
        else:
            scene = run_scene(run, model, ground)
        content = SCENE_FORMATS[suffix](scene)
    elif isinstance(run, Reconstruction):
        raise ParameterError(
            f"a reconstruction is written to {', '.join(SCENE_FORMATS)}, not to "
            f"'{path.name}'; for a page see humans-sim reconstruct"
        )
    elif suffix == ".html":
        from humans_sim.view.browser.page import page_of

        content = page_of(run, model, ground).encode("utf-8")
    else:
        from humans_sim.view.film.film import Painter, film, film_strip

        painter: Painter
        if isinstance(run, WristRun):
            from humans_sim.view.film.wrist_pictures import WristPainter

            painter = WristPainter(run)
        else:
            from humans_sim.view.film.pictures import painter_of

            painter = painter_of(run, model, ground)
        content = film(painter) if suffix == ".gif" else film_strip(painter)
    with atomic_stream(path) as stream:
        stream.write(content)
    return path
