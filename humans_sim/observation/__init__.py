# SPDX-License-Identifier: Apache-2.0
"""Observation: where a body is, from what its sensors say."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from humans_sim.observation.base.observer import (
        BaseEstimate,
        BaseObserver,
        ObservationError,
    )

# Loaded when first used: who reads markers need not wait for the simulation.
_LATER = {
    "BaseEstimate": "base.observer",
    "BaseObserver": "base.observer",
    "ObservationError": "base.observer",
}


def __getattr__(name: str) -> Any:
    """Import a part at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    member = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = member
    return member


__all__ = ["BaseEstimate", "BaseObserver", "ObservationError"]
