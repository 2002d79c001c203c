# SPDX-License-Identifier: Apache-2.0
"""A simulation as messages of humans_msgs."""

from __future__ import annotations

from collections.abc import Iterable

from humans_msgs.msg import ContactPoint, ContactStates, SimulationEvent, SoleContact

from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.nodes.common.conversions import set_vector, set_wrench, time_of
from humans_sim.results.records import Event


def contact_states(
    soles: Soles, points: PointContacts, loads: Iterable[SoleLoad]
) -> ContactStates:
    """ContactStates message; its header is left to the caller."""
    message = ContactStates()
    for k, row in enumerate(points.rows):
        point = ContactPoint()
        point.name = soles.names[row]
        point.link_name = soles.links[row]
        point.surface = soles.surfaces[row]
        point.mode = int(points.mode[k])
        point.gap = float(points.gap[k])
        set_vector(point.position, points.position[k])
        set_vector(point.normal, points.normal[k])
        set_vector(point.velocity, points.velocity[k])
        set_vector(point.force, points.force[k])
        message.points.append(point)
    for load in loads:
        sole = SoleContact()
        sole.name = load.name
        sole.mode = load.mode
        sole.closed_points = load.closed
        set_wrench(sole.wrench, load.force, load.moment)
        set_vector(sole.center_of_pressure, load.centre_of_pressure)
        message.soles.append(sole)
    return message


def simulation_event(event: Event) -> SimulationEvent:
    """SimulationEvent message of an event."""
    message = SimulationEvent()
    message.header.stamp = time_of(round(event.time * 1e9))
    message.time = float(event.time)
    message.kind = event.kind
    message.subject = event.subject
    message.detail = event.words
    numbers = event.numbers
    message.value_names, message.values = list(numbers), list(numbers.values())
    return message
