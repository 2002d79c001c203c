# SPDX-License-Identifier: Apache-2.0
"""A run in a file that moves or shows how it moved: a page, film, strip, 3D scene."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.models import Model
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.results.run import Run
from humans_sim.view.browser.replay import Replay
from humans_sim.view.scene_files.scenes import SCENE_FORMATS


def _page(replay: Replay) -> bytes:
    from humans_sim.view.browser.page import page_of

    return page_of(replay).encode("utf-8")


def _film(replay: Replay) -> bytes:
    from humans_sim.view.film.pictures import film

    return film(replay)


def _strip(replay: Replay) -> bytes:
    from humans_sim.view.film.pictures import film_strip

    return film_strip(replay)


FORMATS: dict[str, Callable[[Replay], bytes]] = {
    ".html": _page,
    ".gif": _film,
    ".png": _strip,
}
"""What a file's ending stands for."""
ANIMATION_SUFFIXES = (*FORMATS, *SCENE_FORMATS)
"""Endings of all files that show how something moved."""


def check_animation_path(path: Path) -> None:
    """Refuse a file whose ending is not one of :data:`ANIMATION_SUFFIXES`."""
    if path.suffix.lower() not in ANIMATION_SUFFIXES:
        endings = ", ".join(ANIMATION_SUFFIXES)
        raise ParameterError(
            f"an animation is written to {endings}, not to '{path.name}'"
        )


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

    Returns:
        The path.

    Raises:
        ParameterError: another ending, or a run that cannot be shown.
    """
    path = Path(path)
    check_animation_path(path)
    if path.suffix.lower() in SCENE_FORMATS:
        content = _scene(run, path, model, ground)
    elif isinstance(run, Reconstruction):
        raise ParameterError(
            f"a reconstruction is written to {', '.join(SCENE_FORMATS)}, not to "
            f"'{path.name}'; for a page see humans-sim reconstruct"
        )
    elif isinstance(run, WristRun):
        content = _wrist(run, path)
    elif "network" in run.info:
        content = _network(run, path)
    elif "bodies" in run.info:
        content = _bodies(run, path)
    else:
        content = FORMATS[path.suffix.lower()](Replay(run, model, ground))
    with atomic_stream(path) as stream:
        stream.write(content)
    return path


def _scene(
    run: Run | WristRun | Reconstruction,
    path: Path,
    model: Model | None,
    ground: Ground | None,
) -> bytes:
    from humans_sim.view.scene_files.scenes import reconstruction_scene, run_scene

    if isinstance(run, Reconstruction):
        scene = reconstruction_scene(run)
    else:
        scene = run_scene(run, model, ground)
    return SCENE_FORMATS[path.suffix.lower()](scene)


def _network(run: Run, path: Path) -> bytes:
    if path.suffix.lower() == ".html":
        from humans_sim.view.browser.network_page import network_page

        return network_page(run).encode("utf-8")
    from humans_sim.view.film.pictures import network_film, network_strip

    return network_film(run) if path.suffix.lower() == ".gif" else network_strip(run)


def _bodies(run: Run, path: Path) -> bytes:
    if path.suffix.lower() == ".html":
        from humans_sim.view.browser.bodies_page import bodies_page

        return bodies_page(run).encode("utf-8")
    from humans_sim.view.film.pictures import body_film, body_strip

    return body_film(run) if path.suffix.lower() == ".gif" else body_strip(run)


def _wrist(run: WristRun, path: Path) -> bytes:
    if path.suffix.lower() == ".html":
        from humans_sim.view.browser.wrist_page import wrist_page

        return wrist_page(run).encode("utf-8")
    from humans_sim.view.film.wrist_pictures import wrist_film, wrist_strip

    return wrist_film(run) if path.suffix.lower() == ".gif" else wrist_strip(run)
