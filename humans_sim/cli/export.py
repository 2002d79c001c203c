# SPDX-License-Identifier: Apache-2.0
"""``humans-sim export``: models and stored motions in files of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from humans_sim.cli.options import (
    ANIMATIONS,
    SCENES,
    checked_option,
    model_names,
    output_file,
    positive,
)
from humans_sim.cli.output import described_os_errors, result, say
from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    from humans_sim.anatomy.wrist.wrist_run import WristRun
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.results.run import Run

_RUNS = (*ANIMATIONS, ".mcap", ".csv")
_WRISTS = (*ANIMATIONS, ".mcap")
_RECONSTRUCTIONS = (*SCENES, ".mcap", ".mot", ".trc")
_EVERY = tuple(dict.fromkeys((*_RUNS, *_RECONSTRUCTIONS)))


def export(
    source: Annotated[
        str,
        typer.Argument(
            help="A model, as for view; a run or a reconstruction .npz.",
            autocompletion=model_names,
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(
            help="Scene .glb, .x3d, .wrl; of motions also .mcap and others.",
            callback=output_file(*_EVERY),
        ),
    ],
    height: Annotated[
        float | None, checked_option("Stature of a human in metres.", positive)
    ] = None,
    mass: Annotated[
        float | None, checked_option("Body mass in kilograms.", positive)
    ] = None,
) -> None:
    """Write a model or a stored motion for other programs, by the file's ending."""
    if not source.lower().endswith(".npz"):
        _export_model(source, file, height, mass)
    elif height is not None or mass is not None:
        raise ParameterError("--height and --mass are of models, not of stored motions")
    else:
        _export_motion(Path(source), file)
    say(f"written: {file}")
    result(source=source, written=[file])


def _export_model(
    name: str, file: Path, height: float | None, mass: float | None
) -> None:
    _check_ending("a model", file, SCENES)
    from humans_sim.models import load_model
    from humans_sim.view.scene_files.scene_file import export_model

    model = load_model(name, height=height, mass=mass)
    with described_os_errors(file):
        export_model(model, file)
    result(kind="model", title=model.title, frames=1, duration=0.0)


def _export_motion(source: Path, file: Path) -> None:
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.view.film.animation import animate

    motion = _load(source)
    if isinstance(motion, Reconstruction):
        kind, title = "reconstruction", motion.model.title
        endings: Sequence[str] = _RECONSTRUCTIONS
    else:
        kind, title, endings = "run", str(motion.info.get("system", "")), _RUNS
        if "wrist" in motion.info:
            kind, endings = "wrist", _WRISTS
    _check_ending(f"a {kind}", file, endings)
    with described_os_errors(file):
        if file.suffix.lower() in ANIMATIONS:
            animate(motion, file)
        else:
            _write_table(motion, file)
    span = float(motion.t[-1] - motion.t[0])
    result(kind=kind, title=title, frames=len(motion.t), duration=span)


def _load(source: Path) -> Run | WristRun | Reconstruction:
    """A stored motion of any kind."""
    from humans_sim.cli.stored_runs import load_stored
    from humans_sim.observation.posture.result_file import (
        is_reconstruction,
        load_reconstruction,
    )

    if is_reconstruction(source):
        return load_reconstruction(source)
    return load_stored(source)


def _write_table(motion: Any, file: Path) -> None:
    """Write messages or numbers of a motion."""
    suffix = file.suffix.lower()
    if suffix == ".trc":
        from humans_sim.observation.markers.trc_file import write_trc

        write_trc(motion.trial, file)
    elif suffix == ".mcap" and "wrist" in getattr(motion, "info", ()):
        from humans_sim.view.wrist_topics import write_wrist_mcap

        write_wrist_mcap(motion, file)
    elif suffix == ".mcap" and not hasattr(motion, "to_mcap"):
        from humans_sim.observation.posture.mcap_file import write_mcap
        from humans_sim.view.posture_topics import posture_topics

        write_mcap(motion, file, posture_topics(motion))
    else:
        getattr(motion, f"to_{suffix[1:]}")(file)


def _check_ending(what: str, file: Path, endings: Sequence[str]) -> None:
    if file.suffix.lower() not in endings:
        raise ParameterError(
            f"{what} is written to {', '.join(endings)}, not to '{file.name}'"
        )
