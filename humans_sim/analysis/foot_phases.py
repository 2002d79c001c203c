# SPDX-License-Identifier: Apache-2.0
"""Heel, all, toe: what a model on sphere feet stands on, from the events of a run."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from humans_sim.core.errors import ParameterError
from humans_sim.models.soles import tag_of
from humans_sim.results.events import CONTACT_CLOSED, CONTACT_OPENED
from humans_sim.results.run import Run

AIR, HEEL, ALL, TOE = "air", "heel", "all", "toe"
_HEEL, _FORE = "_heel", ("_fore_left", "_fore_right")


class FootPhase(NamedTuple):
    """A time in which the same end of the feet stands.

    Attributes:
        start: [s].
        end: [s]; the start, where an impact closes one end and opens the other.
        word: ``air``, ``heel``, ``all`` (balls of both ends) or ``toe``.
    """

    start: float
    end: float
    word: str


def foot_phases(run: Run, sole: str | None = None) -> list[FootPhase]:
    """The phases of a run on sphere feet, at the exact times of its events.

    Args:
        run: of a simulation with ``contact_geometry="spheres"``.
        sole: one of the soles; all of them together unless given.
    """
    balls = {
        name: _end(name)
        for name in run.table.names
        if _end(name) and name.startswith("" if sole is None else f"{sole}_")
    }
    if not balls:
        of = "" if sole is None else f" of '{sole}'"
        raise ParameterError(
            f"the run has no sphere feet{of}: simulate with contact_geometry='spheres'"
        )
    shut: set[str] = set()
    changes = [(float(run.t[0]), AIR)]
    moves = [
        event
        for event in run.events
        if event.subject in balls and event.kind in (CONTACT_CLOSED, CONTACT_OPENED)
    ]
    for time, together in groupby(moves, key=lambda event: event.time):
        touched = set(shut)
        for event in together:
            if event.kind == CONTACT_CLOSED:
                shut.add(event.subject)
                touched.add(event.subject)
            else:
                shut.discard(event.subject)
        # In an impact both ends stand for a moment.
        changes += [(time, _word(touched, balls)), (time, _word(shut, balls))]
    kept = [changes[0]]
    for time, word in changes[1:]:
        if word != kept[-1][1]:
            kept.append((time, word))
    if len(kept) > 1 and kept[1][0] == kept[0][0]:
        kept = kept[1:]
    ends = [time for time, _ in kept[1:]] + [float(run.t[-1])]
    return [FootPhase(t, end, w) for (t, w), end in zip(kept, ends, strict=True)]


def _end(name: str) -> str:
    """Which end of a foot a contact belongs to; nothing for other contacts."""
    tag = tag_of(name)
    if tag.endswith(_HEEL):
        return HEEL
    return TOE if tag.endswith(_FORE) else ""


def _word(shut: set[str], balls: dict[str, str]) -> str:
    ends = {balls[name] for name in shut}
    if len(ends) > 1:
        return ALL
    return ends.pop() if ends else AIR
