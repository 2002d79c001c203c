# SPDX-License-Identifier: Apache-2.0
"""Simulate, observe and drive bipeds: humans and robots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from humans_sim.core.errors import (
    ConfigurationError,
    HumansError,
    MissingDependencyError,
    ModelFileError,
    ParameterError,
    UnknownModelError,
)
from humans_sim.core.version import __version__ as __version__

if TYPE_CHECKING:
    from humans_sim.applications.reconstruction import reconstruct
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
    from humans_sim.models import Model, load_model
    from humans_sim.observation.markers.marker_set import load_marker_set
    from humans_sim.observation.markers.read import read_markers
    from humans_sim.observation.posture.calibrate import calibrate
    from humans_sim.observation.posture.result_file import load_reconstruction
    from humans_sim.observation.posture.subject import load_subject
    from humans_sim.view.film.animation import animate

# Loaded when first used: a program must handle signals before large libraries load, and
# `humans-sim --help` need not wait for them.
_LATER = {
    "Actuation": "dynamics",
    "Box": "contact",
    "ContactTable": "dynamics",
    "Event": "dynamics",
    "GeneralSystem": "dynamics",
    "Ground": "contact",
    "HalfSpace": "contact",
    "Model": "models",
    "Push": "dynamics",
    "Run": "dynamics",
    "RunFileError": "dynamics",
    "Simulation": "dynamics",
    "SimulationError": "dynamics",
    "animate": "view.film.animation",
    "calibrate": "observation.posture.calibrate",
    "load_marker_set": "observation.markers.marker_set",
    "load_model": "models",
    "load_reconstruction": "observation.posture.result_file",
    "load_run": "dynamics",
    "load_subject": "observation.posture.subject",
    "read_markers": "observation.markers.read",
    "reconstruct": "applications.reconstruction",
}


def __getattr__(name: str) -> Any:
    """Import a part of the library at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module 'humans_sim' has no attribute '{name}'")
    found = getattr(import_module(f"humans_sim.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """All names, also of what is not loaded yet."""
    return sorted({*globals(), *_LATER})


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
    "calibrate",
    "load_marker_set",
    "load_model",
    "load_reconstruction",
    "load_run",
    "load_subject",
    "read_markers",
    "reconstruct",
]
