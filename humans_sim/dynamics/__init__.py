# SPDX-License-Identifier: Apache-2.0
"""Dynamics with contact, impact, friction and joint limits."""

from humans_sim.core.errors import RunFileError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import CommandWithNextCall, Controller, ControlState
from humans_sim.dynamics.problems import GeneralSystem
from humans_sim.dynamics.pushes import Push
from humans_sim.dynamics.simulation import Simulation, SimulationError
from humans_sim.results.records import ContactTable, Event
from humans_sim.results.run import Run, load_run

__all__ = [
    "Actuation",
    "CommandWithNextCall",
    "ContactTable",
    "ControlState",
    "Controller",
    "Event",
    "GeneralSystem",
    "Push",
    "Run",
    "RunFileError",
    "Simulation",
    "SimulationError",
    "load_run",
]
