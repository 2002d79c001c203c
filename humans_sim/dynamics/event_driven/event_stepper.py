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
6. Where that jams, :class:`~humans_sim.dynamics.event_driven.hand_over.HandOver`
   continues by time steps of the same contact problem, until events can go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.applied_loads import record_push
from humans_sim.dynamics.event_driven.contact_events import NO_CONTACTS, ContactEvents
from humans_sim.dynamics.event_driven.event_recorder import (
    EventRecorder,
    contact_forces,
)
from humans_sim.dynamics.event_driven.event_search import DetectedEvents, EventSearch
from humans_sim.dynamics.event_driven.hand_over import HandOver, WorkBudget
from humans_sim.dynamics.event_driven.motion_integrator import MotionIntegrator
from humans_sim.dynamics.event_driven.smooth_motion import FORCE, SmoothMotion
from humans_sim.dynamics.integrators import IMPLICIT
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.stepper import (
    FAILURES,
    ActuationError,
    Stepper,
    typed_failures,
)
from humans_sim.dynamics.system import State
from humans_sim.results.event_states import EventState
from humans_sim.results.records import SOLIDS, Sample

_PARTED = 1e-6
"""Gap of solids from which on they are apart [m]."""
_SHORTER_STEPS = 12
"""How often a step is made shorter that leads where there are no equations."""


