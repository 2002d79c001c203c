# SPDX-License-Identifier: Apache-2.0
"""A recording and a person from files, to be adjusted to each other by hand."""

from __future__ import annotations

from pathlib import Path

from humans_sim.applications.adjustment import Adjustment
from humans_sim.applications.person import Person
from humans_sim.applications.screening import screen_recording
from humans_sim.core.errors import ParameterError
from humans_sim.models import load_model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.correspondence import load_correspondence
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.pipeline import PipelineSettings
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.posture.subject import load_subject


def open_adjustment(
    recording: Path,
    person: Person,
    reading: ReadOptions | None = None,
    correspondence: Path | None = None,
) -> Adjustment:
    """Read a recording and who is in it.

    Unit and vertical axis are corrected as ``reconstruct`` does. Labels that fit no tag
    are no error here: they are what is to be set.

    Args:
        recording: the file.
        person: a subject file, or a marker set on a model.
        reading: what the file leaves open.
        correspondence: file of the laboratory's labels, or None.

    Raises:
        HumansError: a file is wrong.
    """
    reading = reading or ReadOptions()
    trial = read_markers(
        recording, up=reading.up, units=reading.units, rate=reading.rate
    )
    if person.subject is not None:
        subject = load_subject(person.subject)
        model, markers = subject.model(), subject.marker_set()
    else:
        model = load_model(person.model, height=person.height, mass=person.mass)
        markers = load_marker_set(person.marker_set, model)
    steps = PipelineSettings(correspondence=correspondence)
    try:
        trial = screen_recording(model, trial, markers, steps, reading).corrected(trial)
    except ParameterError:
        pass  # no label is a tag's yet: nothing can be seen of unit and axis
    table = None
    if correspondence is not None:
        table = load_correspondence(correspondence, _names(markers))
    if person.subject is not None:
        return Adjustment(trial, subject, correspondence=table)
    return Adjustment.of_set(trial, model, person.marker_set, table)


def _names(markers: MarkerSet) -> list[str]:
    return [marker.name for marker in markers.markers if not marker.calibration]
