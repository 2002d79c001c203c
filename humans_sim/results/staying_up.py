# SPDX-License-Identifier: Apache-2.0
"""Whether a robot that was to stay on its feet did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from humans_sim.core.row_blocks import row_blocks
from humans_sim.models.soles import tag_of

if TYPE_CHECKING:
    from humans_sim.results.run import Run

FALL_TILT = math.radians(35.0)
"""Tilt of the base from the vertical beyond which a body has fallen [rad]."""
LOW = 0.5
"""Height of the base below which it has fallen, in heights at the start."""


class Fall(NamedTuple):
    """How near to a fall a run came.

    Attributes:
        tilt: of the base, the largest, from its tilt at the start [rad].
        where: when that was, or how it fell.
        fallen: whether it did.
    """

    tilt: float
    where: str
    fallen: bool


def fall_of(run: Run) -> Fall:
    """Whether a biped fell: it tilted, its base sank, or its body touched the ground.

    The body is what of it touches beside its tags, on links without tags that touch.
    """
    height, up = run.q[0, 2], _upwards(run.q[:1])[0]
    feet = _links_on_feet(run)
    body = {
        name: k
        for k, name in enumerate(run.table.names)
        if tag_of(name) in (record := run.info.get("features", {}))
        and str(record[tag_of(name)][0]) not in feet
    }
    columns = list(body.values())
    tilt, when = 0.0, float(run.t[0])
    for rows in row_blocks(run.q, run.contacts):
        angle = np.arccos(np.clip(_upwards(run.q[rows]) @ up, -1.0, 1.0))
        k = int(np.argmax(angle))
        if angle[k] > tilt:
            tilt, when = float(angle[k]), float(run.t[rows.start + k])
        low = np.flatnonzero(run.q[rows, 2] < LOW * height)
        touch = np.argwhere(run.contacts[rows][:, columns] != 0)
        if len(touch):
            time = run.t[rows.start + touch[0, 0]]
            name = run.table.names[columns[touch[0, 1]]]
            return Fall(tilt, f"{name} touched at {time:.6g} s", True)
        if len(low):
            time = run.t[rows.start + low[0]]
            return Fall(tilt, f"the base was low at {time:.6g} s", True)
    return Fall(tilt, f"base at {when:.6g} s", tilt > FALL_TILT)


def _upwards(q: np.ndarray) -> np.ndarray:
    """The base's own vertical in the world (n, 3)."""
    x, y, z, w = q[:, 3:7].T
    return np.column_stack(
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    )


def _links_on_feet(run: Run) -> set[str]:
    """Links that carry soles: what of them touches is no fall."""
    from humans_sim.results.record import recorded_model

    model = recorded_model(run.info)
    tags = {tag.name: tag.link for tag in model.parts.tags}
    touching = {tag_of(name) for name in run.table.names}
    return {link for name, link in tags.items() if name in touching}
