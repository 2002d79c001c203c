"""Simulate, observe and drive bipeds: humans and robots."""

from humans_sim.errors import (
    ConfigurationError,
    HumansError,
    MissingDependencyError,
    ModelFileError,
    ParameterError,
    UnknownModelError,
)
from humans_sim.models import Model, load_model

__version__ = "0.1.0"

__all__ = [
    "ConfigurationError",
    "HumansError",
    "MissingDependencyError",
    "Model",
    "ModelFileError",
    "ParameterError",
    "UnknownModelError",
    "load_model",
]
