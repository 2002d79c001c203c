# SPDX-License-Identifier: Apache-2.0
"""Which gaps may have closed in a step, by its two ends."""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.core.roots import may_dip
from humans_sim.dynamics.event_driven.mode_decision import SPEED

ROOM = 1e-11
"""What the gap of a contact that was touching may be inside before it closes again."""


@kernel
def screen_gaps(closed, start, end, duration):
    """Compare the two ends of a step.

    Args:
        closed: contacts that are closed (k,); they are left out.
        start: gaps (nc,) and their rates (nc,).
        end: the same at the end.
        duration: of the step [s].

    Returns:
        for all contacts, by how much a gap may be below zero; whether it is below at
        the end; whether it is and began by opening; whether it may have been below in
        between; and whether any of these is so.
    """
    gap, rate = start
    count = gap.shape[0]
    is_open = np.ones(count, np.bool_)
    for c in closed:
        is_open[c] = False
    room, low = np.zeros(count), np.empty(count)
    closes, leaves = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    some = False
    for c in range(count):
        low[c] = max(gap[c], 0.0)
        if not (gap[c] > ROOM or rate[c] > SPEED):
            room[c] = ROOM - min(gap[c], 0.0)
        closes[c] = is_open[c] and end[0][c] + room[c] < 0.0
        leaves[c] = closes[c] and gap[c] <= ROOM and rate[c] > SPEED
    dips = may_dip(low, rate, end[0], end[1], duration)
    for c in range(count):
        dips[c] = dips[c] and is_open[c] and not closes[c]
        some = some or closes[c] or dips[c]
    return room, closes, leaves, dips, some
