# SPDX-License-Identifier: Apache-2.0
"""Dynamics with contact, impact, friction and joint limits."""

from humans_sim.dynamics.events import Event
from humans_sim.dynamics.general_system import GeneralSystem
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.pushes import Push
from humans_sim.dynamics.run import Run, RunFileError, load_run
from humans_sim.dynamics.simulation import Simulation, SimulationError
from humans_sim.dynamics.system import ContactTable

__all__ = [
    "Actuation",
    "ContactTable",
    "Event",
    "GeneralSystem",
    "Push",
    "Run",
    "RunFileError",
    "Simulation",
    "SimulationError",
    "load_run",
]
