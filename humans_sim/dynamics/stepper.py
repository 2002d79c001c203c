# SPDX-License-Identifier: Apache-2.0
"""Common parts of both methods, event-driven and time-stepping.

Numerical failures are errors that say what they mean for the motion. Also
configurations without penetration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from humans_sim.contact.geometry.mesh_contact_kernels import ABSENT
from humans_sim.contact.problem.contact_problem import ContactProblemError
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.controller import ControlClock, ControlState
from humans_sim.dynamics.integrators import AUTOMATIC, ROSENBROCK, IntegrationError
from humans_sim.dynamics.system import State, System, TouchingBodies
from humans_sim.results import records as kinds
from humans_sim.results.event_states import EventState
from humans_sim.results.records import Event, Sample

_TOLERATED = 1e-6
"""Penetration that is corrected without a word [m, rad]; more is an error."""
_CORRECTED = 1e-13
_ITERATIONS = 8


def project_out_of_penetration(
    system: TouchingBodies,
    q: np.ndarray,
    closed: np.ndarray | None = None,
    deep: bool = False,
) -> np.ndarray:
    """The nearest configuration (in the mass metric) without penetration."""
    for attempt in range(_ITERATIONS):
        gap = system.gaps(q)
        wrong = gap < 0.0
        if closed is not None:
            wrong[:] = False
            wrong[closed] = (np.abs(gap[closed]) > 0.0) & (gap[closed] < ABSENT)
        if attempt == 0 and not deep and gap.size and gap.min() < -_TOLERATED:
            worst = int(np.argmin(gap))
            table = system.contacts
            raise ConfigurationError(
                f"{table.names[worst]} is {-gap[worst]:.3g} {table.units[worst]} "
                "inside what it may only touch: raise the model or bend its joints"
            )
        if not wrong.any() or np.abs(gap[wrong]).max() <= _CORRECTED:
            return q
        which = np.flatnonzero(wrong)
        terms = system.terms(q, np.zeros(system.nv), which)
        normals = terms.jacobian[:, 0]
        mobility = np.linalg.solve(terms.mass, normals.T)
        impulses = np.linalg.lstsq(normals @ mobility, -terms.gap, rcond=1e-12)[0]
        chart = system.chart(q)
        q = chart.configuration(chart.rates(np.zeros(system.nv), mobility @ impulses))
    return q


SOLES: Mapping[str, float] = {
    "rtol": 1e-4,
    "atol": 3e-6,
    "creep_speed": 3e-5,
    "zeno_speed": 2e-3,
}
"""Options for robots that walk on soles: what matters is above micrometres.

The absolute tolerance is a tenth of the creep speed, so that friction, which follows
velocity there, is known to a tenth. Speeds below ``zeno_speed`` raise a sole by no more
than 0.2 um: an impact between its edges that slow is none.
"""


class StepError(HumansError):
    """The simulation cannot continue from here."""


class ActuationError(StepError):
    """The actuation has no torques at a state: no other method leads past it."""


@dataclass(frozen=True)
class Options:
    """How to integrate.

    Attributes:
        integrator: ``automatic`` (``dop853``, and ``radau`` where motion is stiff),
            ``dop853``, ``radau``, ``rosenbrock`` or ``cvode`` (event-driven); with the
            implicit ones, ``radau``, ``rosenbrock`` and ``cvode``, contacts creep.
        rtol: relative tolerance of the integrator.
        atol: absolute tolerance [m, rad, m/s, rad/s].
        max_step: largest step of the integrator [s]; what comes and goes between the
            stages of one step is not seen.
        impact: impact law, ``inequality`` or ``humans``.
        time_step: step of the time-stepping method [s].
        max_work: evaluations of the right-hand side (an event counts as a hundred) that
            10 ms of motion may take (event-driven).
        zeno_time: impacts of one contact closer than this pile up [s], if also
        zeno_speed: they are slower than this [m/s].
        creep_speed: speed below which friction is less than Coulomb's, with an implicit
            integrator [m/s].
        hand_over: whether time steps, at most a tenth of ``time_step`` long, go on
            where events jam or take more than ``max_work`` (event-driven); each time
            is an event ``hand_over``. Without it the run ends there.
    """

    integrator: str = AUTOMATIC
    rtol: float = 1e-9
    atol: float = 1e-12
    max_step: float = 0.1
    impact: str = "inequality"
    time_step: float = 1e-3
    max_work: float = 5_000
    zeno_time: float = 1e-4
    zeno_speed: float = 1e-4
    creep_speed: float = 1e-6
    hand_over: bool = True

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Options as given; with ``rosenbrock``, those of :data:`SOLES` beside them."""
        defaults = SOLES if given.get("integrator") == ROSENBROCK else {}
        return cls(**{**defaults, **given})

    def __post_init__(self) -> None:
        for name in (
            "rtol",
            "atol",
            "max_step",
            "time_step",
            "zeno_time",
            "zeno_speed",
            "creep_speed",
        ):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ParameterError(f"{name} must be above zero, not {value}")


