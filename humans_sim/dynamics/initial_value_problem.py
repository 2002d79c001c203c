# SPDX-License-Identifier: Apache-2.0
"""What an integrator starts with, and the error of one that cannot continue."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from humans_sim.core.errors import HumansError

Rhs = Callable[[float, np.ndarray], np.ndarray]
Derivatives = Callable[[float, np.ndarray], tuple[np.ndarray, np.ndarray]]

WholeStep = Callable[
    [float, np.ndarray, np.ndarray, float, float],
    tuple[float, float, np.ndarray, np.ndarray] | None,
]


class IntegrationError(HumansError):
    """The integrator cannot continue from here."""


class InitialValueProblem(NamedTuple):
    """What an integrator starts with.

    Attributes:
        rhs: the right-hand side, of time and state.
        t: where to start [s].
        y: the state there.
        rtol: relative tolerance.
        atol: absolute tolerance of each state.
        first_step: size of the first step [s]; None leaves it to the integrator.
        derivatives: of the right-hand side by the state and by time, for implicit
            integrators; None leaves them to differences.
        whole_step: a step of the method in one call, where there is one: of time,
            state, its rates, the bound and the size; it returns the time at the end,
            the next size, the state, and its rates (of an explicit method those at all
            stages), or None where the step is to be made stage by stage.
    """

    rhs: Rhs
    t: float
    y: np.ndarray
    rtol: float
    atol: np.ndarray
    first_step: float | None = None
    derivatives: Derivatives | None = None
    whole_step: WholeStep | None = None
