"""The event-driven method: smooth motion between events, exact laws at them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics import events as kinds
from humans_sim.dynamics import integrators
from humans_sim.dynamics.acceleration import (
    OPEN,
    SLIDE,
    STICK,
    constrained_acceleration,
    idle_forces,
)
from humans_sim.dynamics.contact_problem import solve_contact
from humans_sim.dynamics.events import Event
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.impact import solve_impact
from humans_sim.dynamics.interior import Share, best_share, margins
from humans_sim.dynamics.phase import STABILISATION, phase_acceleration
from humans_sim.dynamics.roots import first_root, lowest, may_dip
from humans_sim.dynamics.stepper import (
    Options,
    Sample,
    StepError,
    Stepper,
    event_of_contact,
    impact_event,
    lift_out,
)
from humans_sim.dynamics.system import System, Terms

_TOUCH = 1e-9
"""Gap below which a contact counts as touching [m, rad]."""
_NEAR = 1e-8
"""Gap below which a contact takes part in impacts that pile up [m, rad]."""
_ROOM = 1e-11
"""What the gap of a contact that was touching may be inside before it closes again."""
_SPEED = 1e-8
"""Speed below which a contact is at rest [m/s, rad/s]."""
_FORCE = 5e-9
"""Force below which a contact bears nothing [N, N m]."""
_ACCELERATION = 1e-8
"""Acceleration below which a contact stays, relative to the free one."""
_CONTRADICTION = 1e-4
_USUAL = 9.81
"""Size of accelerations that tolerances refer to [m/s^2]."""
_IDLE_STEPS = 8
"""Steps after which the forces without effect are looked for anew."""
_FIRST_STEP = 1e-3
"""First step of a run [s]; the integrator lengthens or shortens it at once."""
_EVENT_WORK = 100
"""Work of an event, in evaluations of the right-hand side."""
_STUCK_EVENTS = 500
_STUCK_TIME = 1e-10


@dataclass
class _Phase:
    """The closed contacts between two events and what they do."""

    which: np.ndarray
    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    direction: np.ndarray
    reference: np.ndarray
    idle: np.ndarray


class _Evaluation(NamedTuple):
    """The right-hand side at one state, kept for those who look at it."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    applied: np.ndarray
    terms: Terms
    acceleration: np.ndarray
    forces: np.ndarray
    motion: np.ndarray
    direction: np.ndarray


