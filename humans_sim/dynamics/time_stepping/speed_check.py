# SPDX-License-Identifier: Apache-2.0
"""Steps that turn further than their coordinates reach are refused."""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.system import System


def check_speed(
    system: System, chart: Chart, x: np.ndarray, v: np.ndarray, h: float
) -> None:
    """Refuse velocities that are no numbers, or turn too far in a step.

    Args:
        system: that moves.
        chart: coordinates of the step.
        x: in the chart at its end.
        v: velocity at its end.
        h: length of the step [s].

    Raises:
        StepError: they are; it names the fastest joint.
    """
    if np.isfinite(v).all() and not chart.worn(x):
        return
    worst = int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf)))
    raise StepError(
        f"velocities grow beyond bounds ({system.velocity_names[worst]} "
        f"{v[worst]:.3g}): the torques are too stiff for a step of {h:g} s; "
        "shorten time_step, lower gains and damping, or add the rotor inertia of "
        "the drives"
    )
