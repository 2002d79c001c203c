# SPDX-License-Identifier: Apache-2.0
"""The event-driven method for a model whose joints have dry friction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.control_clock import ControlClock
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.event_driven.braked_system import BrakedActuation, BrakedSystem
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.state import State
from humans_sim.dynamics.stepper import Options, Stepper
from humans_sim.dynamics.system import System
from humans_sim.results.event_states import EventState
from humans_sim.results.events import CONTACT_CLOSED
from humans_sim.results.sample import Sample

_TURN = 10.0
"""Speed that the friction of a joint may take from it in one trial step [rad/s]."""


def event_stepper_of(system: System) -> type[Stepper]:
    """What advances a system by the event-driven method.

    Raises:
        ParameterError: the system has a law that the method does not know.
    """
    if not isinstance(system, ModelSystem):
        return EventStepper
    if system.turning_friction:
        raise ParameterError(
            "rolling and torsional friction of the ground need method='time_stepping'"
        )
    if system.ground.surface is not None and system.rubbing_joints.size:
        raise ParameterError(
            "a ground that gives way under joints with dry friction needs "
            "method='time_stepping' (or joint_friction=False)"
        )
    return BrakedStepper if system.rubbing_joints.size else EventStepper


class BrakedStepper(Stepper):
    """Advances a model with brake shoes on its joints, and shows the model alone.

    Args:
        system: a model in its scene.
        actuation: what drives it.
        options: how to integrate.
        t: where to start [s].
        q: configuration at the start.
        v: velocity at the start.
        control: when a controller commands the actuation, or None.

    Attributes:
        inner: what advances the model with its shoes.
    """

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        control: ControlClock | None = None,
    ) -> None:
        """Start at (t, q, v), the shoes on their joints."""
        assert isinstance(system, ModelSystem)
        self.system, self.actuation, self.options = system, actuation, options
        self.control = control
        self._braked = braked = BrakedSystem(system)
        start = braked.with_shoes(np.array(q, float), np.array(v, float))
        clock = None if control is None else _ModelClock(braked, control)
        # Past the end of sliding a trial step goes on with the old friction; a long one
        # would give light joints speeds without bounds.
        longest = min(options.max_step, _TURN / braked.largest_deceleration(start[0]))
        self.inner = EventStepper(
            braked,
            BrakedActuation(braked, actuation),
            replace(options, max_step=longest),
            t,
            *start,
            clock,
        )
        self.loads = self.inner.loads
        # The shoes were there before: what they do at the start is no event.
        shoes = braked.contacts.names[len(system.contacts) :]
        self.state.events = [
            event
            for event in self.state.events
            if event.kind != CONTACT_CLOSED or event.subject not in shoes
        ]

    @property
    def state(self) -> State:  # type: ignore[override]
        """Where the model with its shoes is."""
        return self.inner.state

    @property
    def q(self) -> np.ndarray:
        """Configuration."""
        return self.inner.q[: self.system.nq]

    @property
    def v(self) -> np.ndarray:
        """Velocity."""
        return self.inner.v[: self.system.nv]

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        return self.inner.mode[: len(self.system.contacts)]

    @property
    def event_states(self) -> list[EventState]:
        """States before and after events; shoes are events, too."""
        nq, nv, nc = self.system.nq, self.system.nv, len(self.system.contacts)
        return [
            state._replace(
                q=state.q[:nq],
                v=state.v[:, :nv],
                torques=state.torques[:, :nv],
                impulse=state.impulse[:nv],
                correction=state.correction[:nv],
                touches=state.touches[state.touches[:, 0] < nc],
            )
            for state in self.inner.event_states
        ]

    def keep_event_states(self) -> None:
        """From now on."""
        self.inner.keep_event_states()

    @property
    def evaluations(self) -> int:
        """How often the right-hand side was evaluated."""
        return self.inner.evaluations

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        return _model_sample(self._braked, self.inner.sample())

    def acceleration(self) -> np.ndarray:
        """Rates of v (nv,)."""
        return self.inner.acceleration()[: self.system.nv]

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.inner.command(command)

    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link; an impact decides the contacts anew."""
        self.inner.push(link, point, impulse, duration)

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Integrate to ``t_end``, handling every event on the way."""
        self.inner.advance(t_end, bound)

    def next_event(self) -> float:
        """Time of the next event of controller or actuation known in advance [s]."""
        return self.inner.next_event()

    def handle_events(self, fired: np.ndarray | None = None) -> None:
        """Call the controller where it is due, then handle events of the actuation."""
        self.inner.handle_events(fired)


class _ModelClock(ControlClock):
    """Lets a clock see the model without shoes."""

    def __init__(self, system: BrakedSystem, clock: ControlClock) -> None:
        self._system, self._clock = system, clock

    @property
    def next_call(self) -> float:  # type: ignore[override]
        return self._clock.next_call

    def start(self, t: float) -> None:
        self._clock.start(t)

    def show(self, t: float, state: ControlState) -> None:
        self._clock.show(t, state)

    def tick(
        self, t: float, state: ControlState, send: Callable[[float, Any], None]
    ) -> None:
        system = self._system

        def acceleration() -> np.ndarray | None:
            rates = state.acceleration
            return None if rates is None else rates[: system.inner.nv]

        own = system.inner_state(state.q, state.v)
        shown = ControlState(
            *own, state.z, lambda: _model_sample(system, state.sample), acceleration
        )
        self._clock.tick(t, shown, send)


def _model_sample(system: BrakedSystem, sample: Sample) -> Sample:
    """The part of a sample that is the model's."""
    inner = system.inner
    nc = len(inner.contacts)
    return sample._replace(
        q=sample.q[: inner.nq],
        v=sample.v[: inner.nv],
        torques=sample.torques[: inner.nv],
        contacts=sample.contacts[:nc],
        forces=sample.forces[:nc],
        gaps=sample.gaps[:nc],
    )
