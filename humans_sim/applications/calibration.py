# SPDX-License-Identifier: Apache-2.0
"""Measure a person from files of markers: read, identify, calibrate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from humans_sim.applications.screening import decided, screen_recording
from humans_sim.models import load_model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.posture.calibrate import Calibration, calibrate
from humans_sim.observation.screening.findings import Topic

HUMAN = "human36"
"""The model of a person where nothing else is given."""
_BEFOREHAND = (Topic.LABELS, Topic.EMPTY, Topic.UNIT, Topic.UP, Topic.SIDES)
"""What can be seen of a recording before the person is known."""


def calibrate_recordings(
    files: Sequence[Path | str],
    marker_set: str,
    *,
    model: str = HUMAN,
    height: float | None = None,
    mass: float | None = None,
    reading: ReadOptions | None = None,
    correspondence: Path | None = None,
    title: str = "",
    note: Callable[[str], None] | None = None,
    force: bool = False,
) -> Calibration:
    """Measure a person from recordings.

    Markers are identified but neither filled nor filtered: sizes come from positions as
    they are, and a filter would only smear a motion.

    Args:
        files: a static trial, then motions if there are.
        marker_set: name or path of the set.
        model: name of the model to begin with.
        height: stature, if known [m].
        mass: if known [kg].
        reading: what the files leave open.
        correspondence: file of the laboratory's labels, or None.
        title: of the subject.
        note: is called with what is not as it should be in a file.
        force: measure also from what cannot be a person with these markers.

    Raises:
        ScreeningError: a recording cannot be a person with these markers.
        HumansError: a file is wrong, or the person cannot be measured from them.
    """
    reading = reading or ReadOptions()
    body = load_model(model, height=height, mass=mass)
    whole = load_marker_set(marker_set, body)
    markers = whole.markers
    steps = PipelineSettings(correspondence=correspondence, fill=False, filter=False)
    trials = []
    for path in files:
        trial = read_markers(
            path, up=reading.up, units=reading.units, rate=reading.rate
        )
        # Places of markers and sizes are what is sought: these say nothing yet.
        look = screen_recording(body, trial, whole, steps, reading).about(*_BEFOREHAND)
        trial = decided(look, trial, force)
        if note is not None:
            for text in (*trial.notes, *look.doubts):
                note(f"{path}: {text}")
        names = [marker.name for marker in markers]
        aliases = {marker.name: marker.aliases for marker in markers}
        trials.append(prepare(trial, steps, names, aliases).trial)
    return calibrate(body, trials, marker_set, height=height, mass=mass, title=title)
