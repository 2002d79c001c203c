# SPDX-License-Identifier: Apache-2.0
"""Contacts of a run as messages of an MCAP file, as the node ``dynamics`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.results.ros_messages import WORLD, head, xyz
from humans_sim.results.ros_writer import Message, MessageMaker
from humans_sim.view.browser.run_contacts import RunContacts

CONTACTS = "humans_msgs/ContactStates"


def contact_states(contacts: RunContacts) -> MessageMaker:
    """Contact points and soles of each sample: places, normals, forces in the world."""

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        points = contacts.points(k)
        assert contacts.soles is not None and points is not None
        return {
            "header": head(stamp, WORLD),
            "points": _points(contacts.soles, points),
            "soles": [_sole(load) for load in contacts.loads(k, points)],
        }

    return message


def _points(soles: Soles, points: PointContacts) -> list[dict[str, Any]]:
    return [
        {
            "name": soles.names[row],
            "link_name": soles.links[row],
            "surface": soles.surfaces[row],
            "mode": int(points.mode[k]),
            "gap": float(points.gap[k]),
            "position": xyz(points.position[k]),
            "normal": xyz(points.normal[k]),
            "velocity": xyz(points.velocity[k]),
            "force": xyz(points.force[k]),
        }
        for k, row in enumerate(points.rows)
    ]


def _sole(load: SoleLoad) -> dict[str, Any]:
    return {
        "name": load.name,
        "mode": load.mode,
        "closed_points": load.closed,
        "wrench": {"force": xyz(load.force), "torque": xyz(load.moment)},
        "center_of_pressure": xyz(np.asarray(load.centre_of_pressure)),
    }