class Stepper(ABC):
    """A system on its way through time: what both methods offer.

    Args:
        t: where to start [s].
        q: configuration at the start; rounding errors are corrected.
        v: velocity at the start.
        control: when a controller commands the actuation, or None: commands come by
            :meth:`command` alone.
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
        self.system, self.actuation, self.options = system, actuation, options
        self.control = control
        self.loads = AppliedLoads(system, actuation)
        q, v = (
            project_out_of_penetration(system, np.array(q, float)),
            np.array(v, float),
        )
        z = np.asarray(actuation.initialise(float(t), q, v), float)
        self.state = State(float(t), q, v, z)
        if self.loads.reaction is not None:
            self.loads.reaction.start(self.t)
        if control is not None:
            control.start(self.t)
        self._begin()

    def _begin(self) -> None:  # noqa: B027 (a braked stepper wraps another one)
        """Make the parts of the method, and handle what is due at once."""

    @property
    def t(self) -> float:
        """The time reached [s]."""
        return self.state.t

    @property
    def q(self) -> np.ndarray:
        """Configuration."""
        return self.state.q

    @property
    def v(self) -> np.ndarray:
        """Velocity."""
        return self.state.v

    @property
    def z(self) -> np.ndarray:
        """States of the actuation."""
        return self.state.z

    @property
    def events(self) -> list[Event]:
        """Everything that happened so far."""
        return self.state.events

    @property
    def event_states(self) -> Sequence[EventState]:
        """States before and after events; none where nothing is located in time."""
        return ()

    def keep_event_states(self) -> None:  # noqa: B027 (not all methods have them)
        """From now on keep the states before and after events, where there are any."""

    @property
    @abstractmethod
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """How often the equations of motion were evaluated."""

    @abstractmethod
    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""

    @abstractmethod
    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""

    @abstractmethod
    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link at a point [m]: at once, or by a force over a duration."""

    @abstractmethod
    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Go to ``t_end``, handling events; steps may reach up to ``bound``."""

    def set_state(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Begin anew at another state; nothing changes where that is refused."""
        self.system.check_state(q, v)
        start = (t, q, v, self.control)
        fresh = type(self)(self.system, self.actuation, self.options, *start)
        fresh.state.events = [*self.events, Event(t, kinds.RESET), *fresh.events]
        # All parts are new ones that share the new state; none knows its stepper.
        vars(self).update(vars(fresh))

    def control_state(self) -> ControlState:
        """The state that a controller sees now."""
        state = ControlState(self.q, self.v, self.z, self.sample, self.acceleration)
        if self.control is not None:
            self.control.show(self.t, state)
        return state

    def acceleration(self) -> np.ndarray | None:
        """Rates of v (nv,); None where the method knows only means of them."""
        return None

    def next_event(self) -> float:
        """Time of the next event of controller, actuation or surface known now [s]."""
        reaction = self.loads.reaction
        due = self._next_command()
        return due if reaction is None else min(due, reaction.due)

    def _next_command(self) -> float:
        """The same of controller and actuation alone [s]."""
        due = self.actuation.next_time(self.t)
        return due if self.control is None else min(due, self.control.next_call)

    def handle_due_events(self) -> None:
        """Handle the times of controller and actuation that have come."""
        while self.next_event() <= self.t:
            self.handle_events()

    def handle_events(self, fired: np.ndarray | None = None) -> None:
        """Call the controller where it is due, then handle events of the actuation."""
        surface = self.loads.reaction is not None
        if not surface or fired is not None or self._next_command() <= self.t:
            if self.control is not None:
                self.control.tick(self.t, self.control_state(), self.actuation.command)
            self.loads.handle_events(self.state, fired)
        self.loads.update_surface(self.state)

    def with_surface(self, sample: Sample) -> Sample:
        """A sample with the contacts of a surface that gives way, if there is one."""
        reaction = self.loads.reaction
        return sample if reaction is None else reaction.complete(sample)


FAILURES = (StepError, IntegrationError, ContactProblemError)
"""What ends the event-driven method at some state."""
ENDINGS = (*FAILURES, ConfigurationError, ArithmeticError, np.linalg.LinAlgError)
"""What ends a simulation on its way."""


@contextmanager
def typed_failures() -> Iterator[None]:
    """Raise :class:`StepError` in place of what linear algebra raises.

    Only around mechanics: an error of somebody's controller stays what it is.
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise StepError(
            f"the equations of motion cannot be solved ({error}): a chain of joints "
            "has lost a direction (gimbal lock), a body has no mass, or motion became "
            "infinite"
        ) from error
    except ConfigurationError as error:
        raise StepError(str(error)) from error
    except ArithmeticError as error:
        raise StepError(
            f"the forces or the torques are not finite numbers ({error})"
        ) from error
