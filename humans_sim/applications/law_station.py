# SPDX-License-Identifier: Apache-2.0
"""The controller of a scenario beside its mechanics: states in, commands out.

What the node ``scenario_law`` does with each state of the body; it knows no ROS.
Controllers that follow a motion by torques, stimulate muscles or command servos are
served alike: a command has numbers for joints (or motors) by their names, pulses for
muscles, or both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import (
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
    Servo,
)
from humans_sim.actuation.delayed_actuation import DelayedActuation
from humans_sim.actuation.joint_groups import EFFORT, POSITION
from humans_sim.applications.scenarios import Scenario
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlClock, ControlState

_SAME = 1e-9
"""Times this near are one: stamps are rounded to nanoseconds [s]."""


class LawCommand(NamedTuple):
    """The command of a law at one state.

    Attributes:
        values: of the joints or motors, in the order of :attr:`LawStation.names`
            [N m, V or rad]; held until the next.
        charges: a pulse for each muscle, zero for none (nmuscles,) [A s]; None where
            no muscle has one now.
    """

    values: np.ndarray
    charges: np.ndarray | None


class LawStation:
    """The controller of a scenario, called with states that come from elsewhere.

    Args:
        scenario: of a biped model, with a controller that sees the true state.

    Attributes:
        start: configuration in which the scenario starts (nq,).
        period: time between two commands [s].
        names: joints or motors that it commands; none where muscles do everything.
        field: what their numbers are, ``effort`` or ``position``.
        muscles: what it stimulates, or None.
        joints: those that no muscle drives.
        drives: of the scenario's own simulation.

    Raises:
        ParameterError: the scenario has no controller, or one that needs more than
            joints, base and muscles.
    """

    def __init__(self, scenario: Scenario) -> None:
        if scenario.model is None or scenario.has_bodies:
            raise ParameterError(f"{scenario.name} is no scenario of one biped alone")
        simulation, self.start, _ = scenario.prepare()
        if simulation.controller is None:
            raise ParameterError(f"the scenario '{scenario.name}' has no controller")
        if simulation.sensors:
            raise ParameterError(
                f"the controller of '{scenario.name}' sees sensors; the node task_law "
                "takes those of Bip"
            )
        self.model = simulation.system.model
        actuation = simulation.actuation
        parts: tuple[Actuation, ...] = (actuation,)
        if isinstance(actuation, CompositeActuation):
            parts = actuation.parts
        self.drives = tuple(
            part for part in parts if isinstance(part, DelayedActuation)
        )
        self._composite = isinstance(simulation.actuation, CompositeActuation)
        bent: tuple[str, ...] = ()
        named: tuple[str, ...] = ()
        self.muscles: FesMuscles | None = None
        self.field = EFFORT
        for part in self.drives:
            if isinstance(part, FesMuscles):
                self.muscles, bent = part, part.joint_names
            elif not named:
                named = _names(scenario.name, part)
                self.field = POSITION if isinstance(part, Servo) else EFFORT
            else:
                raise ParameterError(f"{scenario.name}: two kinds of drives on joints")
        self._free = [k for k, name in enumerate(named) if name not in bent]
        self.names = tuple(named[k] for k in self._free)
        self.joints = tuple(n for n in self.model.joint_names if n not in bent)
        self.period = float(simulation.control_period or scenario.sampling_period)
        self._clock = ControlClock(simulation.controller, self.period)
        self._t, self._command = -math.inf, self._nothing()

    def _nothing(self) -> LawCommand:
        return LawCommand(np.zeros(len(self.names)), None)

    def command(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        muscle_states: Mapping[str, tuple[float, float]] | None = None,
    ) -> LawCommand:
        """The command at a state; the same again for the same time.

        Args:
            t: of the state [s]; where it goes back, it begins anew.
            q: configuration (nq,).
            v: velocity (nv,).
            muscle_states: stiffness [N/m] and force [N] of the contractile part of
                each muscle, by its name; wanted where there are muscles.

        Raises:
            ParameterError: a muscle is missing.
            HumansError: the controller has no command at this state.
        """
        if abs(t - self._t) < _SAME:
            return self._command
        if t < self._t or math.isinf(self._t):
            self._clock.start(t)
            self._command = self._nothing()
        self._command = self._command._replace(charges=None)
        state = ControlState(q, v, self._states(muscle_states))
        due = self._clock.next_call
        # The controller is called at its own time, not at the rounded one.
        self._clock.tick(due if abs(due - t) < _SAME else t, state, self._take)
        self._t = t
        return self._command

    def _states(self, given: Mapping[str, tuple[float, float]] | None) -> np.ndarray:
        """States z of the actuation: those of muscles, all that there are."""
        if self.muscles is None:
            return np.zeros(0)
        names, given = self.muscles.muscle_names, given or {}
        missing = [name for name in names if name not in given]
        if missing:
            raise ParameterError(f"the state of the muscle '{missing[0]}' is missing")
        return np.array([given[name] for name in names]).T.ravel()

    def _take(self, t: float, command: Any) -> None:
        """Keep what the controller commands."""
        whole = command if self._composite else [command]
        values, charges = self._command
        for part, own in zip(self.drives, whole, strict=True):
            if own is None:
                continue
            if part is self.muscles:
                charges = np.asarray(own, dtype=float)
            else:
                values = np.asarray(own, dtype=float)[self._free]
        self._command = LawCommand(values, charges)


def _names(scenario: str, drives: DelayedActuation) -> tuple[str, ...]:
    """Names in a command of drives; refuses those with states that no topic has."""
    if isinstance(drives, IdealTorque | Servo | ScrewDriveMotors) and not drives.nz:
        return tuple(drives.names)
    raise ParameterError(
        f"{scenario}: drives of the kind {type(drives).__name__} have states that no "
        "topic has"
    )
