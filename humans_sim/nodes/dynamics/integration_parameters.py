# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics`` for how it integrates: laws and tolerances.

Nothing here knows ROS: ``given`` is what declares parameters of a node, the nodes'
``Parameters``.
"""

from __future__ import annotations

from typing import Any

from humans_sim.contact.problem.impact import LAWS
from humans_sim.dynamics import integrators
from humans_sim.dynamics.simulation import METHODS

_TOLERANCES = {
    "rtol": "relative tolerance of the integrator",
    "atol": "absolute tolerance of the integrator [m, rad, m/s, rad/s]",
    "max_step": "largest step of the integrator [s]",
    "max_work": "evaluations that 10 ms of motion may take",
    "zeno_time": "impacts of one contact closer than this pile up [s]",
    "zeno_speed": "if they are slower than this, too [m/s]",
    "creep_speed": "speed below which friction is less than Coulomb's [m/s]",
}


def declare_integration(given: Any, time_step: float) -> dict[str, Any]:
    """Options of a simulation.

    Args:
        given: declares parameters.
        time_step: where none is given [s].

    Raises:
        ParameterError: a value cannot be used.
    """
    number, choice = given.number, given.choice
    options = {
        "method": choice("method", "event_driven", "how to simulate", [*METHODS]),
        "integrator": choice(
            "integrator",
            integrators.AUTOMATIC,
            "of the event-driven method",
            integrators.NAMES,
        ),
        "time_step": number(
            "time_step", time_step, "step of the time-stepping method [s]", 1e-6, 0.1
        ),
        "impact": choice("impact", LAWS[0], "impact law", LAWS),
        "hand_over": given.flag(
            "hand_over", True, "time steps go on where events jam (event_driven)"
        ),
    }
    for name, text in _TOLERANCES.items():
        value = number(name, 0.0, f"{text}; 0: as the integrator has it", 0.0)
        if value:
            options[name] = value
    return options
