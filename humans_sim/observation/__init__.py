"""Observation: where a body is, from what its sensors say."""

from humans_sim.observation.base import BaseEstimate, BaseObserver
from humans_sim.observation.compare import ObservedRun, observe_run
from humans_sim.observation.measurements import ObservationError

__all__ = [
    "BaseEstimate",
    "BaseObserver",
    "ObservationError",
    "ObservedRun",
    "observe_run",
]
