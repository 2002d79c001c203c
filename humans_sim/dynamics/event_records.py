# SPDX-License-Identifier: Apache-2.0
"""The events of contacts, as they are recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.contact.problem.impact import Impact
from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK
from humans_sim.results import events as kinds
from humans_sim.results.contact_table import LIMIT, ContactTable
from humans_sim.results.events import Event


def mode_events(
    t: float, table: ContactTable, old: np.ndarray, new: np.ndarray
) -> list[Event]:
    """An event for each contact whose mode changed.

    Args:
        t: when [s].
        table: the contacts.
        old: their modes before (nc,).
        new: their modes after (nc,).
    """
    return [
        _mode_event(t, table, int(i), int(old[i]), int(new[i]))
        for i in np.flatnonzero(old != new)
    ]


def mode_change_events(changes: np.ndarray, table: ContactTable) -> list[Event]:
    """An event for each row of changes: time [s], contact, mode before and after."""
    return [
        _mode_event(t, table, int(i), int(old), int(new))
        for t, i, old, new in changes.tolist()
    ]


def _mode_event(
    t: float, table: ContactTable, contact: int, old: int, new: int
) -> Event:
    if table.kinds[contact] == LIMIT:
        kind = kinds.LIMIT_LEFT if new == OPEN else kinds.LIMIT_REACHED
    elif new == OPEN:
        kind = kinds.CONTACT_OPENED
    elif old == OPEN:
        kind = kinds.CONTACT_CLOSED
    else:
        kind = kinds.STICK if new == STICK else kinds.SLIP
    text = {OPEN: "open", STICK: "sticks", SLIDE: "slides"}[new]
    return Event(t, kind, table.names[contact], {"text": text})


def impact_event(
    t: float,
    names: Sequence[str],
    mass: np.ndarray,
    before: np.ndarray,
    impact: Impact,
    reason: str = "",
) -> Event:
    """The event of an impact, with its energy balance, and its reason if unusual."""
    after = impact.velocity
    pushed = [n for n, p in zip(names, impact.impulses, strict=True) if p[0] > 0]
    detail: dict[str, float | str] = {
        "energy_before [J]": float(0.5 * before @ mass @ before),
        "energy_after [J]": float(0.5 * after @ mass @ after),
        "work_of_impulses [J]": impact.work,
    }
    if reason:
        detail["reason"] = reason
    if impact.restitution_factor < 1.0:
        detail["restitution_factor"] = impact.restitution_factor
    for name, impulse in zip(names, impact.impulses, strict=True):
        if impulse[0] > 0:
            detail[f"normal_impulse {name} [N s]"] = float(impulse[0])
    return Event(t, kinds.IMPACT, ",".join(pushed), detail)
