# SPDX-License-Identifier: Apache-2.0
"""A look at a recording between its file and the search for postures or sizes."""

from __future__ import annotations

from dataclasses import replace

from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.screening.frames import look_at
from humans_sim.observation.screening.labels import (
    better_set,
    motion_markers,
    screen_labels,
)
from humans_sim.observation.screening.screen import AxesKnown, Screening, screen


def screen_recording(
    model: Model,
    trial: MarkerTrial,
    marker_set: MarkerSet,
    steps: PipelineSettings | None,
    reading: ReadOptions,
) -> Screening:
    """Look at a recording as it was read.

    Args:
        model: the person.
        trial: as read.
        marker_set: where the markers are.
        steps: of the preparation.
        reading: what the user gave for the file.

    Raises:
        ParameterError: no label is of the set, or one fits two markers.
    """
    used = motion_markers(marker_set)
    steps = replace(steps or PipelineSettings(), fill=False, filter=False)
    aliases = {marker.name: marker.aliases for marker in used.markers}
    # The standing frame is made of the first samples, others of none.
    some = trial if steps.frame == "standing" else look_at(trial)
    try:
        ready = prepare(some, steps, used.names, aliases)
    except ParameterError as error:
        better = better_set(trial, model, 1)
        if better is None:
            raise
        raise ParameterError(
            f"{error}; the set {better.name} has {better.matched} of these labels"
        ) from None
    labels = screen_labels(trial, len(ready.trial.names), used, model)
    moved = steps.frame != "recorded"
    known = AxesKnown(
        units=reading.units is not None,
        up=reading.up is not None or moved,
        file_axis="" if moved else _file_axis(trial, reading),
    )
    look = screen(model, ready.trial, used, known)
    return replace(look, findings=(*labels, *look.findings))


def screen_prepared(
    model: Model, trial: MarkerTrial, marker_set: MarkerSet
) -> Screening:
    """Look at markers that are prepared: nothing of them is corrected."""
    used = motion_markers(marker_set)
    names = [name for name in trial.names if name in used.names]
    if not names:
        return Screening()  # the search refuses them
    known = AxesKnown(units=True, up=True)
    return screen(model, trial.select(names), used, known)


def decided(look: Screening, trial: MarkerTrial, force: bool) -> MarkerTrial:
    """A trial after a look at it, with the right unit and axis.

    Args:
        look: what was seen.
        trial: as read.
        force: refuse nothing.

    Raises:
        ScreeningError: it cannot be this person with these markers.
    """
    if not force:
        look.check("the recording" if trial.source is None else trial.source)
    return look.corrected(trial)


def _file_axis(trial: MarkerTrial, reading: ReadOptions) -> str:
    """The axis of a file that was read as z; empty where it is not known."""
    if reading.up is not None:
        return reading.up
    if trial.header is not None:
        return trial.header.up
    trc = trial.source is not None and trial.source.suffix.lower() == ".trc"
    return "y" if trc else ""
