# SPDX-License-Identifier: Apache-2.0
"""A person's motion from a recording: read, prepare, calibrate, solve.

The one function for it: the library, ``humans-sim reconstruct`` and its batches, and
the action ``reconstruct`` of the node all call it, so that one file gives one result.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.applications.person import (
    Person,
    UnknownPersonError,
    choose_person,
    decided,
    nearest_person,
    screen_prepared,
    screen_recording,
)
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.markers.pipeline import PipelineSettings, Prepared, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.trial import MarkerTrial, part_of
from humans_sim.observation.posture.reconstruct import Progress, Watch, solve_postures
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.reconstruction_options import (
    SIZES,
    STEPS,
    ReconstructionOptions,
)
from humans_sim.observation.search_settings import SmootherSettings, SolverSettings

Markers = MarkerTrial | Prepared | Path | str
"""A file, a trial as read, or markers that are prepared already."""


def reconstruct(
    source: Model | Markers,
    markers: Markers | None = None,
    marker_set: MarkerSet | Path | str | None = None,
    *,
    options: ReconstructionOptions | None = None,
    preparation: PipelineSettings | None = None,
    settings: SolverSettings | None = None,
    smoothing: SmootherSettings | None = None,
    rest: np.ndarray | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    **fields: Any,
) -> Reconstruction:
    """Postures that explain the markers of a recording.

    Called in one of two ways::

        reconstruct("walk.c3d", "plug-in-gait", height=1.80)
        reconstruct(model, "walk.c3d", "plug-in-gait")

    Without a marker set and a subject, the person of a file is that of the
    ``subject.yaml`` beside it.

    Args:
        source: the recording, or the model of the person, best a calibrated one.
        markers: the recording if ``source`` is a model, else the name or path of the
            marker set.
        marker_set: where the markers are on the body, or the name or path of a set;
            with a model, its tags by default.
        options: how it is read and solved, and who it is; what concerns files of
            results is for batches alone.
        preparation: how markers are identified, filled, moved and filtered, instead of
            the options' fields about it. :class:`Prepared` markers stay as they are.
        settings: of the search; None: those of the preparation.
        smoothing: of the mode ``smooth``; None: those of the preparation.
        rest: joint angles where joints stay that no marker sees [rad].
        progress: called now and then.
        watch: called with each frame; what it raises ends the search.
        fields: of :class:`ReconstructionOptions`, e.g. ``mode="smooth"``,
            ``height=1.80``, ``subject="subject.yaml"``, ``units="mm"``; they go before
            those of ``options``.

    Raises:
        ScreeningError: the recording cannot be this person with these markers.
        HumansError: a file is wrong, nothing says who is in it, two arguments exclude
            each other, or too few markers are in the set.
    """
    options = replace(options or ReconstructionOptions(), **fields)
    reading, force = options.reading, options.force
    if preparation is not None and options.has(STEPS):
        raise ParameterError(f"a preparation is given: it has {', '.join(STEPS)}")
    steps = preparation or options.steps()
    if isinstance(source, Model):
        if markers is None:
            raise ParameterError("a model needs a recording: give a file or a trial")
        if options.has(SIZES):
            raise ParameterError(
                "a model has its sizes: subject, static, height and mass go with a "
                "recording alone"
            )
        model, recording = source, markers
        if not isinstance(marker_set, MarkerSet):
            marker_set = load_marker_set(
                marker_set or options.marker_set or CANONICAL, model
            )
    else:
        recording = source
        name = _set_name(markers, marker_set) or options.marker_set
        person = _person(source, replace(options, marker_set=name))
        model, marker_set = person.load(reading, steps.correspondence, force)
    if not isinstance(recording, Prepared):
        trial = part_of(_read(recording, reading), options.start, options.end)
        look = screen_recording(model, trial, marker_set, steps, reading)
        # Long trials are large: nothing here holds the markers as read any longer.
        given = [decided(look, trial, force)]
        del trial
        used = marker_set.moving
        recording = prepare(given.pop(), steps, used.names, used.aliases)
    elif (
        preparation is not None
        or options.has((*STEPS, "up", "units", "rate"))
        or (options.start, options.end) != (0.0, 0.0)
    ):
        raise ParameterError(
            "these markers are prepared: preparation, up, units, rate, start and end "
            "go with a file or a trial as read"
        )
    else:
        look = screen_prepared(model, recording.trial, marker_set)
        decided(look, recording.trial, force)
    result = solve_postures(
        model,
        recording.trial,
        marker_set,
        mode=options.mode,
        settings=settings or steps.solver,
        smoothing=smoothing or steps.smoother,
        uncertainty=options.uncertainty,
        rest=rest,
        progress=progress,
        watch=watch,
    )
    return replace(
        result,
        missing=recording.missing,
        ignored=recording.ignored,
        doubts=look.doubts,
    )


def _person(recording: Markers, options: ReconstructionOptions) -> Person:
    """Who is in a recording that is given without a model."""
    person = choose_person(options)
    if person is None and isinstance(recording, Path | str):
        person = nearest_person(Path(recording).expanduser().absolute())
    if person is None:
        name = recording if isinstance(recording, Path | str) else "the trial"
        raise UnknownPersonError(name)
    return person


def _set_name(second: object, marker_set: object) -> str | None:
    """Name or path of the set of a recording that is given without a model."""
    if second is not None and marker_set is not None:
        raise ParameterError(
            "two marker sets are given: a model goes before the recording, "
            "reconstruct(model, recording, marker_set)"
        )
    given = marker_set if second is None else second
    if given is not None and not isinstance(given, Path | str):
        raise ParameterError(
            f"a {type(given).__name__} needs its model: "
            "reconstruct(model, recording, marker_set)"
        )
    return None if given is None else str(given)


def _read(recording: MarkerTrial | Path | str, reading: ReadOptions) -> MarkerTrial:
    if not isinstance(recording, MarkerTrial):
        return read_markers(
            Path(recording).expanduser(),
            up=reading.up,
            units=reading.units,
            rate=reading.rate,
        )
    if reading != ReadOptions():
        raise ParameterError("up, units and rate are of files: this trial is read")
    return recording
