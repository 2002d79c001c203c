# SPDX-License-Identifier: Apache-2.0
"""Controllers that see whole samples, and what they bring to a simulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.dynamics.system import System
from humans_sim.models import Model
from humans_sim.results.sample import Sample


class SampleController(ABC):
    """A controller that looks at whole samples: contacts and forces, too.

    Attributes:
        period: sampling period for which it is made [s], or None for any; known once
            it is attached.
    """

    period: float | None = None

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Arguments of a simulation that hold where it is given none.

        Of ``ground``, ``method``, ``time_step``, ``contacts`` and ``radii``; none
        unless a child says otherwise.

        Args:
            model: the biped that is simulated.
        """
        return {}

    def start(self) -> np.ndarray | None:
        """The configuration in which it wants to start, or None for any."""
        return None

    @abstractmethod
    def attach(self, system: System) -> None:
        """Called once by the simulation that is to be controlled."""

    @abstractmethod
    def command(self, sample: Sample) -> np.ndarray:
        """The command for the actuation at a sampling time."""