class EventStepper(Stepper):
    """Integrates from event to event."""

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Start at (t, q, v): contacts that touch are found, impacts happen."""
        super().__init__(system, actuation, options, t, q, v)
        self._lowest = (math.inf, math.inf)
        self._idle_age = self._work_done = 0
        self._open_all()
        self._last_impact: dict[int, tuple[float, float]] = {}
        self._first_step: float | None = _FIRST_STEP
        self._quiet_since, self._busy = self.t, 0
        self._solver: integrators.Integrator | None = None
        self._pending: tuple[float, list[tuple[float, int, str]]] | None = None
        self._chart = system.chart(self.q)
        self._mark()
        self._contact_event(np.zeros(0, dtype=np.int64), starting=True)

    # -- state ---------------------------------------------------------------------

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        mode = np.zeros(len(self.system.contacts), dtype=np.int64)
        mode[self._phase.which] = self._phase.mode
        return mode

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        nc = len(self.system.contacts)
        state = self._evaluate(self.t, self.q, self.v, self.z)
        forces = self._bare_forces(state)
        phase = self._phase
        if (
            margins(forces, phase.mode, phase.tangents, phase.friction).min(
                initial=math.inf
            )
            < -1e-10
        ):
            forces = self._shared(forces, state).forces
        all_forces = np.zeros((nc, 3))
        all_forces[phase.which] = forces
        kinetic, potential = self.system.energies(self.q, self.v)
        return Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            state.torques,
            self.mode,
            all_forces,
            self.system.gaps(self.q),
            kinetic,
            potential,
        )

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)
        if self._solver is not None and self._solver.t == self.t:
            self._solver.refresh()
            state = self._last
        else:
            self._restart()
            state = self._evaluate(self.t, self.q, self.v, self.z)
        if self._phase.which.size and self._margin(state) < -_FORCE:
            # Torques may jump: contacts may open, stick or slip at once.
            self._settle(self._phase.which, np.zeros(0, dtype=np.int64))
            self._restart()
        self._mark_actuation()

    def push(
        self,
        link: str,
        point: np.ndarray,
        impulse: np.ndarray,
        duration: float = 0.0,
    ) -> None:
        """Push a link: at once, or by a constant force over a duration.

        Args:
            link: name of a link; empty for the base.
            point: where, in the link's frame [m].
            impulse: in the world [N s].
            duration: zero for an impact [s].
        """
        if duration > 0.0:
            self.pushes.add(link, point, impulse / duration, self.t, self.t + duration)
            self._restart()
        else:
            shove = self.pushes.generalised(self.q, link, point, impulse)
            self._contact_event(np.zeros(0, dtype=np.int64), shove=shove)
        self._record_push(link, impulse, duration)

    # -- going on ------------------------------------------------------------------

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Integrate to ``t_end``, handling every event on the way.

        Args:
            t_end: the time to reach [s].
            bound: time beyond which nothing is known yet; steps may reach beyond
                ``t_end`` up to it. By default ``t_end`` itself.
        """
        bound = t_end if bound is None else bound
        self._work_done = 0
        while self.t < t_end:
            self._mind_the_budget(t_end)
            if self._solver is None:
                self._begin()
            assert self._solver is not None
            known = self._solver.t if self._pending is None else self._pending[0]
            if known > self.t:
                self._go_to(min(t_end, known))
            if self._pending is not None:
                if self.t == known:
                    self._happen()
                continue
            if self.t >= t_end or self._solver is None:
                continue
            if self._next_time() <= self.t:
                self._timed_event()
            else:
                self._step(min(bound, self._next_time()))
        while self._next_time() <= self.t:
            self._timed_event()

    def _mind_the_budget(self, t_end: float) -> None:
        """End a run that would take for ever."""
        if self._work_done > self.options.max_work:
            raise StepError(
                f"too much work to reach {t_end:.9g} s (max_work): the system is too "
                "stiff for its integrator, or contacts chatter; try method="
                "'time_stepping', integrator='cvode' or a larger zeno_speed"
            )

    def _next_time(self) -> float:
        """Time of the next event that is known in advance [s]."""
        return min(self.actuation.next_time(self.t), self.pushes.next_time(self.t))

    def _begin(self) -> None:
        self._chart = self.system.chart(self.q)
        y = np.concatenate([np.zeros(self.system.nv), self.v, self.z])
        options = self.options
        atol = np.full(len(y), options.atol)
        self._solver = integrators.start(
            options.integrator,
            self._rhs,
            self.t,
            y,
            options.rtol,
            atol,
            self._first_step,
        )
        self._slid = self._sliding_speeds(self._last)
        self._mark()

    def _restart(self) -> None:
        if self._solver is not None:
            self._first_step = self._solver.step_size  # type: ignore[attr-defined]
        self._solver = self._pending = None

    def _go_to(self, t: float) -> None:
        """Take the state inside the step that was made."""
        assert self._solver is not None
        self._set(t, self._solver.at(t))
        at_end = self._pending is None and t == self._solver.t
        if at_end and self._chart.worn(self._solver.y[: self.system.nv]):
            self._restart()

    def _set(self, t: float, y: np.ndarray) -> None:
        nv = self.system.nv
        self.t = t
        self.q = self._chart.configuration(y[:nv])
        self.v, self.z = y[nv : 2 * nv].copy(), y[2 * nv :].copy()

    def _rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        nv = self.system.nv
        x, v, z = y[:nv], y[nv : 2 * nv], y[2 * nv :]
        q = self._chart.configuration(x)
        torques, rates = self.actuation.dynamics(t, q, v, z)
        applied = torques
        if self.pushes.active:
            applied = torques + self.pushes.force(t, q)
        phase = self._phase
        terms = self.system.terms(q, v, phase.which)
        acceleration, forces, residual, motion, direction, least = phase_acceleration(
            terms.mass,
            applied - terms.bias,
            v,
            terms.gap,
            terms.jacobian,
            terms.drift,
            phase.mode,
            phase.tangents,
            phase.friction,
            phase.direction,
            phase.reference,
            phase.idle,
            STABILISATION,
        )
        if not residual < _CONTRADICTION:
            self._refuse(residual)
        self.evaluations += 1
        self._work_done += 1
        if least < self._lowest[0]:
            self._lowest = (least, t)
        self._last = _Evaluation(
            t, q, v, z, torques, applied, terms, acceleration, forces, motion, direction
        )
        return np.concatenate([self._chart.rates(x, v), acceleration, rates])

    def _refuse(self, residual: float) -> None:
        if math.isinf(residual):
            raise StepError(
                "the mass matrix is singular here: a chain of joints has lost a "
                "direction (gimbal lock), or a body has no mass"
            )
        if math.isnan(residual):
            raise StepError("the forces or the torques are not finite numbers")
        raise StepError(
            f"the closed contacts contradict each other (residual {residual:.1e})"
        )

    def _evaluate(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> _Evaluation:
        """The right-hand side at a state given by its parts."""
        chart, self._chart = self._chart, self.system.chart(q)
        try:
            self._rhs(t, np.concatenate([np.zeros(self.system.nv), v, z]))
        finally:
            self._chart = chart
        return self._last

    def _bare_forces(self, state: _Evaluation) -> np.ndarray:
        """Contact forces without what pulls numerical drift back."""
        phase, terms = self._phase, state.terms
        if phase.which.size == 0:
            return state.forces
        return phase_acceleration(
            terms.mass,
            state.applied - terms.bias,
            state.v,
            terms.gap,
            terms.jacobian,
            terms.drift,
            phase.mode,
            phase.tangents,
            phase.friction,
            state.direction,
            phase.reference,
            phase.idle,
            0.0,
        )[1]

    def _mark(self) -> None:
        """Remember where the next step starts, for the search of events."""
        self._gap, self._rate = self.system.gap_rates(self.q, self.v)
        self._mark_actuation()

    def _mark_actuation(self) -> None:
        self._signals = self.actuation.detect(self.t, self.q, self.v, self.z)

    # -- one step ------------------------------------------------------------------

    def _step(self, stop: float) -> None:
        solver = self._solver
        assert solver is not None
        start = self.t
        gap, rate, signals = self._gap, self._rate, self._signals
        slid = self._slid
        self._lowest = (math.inf, math.inf)
        solver.step(min(stop, start + self.options.max_step))
        end, lowest_force = self._last, self._lowest
        suspects: list[tuple[Callable[[float], float], int, str]] = []
        self._gap, self._rate = self.system.gap_rates(end.q, end.v)
        self._suspect_gaps(suspects, start, solver.t, gap, rate)
        if self._phase.which.size:
            self._suspect_sliding(suspects, slid, end)
            self._suspect_forces(suspects, end, lowest_force)
        self._signals = self.actuation.detect(end.t, end.q, end.v, end.z)
        self._suspect_signals(suspects, signals)
        if not suspects:
            self._phase.direction = end.direction
            self._slid = self._sliding_speeds(end)
            self._idle_age += 1
            if self._phase.which.size and self._idle_age >= _IDLE_STEPS:
                self._find_idle_forces(end.q)
            return
        roots = [
            (first_root(function, start, solver.t), subject, kind)
            for function, subject, kind in suspects
        ]
        time = min(root[0] for root in roots)
        self._pending = (time, [root for root in roots if root[0] <= time + 1e-13])

    def _count_events(self) -> None:
        if self.t - self._quiet_since > _STUCK_TIME:
            self._quiet_since, self._busy = self.t, 0
        self._busy += 1
        self._work_done += _EVENT_WORK
        if self._busy > _STUCK_EVENTS:
            raise StepError(
                f"{_STUCK_EVENTS} events at one time: a contact jams (large friction "
                "or the sticking law can leave no way to go on)"
            )

    def _happen(self) -> None:
        """The events that were found in the last step, now that their time has come."""
        assert self._pending is not None
        fired = self._pending[1]
        self._restart()
        self._count_events()
        mask = np.zeros(len(self._signals), dtype=bool)
        stopped, contact = [], False
        for _, subject, kind in fired:
            if kind == "signal":
                mask[subject] = True
            else:
                contact = True
                if kind == "slide":
                    stopped.append(subject)
        if contact:
            self._contact_event(np.array(stopped, dtype=np.int64))
        if mask.any():
            self._actuation_event(mask)
        self._mark()

    def _timed_event(self) -> None:
        self.pushes.expire(self.t)
        if self.actuation.next_time(self.t) <= self.t:
            self._actuation_event(np.zeros(len(self._signals), dtype=bool))
        self._restart()
        self._count_events()

    def _actuation_event(self, fired: np.ndarray) -> None:
        self.z, happened = self.actuation.handle(self.t, self.q, self.v, self.z, fired)
        for event in happened:
            self._record(event)
        self._restart()
        # Other torques: closed contacts may open, stick or slip at once.
        self._settle(self._phase.which, np.zeros(0, dtype=np.int64))

    def _at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        assert self._solver is not None
        y, nv = self._solver.at(t), self.system.nv
        return self._chart.configuration(y[:nv]), y[nv : 2 * nv]

    def _look(self, t: float) -> _Evaluation:
        assert self._solver is not None
        self._rhs(t, self._solver.at(t))
        return self._last

    def _suspect_gaps(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        start: float,
        end: float,
        gap: np.ndarray,
        rate: np.ndarray,
    ) -> None:
        """Open contacts whose gap closes in the step."""
        is_open = np.ones(len(gap), dtype=bool)
        is_open[self._phase.which] = False
        room = np.where(
            (gap > _ROOM) | (rate > _SPEED), 0.0, _ROOM - np.minimum(gap, 0.0)
        )
        closes = is_open & (self._gap + room < 0.0)
        leaves = closes & (gap <= _ROOM) & (rate > _SPEED)
        plain = np.flatnonzero(closes & ~leaves)
        if plain.size:
            more = room[plain]

            def least(t: float) -> float:
                return float((self.system.gaps(self._at(t)[0])[plain] + more).min())

            suspects.append((least, int(plain[0]), "gap"))
        turns = is_open & ~closes & (rate < 0.0) & (self._rate > 0.0) & (gap > 0.0)
        for i in np.flatnonzero(leaves | turns):

            def height(t: float, i: int = int(i)) -> float:
                return float(self.system.gaps(self._at(t)[0])[i])

            if leaves[i]:
                suspects.append(
                    (self._after_leaving(height, start, end), int(i), "gap")
                )
                continue
            span = end - start
            if not may_dip(gap[i], rate[i], self._gap[i], self._rate[i], span):
                continue
            bottom, value = lowest(height, start, end)
            if value >= -_TOUCH:
                continue

            def dip(
                t: float,
                height: Callable[[float], float] = height,
                bottom: float = bottom,
            ) -> float:
                return height(t) if t < bottom else -1.0

            suspects.append((dip, int(i), "gap"))

    @staticmethod
    def _after_leaving(
        height: Callable[[float], float], start: float, end: float
    ) -> Callable[[float], float]:
        """A gap that opens at the start of the step and closes later in it."""
        span = end - start
        for k in range(1, 40):
            leaves = start + span * 0.5**k
            if height(leaves) > 0.0:
                return lambda t: 1.0 if t < leaves else height(t)
        return height

    def _sliding_speeds(self, state: _Evaluation) -> np.ndarray:
        """Speed of each closed contact along the direction it slides in."""
        along = state.motion[:, 1:] * self._phase.direction
        return along.sum(axis=1)

    def _suspect_sliding(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        slid: np.ndarray,
        end: _Evaluation,
    ) -> None:
        """Sliding contacts that come to rest in the step."""
        phase = self._phase
        slides = (phase.mode == SLIDE) & (phase.friction > 0)
        if not slides.any():
            return
        level = np.where(slid > 2 * _SPEED, _SPEED, -_SPEED)
        rests = slides & (self._sliding_speeds(end) < level)
        for c in np.flatnonzero(rests):

            def speed(
                t: float, c: int = int(c), level: float = float(level[c])
            ) -> float:
                return float(self._sliding_speeds(self._look(t))[c]) - level

            suspects.append((speed, int(phase.which[c]), "slide"))

    def _margin(self, state: _Evaluation) -> float:
        """Least margin of the closed contacts, the forces shared at their best."""
        phase = self._phase
        forces = self._bare_forces(state)
        least = margins(forces, phase.mode, phase.tangents, phase.friction).min()
        if least >= -_FORCE:
            return float(least)
        return self._shared(forces, state).margin

    def _shared(self, forces: np.ndarray, state: _Evaluation) -> Share:
        phase = self._phase
        return best_share(
            forces,
            state.terms.jacobian,
            phase.mode,
            phase.tangents,
            phase.friction,
            state.direction,
        )

    def _suspect_forces(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        end: _Evaluation,
        lowest: tuple[float, float],
    ) -> None:
        """Closed contacts that lift off or begin to slip in the step.

        ``lowest`` is the least margin at the stages inside the step, and its time: a
        force that goes and comes back within one step is seen there.
        """
        phase = self._phase
        forces = self._bare_forces(end)
        least = margins(forces, phase.mode, phase.tangents, phase.friction).min()
        limit = end.t
        if least >= -_FORCE:
            if not (lowest[0] < -_FORCE and lowest[1] < end.t):
                return
            if self._margin(self._look(lowest[1])) >= -_FORCE:
                return
            limit = lowest[1]
        else:
            share = self._shared(forces, end)
            if share.margin >= 0.0:
                phase.reference = share.forces
                return

        def margin(t: float) -> float:
            return self._margin(self._look(t)) + _FORCE if t < limit else -1.0

        suspects.append((margin, -1, "force"))

    def _suspect_signals(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        before: np.ndarray,
    ) -> None:
        """Functions of the actuation that change sign in the step."""
        for j in np.flatnonzero(np.sign(before) * np.sign(self._signals) < 0):

            def signal(
                t: float, j: int = int(j), sign: float = float(np.sign(before[j]))
            ) -> float:
                assert self._solver is not None
                q, v = self._at(t)
                z = self._solver.at(t)[2 * self.system.nv :]
                return sign * float(self.actuation.detect(t, q, v, z)[j])

            suspects.append((signal, int(j), "signal"))

    # -- events of the contacts ------------------------------------------------------

    def _open_all(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._phase = _Phase(
            none,
            none,
            none,
            np.zeros(0),
            np.zeros((0, 2)),
            np.zeros((0, 3)),
            np.zeros((0, 0)),
        )

    def _contact_event(
        self,
        stopped: np.ndarray,
        starting: bool = False,
        shove: np.ndarray | None = None,
    ) -> None:
        """Impacts first, then the modes from here on."""
        self._restart()
        gap, rate = self.system.gap_rates(self.q, self.v)
        touching = (gap <= _TOUCH) & (rate <= _SPEED)
        touching[self._phase.which] = True
        if shove is not None:
            touching |= gap <= _TOUCH
        which = np.flatnonzero(touching)
        self.q = lift_out(self.system, self.q, which)
        jumped = False
        approaching = which[rate[which] < -_SPEED]
        if shove is not None or (
            approaching.size and not self._gentle(approaching, rate)
        ):
            which = self._impact(which, rate, shove)
            jumped = True
        before = self.mode
        self._settle(which, stopped)
        for i in stopped[(before[stopped] == SLIDE) & (self.mode[stopped] == SLIDE)]:
            name = self.system.contacts.names[i]
            self._record(Event(self.t, kinds.SLIP, name, {"text": "turns round"}))
        changed = not np.array_equal(before, self.mode)
        if (jumped or changed) and not starting:
            self.z = np.asarray(
                self.actuation.reset(self.t, self.q, self.v, self.z), dtype=float
            )

    def _gentle(self, approaching: np.ndarray, rate: np.ndarray) -> bool:
        """Whether contacts close so slowly that it is no impact.

        Where they do not bounce, their speed is taken out and nothing opens: otherwise
        a standing foot would hand on tiny impacts from corner to corner.
        """
        slow = rate[approaching].min() > -self.options.zeno_speed
        return bool(slow and not self.system.contacts.restitution[approaching].any())

    def _impact(
        self, which: np.ndarray, rate: np.ndarray, shove: np.ndarray | None
    ) -> np.ndarray:
        table, options = self.system.contacts, self.options
        restitution = table.restitution.copy()
        piles_up = False
        for i in which[rate[which] < -_SPEED]:
            piles_up |= self._watch_accumulation(int(i), -float(rate[i]), restitution)
        terms = self.system.terms(self.q, self.v, which)
        impact = solve_impact(
            terms.mass,
            terms.jacobian,
            self.v,
            table.tangents[which],
            table.friction[which],
            restitution[which],
            options.impact,
            shove,
        )
        before = self.v
        self.v = impact.velocity
        names = [table.names[i] for i in which]
        self._record(impact_event(self.t, names, terms.mass, before, impact))
        if piles_up:
            return self._end_accumulation(which)
        self._hold_what_hardly_lifts(which)
        return which

    def _hold_what_hardly_lifts(self, which: np.ndarray) -> None:
        """Keep closed contacts closed that the impact moves by next to nothing.

        A limit that is reached somewhere else in the body lifts the corners of a
        standing foot by nanometres: they would come back at once, one after the other.
        """
        slow, table = self.options.zeno_speed, self.system.contacts
        motion = self.system.terms(self.q, self.v, which).jacobian @ self.v
        before = self.mode[which]
        stays = (before != OPEN) & (motion[:, 0] < slow)
        if not (stays & (motion[:, 0] > _SPEED)).any():
            return
        stays |= motion[:, 0] <= _SPEED
        speed = np.hypot(motion[:, 1], motion[:, 2])
        stuck = which[stays & (before == STICK) & (speed < slow)]
        held = which[stays]
        self._project_velocity(held, table.tangents[held], table.friction[held], stuck)

    def _end_accumulation(self, which: np.ndarray) -> np.ndarray:
        """Close every contact that takes part in impacts that pile up.

        A foot that lands on an edge hands tiny impacts from corner to corner; all
        corners that hardly move come to rest together.
        """
        gap, rate = self.system.gap_rates(self.q, self.v)
        near = (gap <= _NEAR) & (np.abs(rate) <= self.options.zeno_speed)
        near[self._phase.which] = True
        together = np.flatnonzero(near)
        self.q = lift_out(self.system, self.q, together)
        table = self.system.contacts
        slow = np.zeros(0, dtype=np.int64)
        self._project_velocity(
            together, table.tangents[together], table.friction[together], slow
        )
        return np.union1d(which, together)

    def _watch_accumulation(
        self, contact: int, speed: float, restitution: np.ndarray
    ) -> bool:
        """Whether the impacts of a contact pile up (Zeno); then it is plastic."""
        options = self.options
        last = self._last_impact.get(contact)
        self._last_impact[contact] = (self.t, speed)
        if last is None or speed > options.zeno_speed:
            return False
        interval = self.t - last[0]
        if interval > options.zeno_time:
            return False
        ratio = min(speed / last[1], 0.999999) if last[1] > 0 else 0.0
        ends = self.t + interval * ratio / (1.0 - ratio)
        restitution[contact] = 0.0
        detail = {"accumulation_time [s]": ends, "speed [m/s]": speed}
        name = self.system.contacts.names[contact]
        self._record(Event(self.t, kinds.ZENO, name, detail))
        return True

    def _settle(self, which: np.ndarray, stopped: np.ndarray) -> None:
        """Modes of the touching contacts from now on, by the contact problem."""
        old = self.mode
        table = self.system.contacts
        if which.size:
            rows = self.system.terms(self.q, self.v, which).jacobian
            which = which[(rows @ self.v)[:, 0] <= _SPEED]
        if which.size == 0:
            self._open_all()
        else:
            tangents, friction = table.tangents[which], table.friction[which]
            slides = self._project_velocity(which, tangents, friction, stopped)
            self._decide(which, tangents, friction, slides)
        self._tell_changes(old)

    def _project_velocity(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        stopped: np.ndarray,
    ) -> np.ndarray:
        """Take out what is left of velocities that are zero; which contacts slide."""
        terms = self.system.terms(self.q, self.v, which)
        motion = terms.jacobian @ self.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = (tangents > 0) & np.isfinite(friction) & (speed > _SPEED)
        slides &= ~np.isin(which, stopped)
        k = len(which)
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        jump, _, residual = constrained_acceleration(
            terms.mass,
            np.zeros(self.system.nv),
            terms.jacobian,
            motion,
            mode,
            tangents,
            np.zeros(k),
            np.zeros((k, 2)),
            np.zeros((k, 3)),
            idle_forces(terms.mass, terms.jacobian, mode, tangents),
        )
        if math.isfinite(residual):
            self.v = self.v + jump
        return slides

    def _decide(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        slides: np.ndarray,
    ) -> None:
        terms = self.system.terms(self.q, self.v, which)
        motion = terms.jacobian @ self.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = slides & (speed > _SPEED)
        direction = np.zeros((len(which), 2))
        direction[slides] = motion[slides, 1:] / speed[slides, None]
        torques, _ = self.actuation.dynamics(self.t, self.q, self.v, self.z)
        if self.pushes.active:
            torques = torques + self.pushes.force(self.t, self.q)
        nv = self.system.nv
        keep = np.arange(len(which))
        if self._all_stay(which, tangents, friction, slides, direction):
            return
        if self._few_leave(which, terms, slides):
            return
        while True:
            flat = terms.jacobian[keep].reshape(-1, nv)
            solved = np.linalg.solve(
                terms.mass, np.column_stack([torques - terms.bias, flat.T])
            )
            free = terms.jacobian[keep] @ solved[:, 0] + terms.drift[keep]
            solution = solve_contact(
                flat @ solved[:, 1:],
                free,
                tangents[keep],
                friction[keep],
                direction[keep] * (friction[keep] > 0)[:, None],
            )
            size = max(_USUAL, float(np.abs(free).max()))
            level = max(_ACCELERATION, 20 * solution.residual) * size
            stays = solution.motion[:, 0] <= level
            if stays.all() or not np.isinf(friction[keep]).any():
                break
            # A contact that lifts lets go of its tangents: the others ask again.
            keep = keep[stays]
            if keep.size == 0:
                self._open_all()
                return
        sideways = np.hypot(solution.motion[:, 1], solution.motion[:, 2])
        chosen = keep[stays]
        mode = np.full(len(chosen), STICK)
        along = direction[chosen]
        for c in range(len(chosen)):
            i = chosen[c]
            if tangents[i] == 0 or np.isinf(friction[i]):
                continue
            if slides[i] or friction[i] == 0:
                mode[c] = SLIDE
            elif sideways[stays][c] > level:
                mode[c] = SLIDE
                along[c] = solution.motion[stays][c, 1:] / sideways[stays][c]
        self._set_phase(which[chosen], mode, along, solution.forces[stays])
        self._verify()

    def _all_stay(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        slides: np.ndarray,
        direction: np.ndarray,
    ) -> bool:
        """Whether no contact need open or begin to slip: then nothing is to decide."""
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        self._set_phase(which, mode, direction, np.zeros((len(which), 3)))
        try:
            state = self._evaluate(self.t, self.q, self.v, self.z)
        except StepError:
            return False
        forces, phase = self._bare_forces(state), self._phase
        if margins(forces, mode, tangents, friction).min() < 0.0:
            share = self._shared(forces, state)
            if share.margin < 0.0:
                return False
            forces = share.forces
        phase.reference = forces
        return True

    def _few_leave(self, which: np.ndarray, terms: Terms, slides: np.ndarray) -> bool:
        """Whether letting the worst contacts go, one by one, obeys the contact law.

        From the phase in which all stay: contacts that pull are opened, contacts beyond
        their cones let slip. That is a solution if what opened moves away and what
        slips moves along its direction. Most events are of this kind; the others are
        left to the contact problem.
        """
        try:
            self._verify()
            state = self._evaluate(self.t, self.q, self.v, self.z)
        except StepError:
            return False
        phase = self._phase
        motion = terms.jacobian @ state.acceleration + terms.drift
        level = _ACCELERATION * max(_USUAL, float(np.abs(terms.drift).max(initial=0)))
        opened = ~np.isin(which, phase.which)
        if (motion[opened, 0] < -level).any():
            return False
        for c in np.flatnonzero(phase.mode == SLIDE):
            i = int(np.flatnonzero(which == phase.which[c])[0])
            if slides[i] or phase.friction[c] == 0:
                continue
            along = float(motion[i, 1:] @ phase.direction[c])
            across = float(np.hypot(motion[i, 1], motion[i, 2])) - along
            if along < -level or across > level + 0.01 * along:
                return False
        return True

    def _set_phase(
        self,
        which: np.ndarray,
        mode: np.ndarray,
        direction: np.ndarray,
        forces: np.ndarray,
    ) -> None:
        table = self.system.contacts
        self._phase = _Phase(
            which,
            mode,
            table.tangents[which],
            table.friction[which],
            direction,
            forces,
            np.zeros((0, 0)),
        )
        self._find_idle_forces(self.q)

    def _find_idle_forces(self, q: np.ndarray) -> None:
        """Which shares of the contact forces do nothing, in this posture."""
        phase = self._phase
        terms = self.system.terms(q, np.zeros(self.system.nv), phase.which)
        phase.idle = idle_forces(terms.mass, terms.jacobian, phase.mode, phase.tangents)
        self._idle_age = 0

    def _verify(self) -> None:
        """Let go of contacts that bear nothing, let slip those on their cones."""
        for _ in range(2 * len(self._phase.which) + 1):
            phase = self._phase
            if phase.which.size == 0:
                return
            state = self._evaluate(self.t, self.q, self.v, self.z)
            forces = self._bare_forces(state)
            now = margins(forces, phase.mode, phase.tangents, phase.friction)
            if now.min() >= -_FORCE / 2:
                phase.reference = forces
                return
            share = self._shared(forces, state)
            if share.margin >= -_FORCE / 2:
                phase.reference = share.forces
                return
            forces = share.forces
            worst = margins(forces, phase.mode, phase.tangents, phase.friction)
            bad = worst <= share.margin + 2 * _FORCE
            mode, direction = phase.mode.copy(), phase.direction.copy()
            for c in np.flatnonzero(bad):
                along = math.hypot(forces[c, 1], forces[c, 2])
                if forces[c, 0] <= 4 * _FORCE or phase.mode[c] == SLIDE or along == 0:
                    mode[c] = OPEN
                else:
                    mode[c] = SLIDE
                    direction[c] = -forces[c, 1:] / along
            stay = mode != OPEN
            self._set_phase(
                phase.which[stay], mode[stay], direction[stay], forces[stay]
            )
        raise StepError("the contacts find no modes that fit their forces")

    def _tell_changes(self, old: np.ndarray) -> None:
        new = self.mode
        for i in np.flatnonzero(old != new):
            self._record(
                event_of_contact(self.t, self.system.contacts, int(i), old[i], new[i])
            )

    def _record(self, event: Event) -> None:
        self.events.append(event)