class EventStepper(Stepper):
    """Integrates from event to event.

    Attributes:
        motion: the right-hand side with the contacts as they are.
    """

    def _begin(self) -> None:
        system, options = self.system, self.options
        implicit = options.integrator in IMPLICIT
        self.motion = SmoothMotion(
            system, self.loads, options.creep_speed if implicit else None
        )
        self._integrator = MotionIntegrator(system, self.motion, options)
        self._search = EventSearch(system, self.loads, self.motion, self._integrator)
        self._recorder = EventRecorder(system, self.motion)
        self._contacts = ContactEvents(self.loads, self.motion, options, self._recorder)
        self._budget = WorkBudget(
            self.motion, options.max_work, self.t, options.hand_over
        )
        self._hand_over = HandOver(system, self.loads, self.state, options.time_step)
        self._waiting: DetectedEvents | None = None
        # The first command acts before the contacts of the start are decided.
        self.handle_due_events()
        if isinstance(system, ModelSystem) and len(system.pairs):
            if system.solid_gap(self.q) < _PARTED:
                self._hand_over.begin(self.motion.mode, SOLIDS, True)
                return
        with self._handed_over_where_it_jams(), typed_failures():
            self._contacts.handle(self.state, NO_CONTACTS)

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        if self._hand_over.under_way:
            return self._hand_over.mode
        return self.motion.mode

    @property
    def event_states(self) -> list[EventState]:
        """States before and after events, since they are kept."""
        return self._recorder.states

    def keep_event_states(self) -> None:
        """From now on; not where the ground gives way, whose contacts are others."""
        self._recorder.active = self.loads.reaction is None

    @property
    def evaluations(self) -> int:
        """How often the right-hand side was evaluated."""
        return self.motion.evaluations

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Integrate to ``t_end``, handling every event on the way."""
        bound = t_end if bound is None else bound
        while self.t < t_end:
            if self._hand_over.under_way:
                self._take_time_steps(t_end)
            else:
                with self._handed_over_where_it_jams():
                    self._advance(t_end, bound)
        if self._hand_over.under_way:
            self._hand_over.record()
        while self._next_due() <= self.t:
            with self._handed_over_where_it_jams():
                self._handle_due_event()

    @contextmanager
    def _handed_over_where_it_jams(self) -> Iterator[None]:
        """Time steps go on where this ends by an error of the motion."""
        try:
            yield
        except ActuationError:
            raise
        except FAILURES as error:
            if not self.options.hand_over or self._hand_over.under_way:
                raise
            self._forget_step()
            work = self._budget.exceeded
            if work:
                self._budget.tighten()
            self._hand_over.begin(self.motion.mode, str(error), work)

    def _advance(self, t_end: float, bound: float) -> None:
        """From event to event up to ``t_end``."""
        while self.t < t_end and not self._hand_over.under_way:
            self._budget.check(self.t)
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

    def _take_time_steps(self, t_end: float) -> None:
        """Some time steps; then from event to event, where the contacts let it."""
        hand_over = self._hand_over
        while self.t < t_end and not hand_over.complete:
            due = self._next_due()
            if due <= self.t:
                self._handle_due_event()
                continue
            fired = hand_over.take(min(due, t_end))
            if fired.any():
                self.handle_events(fired)
        if self._solids_touch() or not self._try_events():
            hand_over.enlarge()

    def _solids_touch(self) -> bool:
        """Whether solids touch, or did in the last time step."""
        system, bearing = self.system, self._hand_over.mode
        if not (isinstance(system, ModelSystem) and len(system.pairs)):
            return False
        first = len(system.contacts) - len(system.pairs)
        return bool(bearing[first:].any()) or system.solid_gap(self.q) < _PARTED

    def _try_events(self) -> bool:
        """Whether the contacts can be decided where time steps led to."""
        state, steps = self.state, self._hand_over
        before = (state.q, state.v, state.z, list(state.events))
        closed = steps.closed()
        # Time steps go on where this fails: nothing slow is worth a trial.
        self._contacts.decision.patient = False
        try:
            with typed_failures():
                self.motion.close(
                    state.q,
                    closed,
                    steps.mode[closed],
                    np.zeros((closed.size, 2)),
                    steps.forces[closed],
                )
                self._handle_contacts(NO_CONTACTS)
        except FAILURES as error:
            state.q, state.v, state.z, state.events[:] = before
            if isinstance(error, ActuationError):
                raise
            return False
        finally:
            self._contacts.decision.patient = True
        steps.end()
        self._budget.begin_anew(self.t)
        return True

    def _next_due(self) -> float:
        """When a controller, the actuation or a push has its next event [s]."""
        return min(self.next_event(), self.loads.pushes.next_time(self.t))

    def _start(self) -> None:
        """Start the integrator where the last event left the state."""
        with typed_failures():
            self._integrator.start(self.state)
            self._search.begin(self.state)

    def _step(self, stop: float) -> None:
        """Make a step, and look for events in it.

        Beyond a joint's limit the model may have no equations of motion, and the stages
        of a step look ahead: a shorter one is then tried.
        """
        with typed_failures():
            for attempt in range(_SHORTER_STEPS + 1):
                try:
                    self._integrator.step(self.t, stop)
                    break
                except ConfigurationError:
                    if attempt == _SHORTER_STEPS:
                        raise
                    size = self._integrator.step_size
                    stop = self.t + 0.25 * min(stop - self.t, size)
                    self._forget_step()
                    self._start()
            self._waiting = self._search.look_back()

    def _go_to(self, t: float) -> None:
        """Take the state inside the step that was made."""
        self._integrator.take(self.state, t)
        if self._waiting is None and t == self._integrator.t:
            if self.motion.last.t != t:
                self._integrator.evaluate_at(t)
            with self._recorder.events_at(self.state):
                self._contacts.follow(self.state)
            if self._integrator.worn:
                self._forget_step()

    def _forget_step(self) -> None:
        """From here on the motion is another one: the integrator is started anew."""
        self._integrator.stop()
        self._waiting = None

    def _handle(self, events: DetectedEvents) -> None:
        """Handle events of the last step, now that their time has come."""
        self._forget_step()
        if events.solids:
            self._hand_over.begin(self.motion.mode, SOLIDS, True)
            return
        self._budget.count_event(self.t)
        touches = events.facet or events.contact
        with self._recorder.events_at(self.state, located=touches):
            if events.facet:
                self._contacts.let_separate(self.state)
            if events.contact:
                self._handle_contacts(events.stopped)
            if events.signals.any():
                self._handle_actuation(events.signals)

    def _handle_due_event(self) -> None:
        """An event whose time was known in advance."""
        pushed = self.loads.pushes.next_time(self.t) <= self.t
        self.loads.pushes.expire(self.t)
        with self._recorder.events_at(self.state):
            if self.next_event() <= self.t:
                self._handle_actuation(None)
            elif pushed:
                self._decide_anew()
        self._forget_step()
        self._budget.count_event(self.t)

    def _handle_contacts(
        self, stopped: np.ndarray, impulse: np.ndarray | None = None
    ) -> None:
        """Impacts and new modes; the actuation adapts to what jumped."""
        with self._recorder.events_at(self.state, located=impulse is not None):
            with typed_failures():
                changed = self._contacts.handle(self.state, stopped, impulse)
            if changed:
                self._reset_actuation()

    def _reset_actuation(self) -> None:
        z = self.actuation.reset(self.t, self.q, self.v, self.z)
        self.state.z = np.asarray(z, dtype=float)

    def _handle_actuation(self, fired: np.ndarray | None) -> None:
        """An event of the actuation, and what its torques do to the contacts."""
        self.handle_events(fired)
        self._decide_anew()

    def _decide_anew(self) -> None:
        """Other loads: closed contacts may open, stick or slip at once."""
        self._forget_step()
        if self._hand_over.under_way:
            return
        with typed_failures():
            which = self.motion.modes.which
            jumped = self._contacts.settle(self.state, which, NO_CONTACTS)
        if jumped:
            self._reset_actuation()

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)
        if self._hand_over.under_way:
            return
        if self._integrator.running and self._integrator.t == self.t:
            now = self._integrator.refresh()
        else:
            self._forget_step()
            now = self.motion.evaluate(self.state)
        if self.motion.modes.any_closed and self.motion.margin(now) < -FORCE:
            # Torques may jump: contacts may open, stick or slip at once.
            with (
                self._handed_over_where_it_jams(),
                self._recorder.events_at(self.state),
            ):
                self._decide_anew()
        self._search.watch_signals(self.state)

    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link; the contacts are decided anew."""
        generalised = self.loads.pushes.generalised(self.q, link, point, impulse)
        self._forget_step()
        if duration > 0.0:
            self.loads.add_push(self.state, link, point, impulse, duration)
            with (
                self._handed_over_where_it_jams(),
                self._recorder.events_at(self.state, located=True),
            ):
                self._decide_anew()
            return
        if self._hand_over.under_way:
            self._try_events()
        self._handle_contacts(NO_CONTACTS, generalised)
        record_push(self.state, link, impulse, duration)

    def continue_from(
        self, state: State, stopped: np.ndarray, fired: np.ndarray
    ) -> None:
        """Handle the events at a state to which another integrator led."""
        self._forget_step()
        own = self.state
        own.t, own.q, own.v, own.z = state.t, state.q, state.v, state.z
        self._handle_contacts(stopped)
        if fired.any():
            self._handle_actuation(fired)
        while self._next_due() <= self.t:
            self._handle_due_event()

    def acceleration(self) -> np.ndarray:
        """Rates of v with the contacts as they are (nv,)."""
        return self.motion.evaluate(self.state).acceleration

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        if self._hand_over.under_way:
            return self._sample(
                self.loads.at(self.t, self.q, self.v, self.z).torques,
                self._hand_over.forces,
            )
        now = self.motion.evaluate(self.state)
        count = len(self.system.contacts)
        return self._sample(now.torques, contact_forces(self.motion, now, count))

    def _sample(self, torques: np.ndarray, forces: np.ndarray) -> Sample:
        kinetic, potential = self.system.energies(self.q, self.v)
        system = self.system
        if self._hand_over.under_way:
            gaps = self._hand_over.measured(system.gaps(self.q))
        elif isinstance(system, ModelSystem):
            # Points of solids are those of the end of a step that goes beyond.
            gaps = system.gaps_anew(self.q, self.v, 0.0)
        else:
            gaps = system.gaps(self.q)
        sample = Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            torques,
            self.mode,
            forces,
            gaps,
            kinetic,
            potential,
        )
        return self.with_surface(sample)
