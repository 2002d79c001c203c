# SPDX-License-Identifier: Apache-2.0
"""The table of a model's contacts: its points with solids, its joints with limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.results.contact_table import LIMIT, POINT, ContactTable


def contact_table(
    ground: Ground,
    points: Sequence[str],
    limits: Sequence[str],
    limit_restitution: float,
) -> ContactTable:
    """Each point with each solid, then the limits.

    Args:
        ground: the scene.
        points: names of the contact points.
        limits: names of the limits.
        limit_restitution: Newton's coefficient of a joint at its limit.
    """
    names = [
        name if len(ground.solids) == 1 else f"{name}/{solid.name}"
        for name in points
        for solid in ground.solids
    ]
    count, ends = len(names), len(limits)
    friction = np.tile(ground.frictions(), len(points))
    return ContactTable.of(
        names=(*names, *limits),
        kinds=(POINT,) * count + (LIMIT,) * ends,
        tangents=np.array([2] * count + [0] * ends),
        friction=np.concatenate([friction, np.zeros(ends)]),
        restitution=np.array([ground.restitution] * count + [limit_restitution] * ends),
    )
