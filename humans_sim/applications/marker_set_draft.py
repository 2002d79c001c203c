# SPDX-License-Identifier: Apache-2.0
"""Propose a marker set from files of markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from humans_sim.applications.calibration import HUMAN
from humans_sim.models import load_model
from humans_sim.observation.draft.draft_set import MarkerSetDraft, draft_marker_set
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.read import read_markers


def draft_from_recordings(
    files: Sequence[Path | str],
    *,
    model: str = HUMAN,
    height: float | None = None,
    reading: ReadOptions | None = None,
    title: str = "",
    note: Callable[[str], None] | None = None,
) -> MarkerSetDraft:
    """Propose a marker set from recordings.

    Args:
        files: a recording of standing still, then motions if there are.
        model: name of the model.
        height: stature, if known [m].
        reading: what the files leave open.
        title: of the set.
        note: is called with what is not as it should be in a file.

    Raises:
        HumansError: a file is wrong, or nobody stands in the first.
    """
    reading = reading or ReadOptions()
    trials = []
    for path in files:
        trial = read_markers(
            path, up=reading.up, units=reading.units, rate=reading.rate
        )
        if note is not None:
            for text in trial.notes:
                note(f"{path}: {text}")
        trials.append(trial)
    title = title or f"Draft from {Path(files[0]).name}"
    return draft_marker_set(
        load_model(model), trials[0], trials[1:], height=height, title=title
    )
