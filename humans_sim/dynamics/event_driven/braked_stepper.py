# SPDX-License-Identifier: Apache-2.0
r"""The event-driven method for a model whose joints have dry friction.

Dry friction is a contact: a brake shoe on each joint. A shoe of mass m rests on the
joint by its weight, which is the dry friction c of the joint: :math:`m g = c`, with a
coefficient of friction of one. It can lift off the joint by a coordinate of its own,
but nothing ever makes it: its normal force is c, so the joint is held by anything up to
c and slides against c. That is the set-valued law :math:`r \in c
\operatorname{Sgn}(\dot q)` without rounding off, and events of sticking and sliding
come with it. In an impact the shoe gives no impulse, as a friction torque of finite
size must not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation, PartActuation
from humans_sim.dynamics.controller import ControlClock, ControlState
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.stepper import Options, Stepper
from humans_sim.dynamics.system import (
    EVENT_DRIVEN,
    Chart,
    State,
    System,
    Terms,
    closing_terms,
)
from humans_sim.results.event_states import EventState
from humans_sim.results.records import CONTACT_CLOSED, ContactTable, Sample

SHOE = "shoe"
"""Kind of the contact of a shoe with its joint."""


class BrakedChart:
    """Coordinates of the model, then the heights of the shoes."""

    def __init__(self, chart: Chart, heights: np.ndarray) -> None:
        self._chart, self._heights = chart, heights

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(x) - len(self._heights)
        return x[:n], x[n:]

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        own, lifted = self._split(x)
        return np.concatenate([self._chart.configuration(own), self._heights + lifted])

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        own, lifting = self._split(v)
        return np.concatenate([self._chart.rates(self._split(x)[0], own), lifting])

    def worn(self, x: np.ndarray) -> bool:
        """Whether the model's coordinates are."""
        return self._chart.worn(self._split(x)[0])


class BrakedSystem:
    """A model whose joints with dry friction have brake shoes.

    Contacts are those of the model, then a shoe for each joint; configurations and
    velocities likewise.
    """

    methods: tuple[str, ...] = (EVENT_DRIVEN,)

    def __init__(self, inner: ModelSystem) -> None:
        self.inner, self._joints = inner, inner.rubbing_joints
        self._weight = inner.dissipation.friction[self._joints]
        names = [inner.velocity_names[j] for j in self._joints]
        shoes = len(names)
        self.name = inner.name
        self.nq, self.nv = inner.nq + shoes, inner.nv + shoes
        lifts = tuple(f"{name}/shoe" for name in names)
        self.position_names = (*inner.position_names, *lifts)
        self.velocity_names = (*inner.velocity_names, *lifts)
        self.locked, self.thinnest = inner.locked, inner.thinnest
        table = inner.contacts
        self._count = len(table)
        self.contacts = ContactTable.of(
            names=(*table.names, *(f"{name}/friction" for name in names)),
            kinds=(*table.kinds, *(SHOE,) * shoes),
            tangents=np.concatenate([table.tangents, np.ones(shoes, dtype=np.int64)]),
            friction=np.concatenate([table.friction, np.ones(shoes)]),
            restitution=np.concatenate([table.restitution, np.zeros(shoes)]),
        )

    def inner_state(
        self, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity of the model alone."""
        return q[: self.inner.nq], v[: self.inner.nv]

    def largest_deceleration(self, q: np.ndarray) -> float:
        """Largest deceleration of the joints by dry friction alone [rad/s^2]."""
        terms = self.terms(q, np.zeros(self.nv), np.zeros(0, dtype=np.int64))
        mobility = np.diag(np.linalg.inv(terms.mass))[self._joints]
        return float((self._weight * mobility).max())

    def chart(self, q: np.ndarray) -> BrakedChart:
        """Coordinates around a configuration."""
        n = self.inner.nq
        return BrakedChart(self.inner.chart(q[:n]), np.array(q[n:]))

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""
        self.inner.check_state(*self.inner_state(q, v))

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        own = which < self._count
        terms = self.inner.terms(*self.inner_state(q, v), which[own])
        n = self.inner.nv
        mass = np.zeros((self.nv, self.nv))
        mass[:n, :n] = terms.mass
        mass[range(n, self.nv), range(n, self.nv)] = self._weight / GRAVITY
        gap, drift = np.zeros(len(which)), np.zeros((len(which), 3))
        rows = np.zeros((len(which), 3, self.nv))
        gap[own], drift[own] = terms.gap, terms.drift
        rows[own, :, :n] = terms.jacobian
        mine, shoe = np.flatnonzero(~own), which[~own] - self._count
        rows[mine, 0, n + shoe] = 1.0
        rows[mine, 1, self._joints[shoe]] = 1.0
        gap[mine] = q[self.inner.nq + shoe]
        return Terms(mass, np.concatenate([terms.bias, self._weight]), gap, rows, drift)

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        return closing_terms(self, q, v, time, closed)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        n = self.inner.nq
        return np.concatenate([self.inner.gaps(q[:n]), q[n:]])

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates [m, m/s; rad, rad/s]."""
        gap, rate = self.inner.gap_rates(*self.inner_state(q, v))
        heights, lifting = q[self.inner.nq :], v[self.inner.nv :]
        return np.concatenate([gap, heights]), np.concatenate([rate, lifting])

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy of the model [J]."""
        return self.inner.energies(*self.inner_state(q, v))

    def point_force(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link (nv,)."""
        own = self.inner.point_force(q[: self.inner.nq], link, point, force)
        return np.concatenate([own, np.zeros(len(self._joints))])


_TURN = 10.0
"""Speed that the friction of a joint may take from it in one trial step [rad/s]."""


def event_stepper_of(system: System) -> type[Stepper]:
    """The event-driven stepper of a system; refuses laws that it does not know."""
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
        assert isinstance(system, ModelSystem)
        self.system, self.actuation, self.options = system, actuation, options
        self.control = control
        self._braked = braked = BrakedSystem(system)
        rest = np.zeros(braked.nv - system.nv)  # all shoes on their joints
        start = np.concatenate([q, rest]), np.concatenate([v, rest])
        clock = None if control is None else _ModelClock(braked, control)
        # Past the end of sliding a trial step goes on with the old friction; a long one
        # would give light joints speeds without bounds.
        longest = min(options.max_step, _TURN / braked.largest_deceleration(start[0]))
        self.inner = EventStepper(
            braked,
            PartActuation(actuation, system.nq, system.nv, len(rest)),
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
