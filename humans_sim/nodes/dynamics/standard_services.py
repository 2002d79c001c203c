# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces, where that package is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics


def make_standard_services(node: Dynamics) -> None:
    """Serve them, or say why not."""
    try:
        from humans_sim.nodes.dynamics.entity_services import EntityServices
        from humans_sim.nodes.dynamics.simulation_services import SimulationServices
    except ImportError as error:
        node.get_logger().warning(
            f"the standard services are left out, simulation_interfaces is not "
            f"installed: {error}"
        )
        return
    SimulationServices(node, EntityServices(node).remove_spawned)
