# SPDX-License-Identifier: Apache-2.0
"""A look at a recording between its file and the search for postures."""

from __future__ import annotations

from dataclasses import replace

from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.pipeline import PipelineSettings, Prepared, prepare
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.screening.labels import (
    better_set,
    motion_markers,
    screen_labels,
)
from humans_sim.observation.screening.screen import AxesKnown, Screening, screen


def screened(
    model: Model,
    trial: MarkerTrial,
    marker_set: MarkerSet,
    steps: PipelineSettings | None,
    reading: ReadOptions,
    force: bool,
) -> tuple[MarkerTrial, tuple[str, ...]]:
    """A recording whose unit and axis are right, and why its result is doubtful.

    Args:
        model: the person.
        trial: as read.
        marker_set: where the markers are.
        steps: of the preparation.
        reading: what the user gave for the file.
        force: refuse nothing.

    Raises:
        ScreeningError: it cannot be this person with these markers.
        ParameterError: no label is of the set, or one fits two markers.
    """
    used = motion_markers(marker_set)
    steps = steps or PipelineSettings()
    try:
        ready = _identified(trial, used, steps)
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
    look = replace(look, findings=(*labels, *look.findings))
    return _decided(look, trial, force)


def screened_markers(
    model: Model, trial: MarkerTrial, marker_set: MarkerSet, force: bool
) -> tuple[str, ...]:
    """Why the result of markers that are prepared already is doubtful.

    Raises:
        ScreeningError: they cannot be this person's.
    """
    used = motion_markers(marker_set)
    names = [name for name in trial.names if name in used.names]
    if not names:
        return ()  # the search refuses them
    known = AxesKnown(units=True, up=True)
    look = screen(model, trial.select(names), used, known)
    return _decided(look, trial, force)[1]


def _identified(
    trial: MarkerTrial, used: MarkerSet, steps: PipelineSettings
) -> Prepared:
    """Markers in the names of the set and in the model's frame."""
    plain = replace(steps, fill=False, filter=False)
    aliases = {marker.name: marker.aliases for marker in used.markers}
    return prepare(trial, plain, used.names, aliases)


def _decided(
    look: Screening, trial: MarkerTrial, force: bool
) -> tuple[MarkerTrial, tuple[str, ...]]:
    if not force:
        look.check("the recording" if trial.source is None else trial.source)
    return look.corrected(trial), look.doubts


def _file_axis(trial: MarkerTrial, reading: ReadOptions) -> str:
    """The axis of a file that was read as z; empty where it is not known."""
    if reading.up is not None:
        return reading.up
    if trial.header is not None:
        return trial.header.up
    trc = trial.source is not None and trial.source.suffix.lower() == ".trc"
    return "y" if trc else ""
