"""The event-driven method: smooth motion between events, exact laws at them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from humans_sim.dynamics import integrators
from humans_sim.dynamics.acceleration import SLIDE
from humans_sim.dynamics.contact_events import SPEED, TOUCH, ContactEvents
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.interior import margins
from humans_sim.dynamics.roots import first_root, lowest, may_dip
from humans_sim.dynamics.smooth_motion import FORCE, Evaluation
from humans_sim.dynamics.stepper import Options, StepError
from humans_sim.dynamics.system import System

_ROOM = 1e-11
"""What the gap of a contact that was touching may be inside before it closes again."""
_IDLE_STEPS = 8
"""Steps after which the forces without effect are looked for anew."""
_EVENT_WORK = 100
"""Work of an event, in evaluations of the right-hand side."""
_LOOK, _MOST_LOOKS = 0.3, 200
"""Share of a thin solid that a contact may travel between two looks at its gap."""
_STUCK_EVENTS = 500
_STUCK_TIME = 1e-10


class EventStepper(ContactEvents):
    """Integrates from event to event, and finds the events."""

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Start at (t, q, v)."""
        super().__init__(system, actuation, options, t, q, v)
        self._quiet_since, self._busy = self.t, 0
        self._mark()

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)
        if self._solver is not None and self._solver.t == self.t:
            self._solver.refresh()
            state = self._last
        else:
            self._restart()
            state = self._evaluate(self.t, self.q, self.v, self.z)
        if self._phase.which.size and self._margin(state) < -FORCE:
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

    def _go_to(self, t: float) -> None:
        """Take the state inside the step that was made."""
        assert self._solver is not None
        self._set(t, self._solver.at(t))
        at_end = self._pending is None and t == self._solver.t
        if at_end and self._chart.worn(self._solver.y[: self.system.nv]):
            self._restart()

    def _mark(self) -> None:
        """Remember where the next step starts, for the search of events."""
        self._gap, self._rate = self.system.gap_rates(self.q, self.v)
        self._mark_actuation()

    def _mark_actuation(self) -> None:
        self._signals = self.actuation.detect(self.t, self.q, self.v, self.z)

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
        self._handle_actuation(fired)
        self._restart()
        # Other torques: closed contacts may open, stick or slip at once.
        self._settle(self._phase.which, np.zeros(0, dtype=np.int64))

    def _at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        assert self._solver is not None
        y, nv = self._solver.at(t), self.system.nv
        return self._chart.configuration(y[:nv]), y[nv : 2 * nv]

    def _look(self, t: float) -> Evaluation:
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
            (gap > _ROOM) | (rate > SPEED), 0.0, _ROOM - np.minimum(gap, 0.0)
        )
        closes = is_open & (self._gap + room < 0.0)
        leaves = closes & (gap <= _ROOM) & (rate > SPEED)
        plain = np.flatnonzero(closes & ~leaves)
        if plain.size:
            more = room[plain]

            def least(t: float) -> float:
                return float((self.system.gaps(self._at(t)[0])[plain] + more).min())

            suspects.append((least, int(plain[0]), "gap"))
        self._suspect_passages(suspects, start, end, is_open & ~closes, rate)
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
            if value >= -TOUCH:
                continue

            def dip(
                t: float,
                height: Callable[[float], float] = height,
                bottom: float = bottom,
            ) -> float:
                return height(t) if t < bottom else -1.0

            suspects.append((dip, int(i), "gap"))

    def _suspect_passages(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        start: float,
        end: float,
        candidates: np.ndarray,
        rate: np.ndarray,
    ) -> None:
        """Open contacts that pass through something thin in the step."""
        if math.isinf(self.system.thinnest) or not candidates.any():
            return
        fastest = float(np.abs([rate, self._rate]).max())
        looks = math.ceil((end - start) * fastest / (_LOOK * self.system.thinnest))
        for t in np.linspace(start, end, min(looks, _MOST_LOOKS), endpoint=False)[1:]:
            inside = candidates & (self.system.gaps(self._at(t)[0]) < -TOUCH)
            for i in np.flatnonzero(inside):

                def height(
                    t: float, i: int = int(i), bottom: float = float(t)
                ) -> float:
                    if t >= bottom:
                        return -1.0
                    return float(self.system.gaps(self._at(t)[0])[i])

                suspects.append((height, int(i), "gap"))
            if inside.any():
                return

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

    def _suspect_sliding(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        slid: np.ndarray,
        end: Evaluation,
    ) -> None:
        """Sliding contacts that come to rest in the step."""
        phase = self._phase
        slides = (phase.mode == SLIDE) & (phase.friction > 0)
        if not slides.any():
            return
        level = np.where(slid > 2 * SPEED, SPEED, -SPEED)
        rests = slides & (self._sliding_speeds(end) < level)
        for c in np.flatnonzero(rests):

            def speed(
                t: float, c: int = int(c), level: float = float(level[c])
            ) -> float:
                return float(self._sliding_speeds(self._look(t))[c]) - level

            suspects.append((speed, int(phase.which[c]), "slide"))

    def _suspect_forces(
        self,
        suspects: list[tuple[Callable[[float], float], int, str]],
        end: Evaluation,
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
        if least >= -FORCE:
            if not (lowest[0] < -FORCE and lowest[1] < end.t):
                return
            if self._margin(self._look(lowest[1])) >= -FORCE:
                return
            limit = lowest[1]
        else:
            share = self._shared(forces, end)
            if share.margin >= 0.0:
                phase.reference = share.forces
                return

        def margin(t: float) -> float:
            return self._margin(self._look(t)) + FORCE if t < limit else -1.0

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
