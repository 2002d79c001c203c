# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.core.errors import RunFileError as RunFileError
from humans_sim.dynamics.actuation_interface import Actuation as Actuation
from humans_sim.dynamics.controller import CommandWithNextCall as CommandWithNextCall
from humans_sim.dynamics.controller import Controller as Controller
from humans_sim.dynamics.controller import ControlState as ControlState
from humans_sim.dynamics.problems import GeneralSystem as GeneralSystem
from humans_sim.dynamics.pushes import Push as Push
from humans_sim.dynamics.simulation import Simulation as Simulation
from humans_sim.dynamics.simulation import SimulationError as SimulationError
from humans_sim.results.records import ContactTable as ContactTable
from humans_sim.results.records import Event as Event
from humans_sim.results.run import Run as Run
from humans_sim.results.run import load_run as load_run
