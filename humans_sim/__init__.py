"""Simulate, observe and drive bipeds: humans and robots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from humans_sim.errors import (
    ConfigurationError,
    HumansError,
    MissingDependencyError,
    ModelFileError,
    ParameterError,
    UnknownModelError,
)
from humans_sim.models import Model, load_model

if TYPE_CHECKING:
    from humans_sim.contact import Box, Ground, HalfSpace
    from humans_sim.dynamics import (
        Actuation,
        ContactTable,
        Event,
        GeneralSystem,
        Push,
        Run,
        RunFileError,
        Simulation,
        SimulationError,
        load_run,
    )
    from humans_sim.view.animation import animate

__version__ = "0.1.0"

# Loaded when first used: they compile kernels, which `humans-sim --help` need not wait
# for.
_LATER = {
    "Actuation": "dynamics",
    "Box": "contact",
    "ContactTable": "dynamics",
    "Event": "dynamics",
    "GeneralSystem": "dynamics",
    "Ground": "contact",
    "HalfSpace": "contact",
    "Push": "dynamics",
    "Run": "dynamics",
    "RunFileError": "dynamics",
    "Simulation": "dynamics",
    "SimulationError": "dynamics",
    "animate": "view.animation",
    "load_run": "dynamics",
}


def __getattr__(name: str) -> Any:
    """Import a part of the library at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module 'humans_sim' has no attribute '{name}'")
    found = getattr(import_module(f"humans_sim.{_LATER[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "Actuation",
    "Box",
    "ConfigurationError",
    "ContactTable",
    "Event",
    "GeneralSystem",
    "Ground",
    "HalfSpace",
    "HumansError",
    "MissingDependencyError",
    "Model",
    "ModelFileError",
    "ParameterError",
    "Push",
    "Run",
    "RunFileError",
    "Simulation",
    "SimulationError",
    "UnknownModelError",
    "animate",
    "load_model",
    "load_run",
]
