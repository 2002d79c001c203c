# SPDX-License-Identifier: Apache-2.0
"""A run with two more samples at each event, for curves that jump where they do.

For drawing and tables: each time of an event is there twice, before and after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.results.event_states import NO_EVENT_STATES

if TYPE_CHECKING:
    from humans_sim.results.run import Run

_HELD = ("torques", "forces")
"""What may be unknown at an event: it then is that of the samples around it."""


def samples_at_events(run: Run) -> Run | None:
    """The samples at events alone, before and after in turn; None where there are none.

    Gaps of open contacts are taken from the samples on both sides, and signals are
    those of the sample before and of the sample after.
    """
    states = run.event_states.between(float(run.t[0]), float(run.t[-1]))
    if not len(states) or states.contact_count != len(run.table):
        return None
    follows = np.searchsorted(run.t, states.t)
    around = np.stack([follows - 1, follows], axis=1)
    shape = (*around.shape, 0)
    values: dict[str, Any] = {
        "t": np.stack([states.t] * 2, axis=1),
        "q": np.stack([states.q] * 2, axis=1),
        "v": states.v,
        "z": states.z,
        "torques": states.torques,
        "contacts": states.contacts,
        "forces": states.forces,
        "gaps": _gaps(run, around, states.t, states.contacts),
        "energy": states.energy,
        "signals": run.signals[around] if run.signals.size else np.zeros(shape),
    }
    for name in _HELD:
        known = values[name]
        if np.isnan(known).any():
            values[name] = np.where(np.isnan(known), getattr(run, name)[around], known)
    rows: dict[str, Any] = {name: _flat(array) for name, array in values.items()}
    return replace(run, **rows, event_states=NO_EVENT_STATES)


def with_event_samples(run: Run) -> Run:
    """The run with the samples at its events among its own.

    Times do not increase everywhere: nothing but curves is to be made of it.
    """
    added = samples_at_events(run)
    if added is None:
        return run
    places = np.searchsorted(run.t, added.t)
    names = ["t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy"]
    if run.signals.size:
        names.append("signals")
    rows: dict[str, Any] = {
        name: np.insert(np.asarray(getattr(run, name)), places, getattr(added, name), 0)
        for name in names
    }
    return replace(run, **rows, event_states=NO_EVENT_STATES)


def _gaps(
    run: Run, around: np.ndarray, times: np.ndarray, modes: np.ndarray
) -> np.ndarray:
    """Gaps at events (m, 2, nc): zero where a contact is closed on either side."""
    start, end = run.t[around].T
    share = np.where(end > start, (times - start) / np.maximum(end - start, 1e-300), 1)
    before, after = run.gaps[around[:, 0]], run.gaps[around[:, 1]]
    gaps = before + share[:, None] * (after - before)
    gaps[(modes != 0).any(axis=1)] = 0.0
    return np.stack([gaps, gaps], axis=1)


def _flat(array: np.ndarray) -> np.ndarray:
    """Rows of before and after in turn."""
    return array.reshape(2 * len(array), *array.shape[2:])
