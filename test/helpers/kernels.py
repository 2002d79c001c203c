# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled before anyone waits for them."""

from __future__ import annotations

from collections.abc import Sequence

from humans_sim.actuation import Servo
from humans_sim.applications.scenarios import read_scenario
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.system import EVENT_DRIVEN, TIME_STEPPING
from humans_sim.models import load_model

METHODS = (EVENT_DRIVEN, TIME_STEPPING)


def compile_kernels(methods: Sequence[str] = METHODS) -> None:
    """Walk and fall a moment: a minute a method, many where processors are emulated."""
    khr1 = load_model("khr1")
    q = khr1.standing(khr1.neutral()[7:])
    q[2] += 0.005
    for method in methods:
        read_scenario("khr1-walk").with_changes(end=0.1, method=method).run()
        Simulation(khr1, Servo(khr1), method=method).run(q, t_end=0.06)
