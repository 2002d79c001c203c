# SPDX-License-Identifier: Apache-2.0
"""The event-driven method: smooth motion between events, exact laws at them.

How an event comes about, and the part that does it:

1. :class:`~humans_sim.dynamics.event_driven.motion_integrator.MotionIntegrator` makes a
step of the
   right-hand side that
   :class:`~humans_sim.dynamics.event_driven.smooth_motion.SmoothMotion` gives, with the
   contacts as they are.
2. :class:`~humans_sim.dynamics.event_driven.event_search.EventSearch` looks back into
the step.
   Where something happened in it, the first events are located and wait for their time.
3. The state goes to that time, and the step is forgotten.
4. :class:`~humans_sim.dynamics.event_driven.contact_events.ContactEvents` lets
velocities jump and
   decides which contacts stick, slide or open; the actuation handles its own events.
5. The integrator starts again from there.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.contact_problem import ContactProblemError
from humans_sim.contact.problem.modes import OPEN
from humans_sim.core.errors import HumansError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.applied_loads import record_push
from humans_sim.dynamics.control_clock import ControlClock
from humans_sim.dynamics.event_driven.contact_events import NO_CONTACTS, ContactEvents
from humans_sim.dynamics.event_driven.event_search import DetectedEvents, EventSearch
from humans_sim.dynamics.event_driven.motion_integrator import MotionIntegrator
from humans_sim.dynamics.event_driven.smooth_motion import FORCE, SmoothMotion
from humans_sim.dynamics.event_driven.work_budget import WorkBudget
from humans_sim.dynamics.integrators import IntegrationError
from humans_sim.dynamics.stepper import Options, StepError, Stepper
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.impulse_steps import ImpulseSteps
from humans_sim.results import events as kinds
from humans_sim.results.events import Event
from humans_sim.results.sample import Sample

_ADMISSIBLE = -1e-10
"""Margin from which on the forces of a sample are given as they are [N]."""


_HAND_OVER = 5
"""Time steps of a hand-over, where events jam."""
_MOST_HAND_OVERS = 100


class EventStepper(Stepper):
    """Integrates from event to event.

    Args:
        system: what moves.
        actuation: what drives it.
        options: how to integrate.
        t: where to start [s].
        q: configuration at the start.
        v: velocity at the start; contacts that touch are found, impacts happen.
        control: when a controller commands the actuation, or None.

    Attributes:
        motion: the right-hand side with the contacts as they are.
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
        """Start at (t, q, v)."""
        super().__init__(system, actuation, options, t, q, v, control)
        self.motion = SmoothMotion(system, self.loads)
        self._integrator = MotionIntegrator(system, self.motion, options)
        self._search = EventSearch(system, self.loads, self.motion, self._integrator)
        self._contacts = ContactEvents(system, self.loads, self.motion, options)
        self._budget = WorkBudget(self.motion, options.max_work, self.t)
        self._waiting: DetectedEvents | None = None
        # The first command acts before the contacts of the start are decided.
        self.handle_due_events()
        self._contacts.handle(self.state, NO_CONTACTS)

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        return self.motion.mode

    @property
    def evaluations(self) -> int:
        """How often the right-hand side was evaluated."""
        return self.motion.evaluations

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Integrate to ``t_end``, handling every event on the way.

        Args:
            t_end: the time to reach [s].
            bound: time beyond which nothing is known yet; steps may reach beyond
                ``t_end`` up to it. By default ``t_end`` itself.
        """
        bound = t_end if bound is None else bound
        self._budget.begin_period()
        while self.t < t_end:
            try:
                self._advance(t_end, bound)
            except (StepError, IntegrationError, ContactProblemError) as error:
                if not self.options.hand_over:
                    raise
                self._hand_over(t_end, error)
        while self._next_due() <= self.t:
            self._handle_due_event()

    def _advance(self, t_end: float, bound: float) -> None:
        """From event to event up to ``t_end``."""
        while self.t < t_end:
            self._budget.check(t_end)
            if not self._integrator.running:
                self._start()
            waiting = self._waiting
            known = self._integrator.t if waiting is None else waiting.time
            if known > self.t:
                self._go_to(min(t_end, known))
            if waiting is not None:
                if self.t == known:
                    self._handle(waiting)
            elif self.t < t_end and self._integrator.running:
                due = self._next_due()
                if due <= self.t:
                    self._handle_due_event()
                else:
                    self._step(min(bound, due))

    def _hand_over(self, t_end: float, error: HumansError) -> None:
        """Go on by time steps of the same contact problem, where events jam.

        Raises:
            HumansError: the contacts cannot be decided even after many of them.
        """
        self._forget_step()
        begin = self.t
        steps = ImpulseSteps(self.system, self.loads, self.state)
        steps.mode = self.mode
        for _ in range(_MOST_HAND_OVERS):
            end = min(t_end, self.t + _HAND_OVER * self.options.time_step)
            while self.t < end:
                due = self._next_due()
                if due <= self.t:
                    self.loads.pushes.expire(self.t)
                    self.handle_events()
                    continue
                left = min(due, end) - self.t
                size = self.options.time_step
                fired = steps.take(left if left < 1.5 * size else size)
                if min(due, end) - self.t < 1e-9 * size:
                    self.state.t = min(due, end)
                if fired.any():
                    self.handle_events(fired)
            closed = np.flatnonzero(steps.mode != OPEN)
            self.motion.close(
                self.q,
                closed,
                steps.mode[closed],
                np.zeros((closed.size, 2)),
                steps.forces[closed],
            )
            try:
                self._contacts.handle(self.state, NO_CONTACTS)
            except (StepError, ContactProblemError):
                if self.t < t_end:
                    continue
                raise
            break
        else:
            raise error
        self._budget.begin_period()
        detail: dict[str, float | str] = {
            "text": str(error),
            "duration [s]": self.t - begin,
        }
        self.state.events.append(Event(self.t, kinds.HAND_OVER, "", detail))

    def _next_due(self) -> float:
        """When a controller, the actuation or a push has its next event [s]."""
        return min(self.next_event(), self.loads.pushes.next_time(self.t))

    def _start(self) -> None:
        """Start the integrator where the last event left the state."""
        self._integrator.start(self.state)
        self._search.begin(self.state)

    def _step(self, stop: float) -> None:
        """Make a step, and look for events in it."""
        self._integrator.step(self.t, stop)
        self._waiting = self._search.look_back()

    def _go_to(self, t: float) -> None:
        """Take the state inside the step that was made."""
        self._integrator.take(self.state, t)
        at_end = self._waiting is None and t == self._integrator.t
        if at_end and self._integrator.worn:
            self._forget_step()

    def _forget_step(self) -> None:
        """From here on the motion is another one: the integrator is started anew."""
        self._integrator.stop()
        self._waiting = None

    def _handle(self, events: DetectedEvents) -> None:
        """Handle events of the last step, now that their time has come."""
        self._forget_step()
        self._budget.count_event(self.t)
        if events.facet:
            self._contacts.let_separate(self.state)
        if events.contact:
            self._handle_contacts(events.stopped)
        if events.signals.any():
            self._handle_actuation(events.signals)

    def _handle_due_event(self) -> None:
        """An event whose time was known in advance."""
        self.loads.pushes.expire(self.t)
        if self.next_event() <= self.t:
            self._handle_actuation(None)
        self._forget_step()
        self._budget.count_event(self.t)

    def _handle_contacts(
        self, stopped: np.ndarray, impulse: np.ndarray | None = None
    ) -> None:
        """Impacts and new modes; the actuation adapts to what jumped."""
        if self._contacts.handle(self.state, stopped, impulse):
            z = self.actuation.reset(self.t, self.q, self.v, self.z)
            self.state.z = np.asarray(z, dtype=float)

    def _handle_actuation(self, fired: np.ndarray | None) -> None:
        """An event of the actuation, and what its torques do to the contacts."""
        self.handle_events(fired)
        self._forget_step()
        # Other torques: closed contacts may open, stick or slip at once.
        self._contacts.settle(self.state, self.motion.modes.which, NO_CONTACTS)

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)
        if self._integrator.running and self._integrator.t == self.t:
            now = self._integrator.refresh()
        else:
            self._forget_step()
            now = self.motion.evaluate(self.state)
        if self.motion.modes.any_closed and self.motion.margin(now) < -FORCE:
            # Torques may jump: contacts may open, stick or slip at once.
            self._contacts.settle(self.state, self.motion.modes.which, NO_CONTACTS)
            self._forget_step()
        self._search.watch_signals(self.state)

    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link; an impact decides the contacts anew."""
        if duration > 0.0:
            self.loads.add_push(self.state, link, point, impulse, duration)
            self._forget_step()
            return
        generalised = self.loads.pushes.generalised(self.q, link, point, impulse)
        self._forget_step()
        self._handle_contacts(NO_CONTACTS, generalised)
        record_push(self.state, link, impulse, duration)

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        now = self.motion.evaluate(self.state)
        modes, forces = self.motion.modes, self.motion.bare_forces(now)
        if modes.least_margin(forces) < _ADMISSIBLE:
            forces = self.motion.best_distribution(forces, now).forces
        all_forces = np.zeros((len(self.system.contacts), 3))
        all_forces[modes.which] = forces
        kinetic, potential = self.system.energies(self.q, self.v)
        return Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            now.torques,
            self.mode,
            all_forces,
            self.system.gaps(self.q),
            kinetic,
            potential,
        )
