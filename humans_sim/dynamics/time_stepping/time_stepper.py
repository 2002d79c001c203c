# SPDX-License-Identifier: Apache-2.0
r"""The time-stepping method of Moreau and Jean: fixed steps, velocities and impulses.

.. math:: M (v_{k+1} - v_k) = h (\tau - N) + \sum_i J_i^T p_i

with the contact problem between the impulses p and the velocities at the end of the
step, for every contact that would close in the step. Impacts and persistent contact are
the same thing here; nothing is located in time, so the error is of the order of h and
any number of contacts costs one contact problem. Gaps are put right after each step.
"""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.stepper import Stepper
from humans_sim.dynamics.time_stepping.model_steps import ROUNDING, next_length
from humans_sim.dynamics.time_stepping.step import ImpulseSteps
from humans_sim.results.records import Sample

_Measured = tuple[np.ndarray, tuple[float, float]]


class TimeStepper(Stepper):
    """Fixed steps; events are recorded at the end of the step they happened in.

    Attributes:
        steps: what makes them.
    """

    GAP_TOLERANCE = 1e-8

    def _begin(self) -> None:
        self.steps = ImpulseSteps(self.system, self.loads, self.state)
        self._last: tuple[np.ndarray, np.ndarray, _Measured] | None = None
        self.handle_due_events()

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts in the last step (nc,)."""
        return self.steps.mode

    @property
    def evaluations(self) -> int:
        """How often the equations of motion were evaluated: once a step."""
        return self.steps.count

    def sample(self) -> Sample:
        """Everything at the time reached.

        Torques are those at this state; contact forces are means over the last step,
        in which alone the method knows them.
        """
        gaps, (kinetic, potential) = self._measured()
        sample = Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            self.loads.at(self.t, self.q, self.v, self.z).torques,
            self.steps.mode,
            self.steps.forces,
            gaps,
            kinetic,
            potential,
            moments=self.steps.moments(),
        )
        return self.with_surface(sample)

    def _measured(self) -> _Measured:
        """Gaps and energies; a controller and a recording ask at one time."""
        q, v = self.q, self.v
        if self._last is None or self._last[0] is not q or self._last[1] is not v:
            gaps = self.steps.measured(self.system.gaps(q))
            measured = (gaps, self.steps.energies())
            self._last = (q, v, measured)
        return self._last[2]

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)

    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link: over one step, or by a constant force over a duration."""
        duration = max(duration, self.options.time_step)
        self.loads.add_push(self.state, link, point, impulse, duration)

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Step to ``t_end``; the last step is cut so as to end there."""
        step = self.options.time_step
        while self.t < t_end:
            due = self.next_event()
            if due <= self.t:
                self.handle_events()
                continue
            pushes = self.loads.pushes
            if pushes.active:
                pushes.expire(self.t)
                due = min(due, pushes.next_time(self.t))
            due = min(due, t_end)
            if self.steps.take_until(due, step):
                continue
            left = due - self.t
            if left <= ROUNDING * step:
                # Two events at what is meant as one time: no step could be that short.
                self.state.t = due
                continue
            fired = self.steps.take(next_length(left, step))
            if fired.any():
                self.handle_events(fired)
            if due - self.t <= ROUNDING * step:
                self.state.t = due
        self.handle_due_events()
