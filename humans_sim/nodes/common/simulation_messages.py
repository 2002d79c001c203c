# SPDX-License-Identifier: Apache-2.0
"""A simulation as messages of humans_msgs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from humans_msgs.msg import ContactStates, SimulationEvent

from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.nodes.common.conversions import filled, time_of
from humans_sim.results import ros_files
from humans_sim.results.records import Event


def contact_states(
    stamp: Any,
    frame: str,
    soles: Soles,
    points: PointContacts,
    loads: Iterable[SoleLoad],
) -> ContactStates:
    """ContactStates message."""
    header = ros_files.head(stamp, frame)
    fields = ros_files.contact_states(header, soles, points, loads)
    return filled(ContactStates(), fields)


def simulation_event(event: Event) -> SimulationEvent:
    """SimulationEvent message of an event."""
    stamp = time_of(round(event.time * 1e9))
    return filled(SimulationEvent(), ros_files.event_message(event, stamp))
