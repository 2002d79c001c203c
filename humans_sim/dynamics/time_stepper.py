r"""The time-stepping method of Moreau and Jean: fixed steps, velocities and impulses.

.. math:: M (v_{k+1} - v_k) = h (\tau - N) + \sum_i J_i^T p_i

with the contact problem between the impulses p and the velocities at the end of the
step, for every contact that would close in the step. Impacts and persistent contact are
the same thing here; nothing is located in time, so the error is of the order of h and
any number of contacts costs one contact problem. Gaps are put right after each step.
"""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.acceleration import OPEN, SLIDE, STICK
from humans_sim.dynamics.contact_problem import solve_contact
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.stepper import (
    Options,
    Sample,
    Stepper,
    event_of_contact,
    lift_out,
)
from humans_sim.dynamics.system import System

_SPEED = 1e-9
_ROUNDING = 1e-9


class TimeStepper(Stepper):
    """Fixed steps; events are told at the end of the step in which they happened."""

    GAP_TOLERANCE = 1e-8

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
        nc = len(system.contacts)
        self.mode = np.zeros(nc, dtype=np.int64)
        self._forces = np.zeros((nc, 3))
        self._torques = self._loads(self.t, self.q, self.v, self.z)[0]

    def sample(self) -> Sample:
        """Everything at the time reached; forces are means over the last step."""
        kinetic, potential = self.system.energies(self.q, self.v)
        return Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            self._torques,
            self.mode,
            self._forces,
            self.system.gaps(self.q),
            kinetic,
            potential,
        )

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)

    def push(
        self,
        link: str,
        point: np.ndarray,
        impulse: np.ndarray,
        duration: float = 0.0,
    ) -> None:
        """Push a link: over one step, or by a constant force over a duration."""
        duration = max(duration, self.options.time_step)
        self.pushes.add(link, point, impulse / duration, self.t, self.t + duration)
        self._record_push(link, impulse, duration)

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Step to ``t_end``; the last step is cut so as to end there."""
        step = self.options.time_step
        while self.t < t_end:
            # Equal steps, so that a run does not depend on how it is cut to pieces.
            left = t_end - self.t
            h = left if left < 1.5 * step else step
            if self.actuation.next_time(self.t) <= self.t:
                self._handle_actuation()
                continue
            self.pushes.expire(self.t)
            due = min(
                self.actuation.next_time(self.t), self.pushes.next_time(self.t), t_end
            )
            self._step(min(h, due - self.t))
            if due - self.t <= _ROUNDING * h:
                self.t = due
        while self.actuation.next_time(self.t) <= self.t:
            self._handle_actuation()

    def _step(self, h: float) -> None:
        system, table = self.system, self.system.contacts
        before = self.actuation.detect(self.t, self.q, self.v, self.z)
        # Forces at the middle of the step, contacts at its predicted end.
        chart = system.chart(self.q)
        half = chart.configuration(0.5 * h * chart.rates(np.zeros(system.nv), self.v))
        torques, applied, rates = self._loads(self.t, self.q, self.v, self.z)
        gap, rate = system.gap_rates(half, self.v)
        which = np.flatnonzero(gap + 0.5 * h * np.minimum(rate, 0.0) <= 0.0)
        which = np.union1d(which, np.flatnonzero(self.mode != OPEN)).astype(np.int64)
        terms = system.terms(half, self.v, which)
        k, nv = len(which), system.nv
        flat = terms.jacobian.reshape(-1, nv)
        solved = np.linalg.solve(
            terms.mass, np.column_stack([applied - terms.bias, flat.T])
        )
        free = self.v + h * solved[:, 0]
        mode = np.zeros(len(table), dtype=np.int64)
        forces = np.zeros((len(table), 3))
        if k:
            speed = terms.jacobian @ free
            restitution = table.restitution[which]
            approach = np.minimum((terms.jacobian @ self.v)[:, 0], 0.0)
            speed[:, 0] += restitution * approach
            # A gap that is open yet may close in the step, but no further.
            gap = np.maximum(system.gaps(self.q)[which], 0.0)
            speed[:, 0] += np.where(restitution == 0.0, gap / h, 0.0)
            solution = solve_contact(
                flat @ solved[:, 1:],
                speed,
                table.tangents[which],
                table.friction[which],
                start=self._forces[which] * h,
            )
            free = free + solved[:, 1:] @ solution.forces.ravel()
            mode[which] = self._modes(solution, which)
            forces[which] = solution.forces / h
        self.evaluations += 1
        mean = 0.5 * (self.v + free)
        self.q = chart.configuration(h * chart.rates(0.5 * h * mean, mean))
        closed = np.flatnonzero(mode != OPEN)
        self.q = _settled(system, self.q, closed)
        self.v, self.t = free, self.t + h
        self.z = self.z + h * rates
        self._torques, self._forces = torques, forces
        self._tell_changes(mode)
        after = self.actuation.detect(self.t, self.q, self.v, self.z)
        fired = np.sign(before) * np.sign(after) < 0
        if fired.any():
            self._handle_actuation(fired)

    def _modes(self, solution, which: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
        tangents = self.system.contacts.tangents[which]
        along = np.hypot(solution.motion[:, 1], solution.motion[:, 2])
        mode = np.where(solution.forces[:, 0] > 0, STICK, OPEN)
        return np.where(
            (mode == STICK) & (tangents > 0) & (along > _SPEED), SLIDE, mode
        )

    def _tell_changes(self, mode: np.ndarray) -> None:
        old, self.mode = self.mode, mode
        for i in np.flatnonzero(old != mode):
            self.events.append(
                event_of_contact(
                    self.t, self.system.contacts, int(i), int(old[i]), int(mode[i])
                )
            )


def _settled(system: System, q: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Closed contacts on their surfaces, nothing inside."""
    gap = system.gaps(q)
    wrong = np.union1d(closed, np.flatnonzero(gap < 0.0)).astype(np.int64)
    return lift_out(system, q, wrong, deep=True) if wrong.size else q
