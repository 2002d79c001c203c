# SPDX-License-Identifier: Apache-2.0
r"""The right-hand side and the event functions, for an integrator of one's own.

The manual's sections 5.2 and 5.3: :math:`\dot x = f(t, x)` with x = (q, v, z), broken
by events where a component of g(t, x) reaches zero.

====================  ============================================================
CompleteDynamics         :meth:`StateEquations.rates`
EventDetection           :meth:`StateEquations.signals`
ContactEventHandling,    :meth:`StateEquations.handle`
ActuationEventHandling,
ActuationStateReset
ContactState             :attr:`StateEquations.contacts`
====================  ============================================================

The state of the contacts is kept from event to event, as in the manual; ``rates`` and
``signals`` do not change it.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.contact.problem.law import SLIDE
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.event_driven.smooth_motion import FORCE
from humans_sim.dynamics.stepper import Stepper
from humans_sim.dynamics.system import State

_CLOSED_BELOW = 1e-11
"""How deep an open contact goes before that is an event [m, rad]: one that has just
opened is on the surface, and deeper falls would give small bounces energy."""
_NO_EVENT = 1.0
"""Value of a function that has no event now."""


class StateEquations:
    """The equations of a simulation between two events, and at them.

    Use :meth:`humans_sim.Simulation.equations`; they begin where a stepper is.

    Attributes:
        names: of the event functions: the contacts; the same, sliding; the signals of
            the actuation; and the clock.
    """

    def __init__(self, stepper: Stepper) -> None:
        if not isinstance(stepper, EventStepper) or (
            stepper.motion.creep_speed is not None
        ):
            raise ParameterError(
                "equations for an integrator of one's own are those of "
                "method='event_driven' with an explicit integrator, and of joints "
                "without dry friction"
            )
        system = stepper.system
        if system.nq - system.nv not in (0, 1):
            raise ParameterError(f"{system.name} has more than one free body")
        self._stepper, self._system = stepper, system
        contacts = tuple(system.contacts.names)
        signals = len(stepper.loads.signals(stepper.state))
        self.names = (
            *contacts,
            *(f"{name}, sliding" for name in contacts),
            *(f"actuation {k + 1}" for k in range(signals)),
            "clock",
        )

    @property
    def t(self) -> float:
        """Time of the last event [s]."""
        return self._stepper.t

    @property
    def x(self) -> np.ndarray:
        """State (q, v, z) after the last event, or at the start."""
        return np.concatenate([self._stepper.q, self._stepper.v, self._stepper.z])

    @property
    def contacts(self) -> np.ndarray:
        """Modes of all contacts from the last event on: open 0, sticking 1, sliding 2.

        The manual's ContactState is whether they are not zero.
        """
        return self._stepper.mode

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """The derivative of the state x = (q, v, z) by time (CompleteDynamics).

        A quaternion in q need not be of unit length to the last digit.
        """
        state = self._state(t, x)
        nv, stepper = self._system.nv, self._stepper
        y = np.concatenate([np.zeros(nv), state.v, state.z])
        moved = stepper.motion.derivative(self._system.chart(state.q), t, y)
        return np.concatenate([self._rates_of_q(state.q, moved[:nv]), moved[nv:]])

    def signals(self, t: float, x: np.ndarray) -> np.ndarray:
        """Event functions: the first that falls to zero is the next event.

        In the order of :attr:`names`. An open contact has its gap [m, rad]; a closed
        one how far its force is from lifting or slipping [N]; a sliding one its speed
        [m/s]; the clock has the time until the next call of the controller or the next
        event of the actuation that is known [s]. Functions without an event now are
        constant. Signals of the actuation may change sign either way.
        """
        state, stepper, motion = self._state(t, x), self._stepper, self._stepper.motion
        contact = np.full(len(self._system.contacts), _NO_EVENT)
        gaps = motion.bodies.gaps(state.q)  # solids touch in time steps alone
        contact[: len(gaps)] = gaps + _CLOSED_BELOW
        sliding = np.full(len(contact), _NO_EVENT)
        modes = motion.modes
        if modes.any_closed:
            now = motion.evaluate(state)
            forces = motion.bare_forces(now)
            if modes.least_margin(forces) < 0.0:
                forces = motion.best_distribution(forces, now).forces
            contact[modes.which] = modes.margins(forces) + FORCE
            slides = (modes.mode == SLIDE) & (modes.friction > 0)
            sliding[modes.which[slides]] = motion.sliding_speeds(now)[slides]
        due = min(stepper.next_event(), stepper.loads.pushes.next_time(stepper.t))
        clock = due - t if math.isfinite(due) else _NO_EVENT
        return np.concatenate([contact, sliding, stepper.loads.signals(state), [clock]])

    def handle(self, t: float, x: np.ndarray, fired: np.ndarray) -> np.ndarray:
        """Handle events; the state after them is where integration resumes.

        Args:
            t: their time [s].
            x: the state there.
            fired: which functions of :meth:`signals` fell to zero (n,).

        Returns:
            the state (q, v, z): velocities may have jumped.
        """
        fired = np.asarray(fired, dtype=bool)
        if fired.shape != (len(self.names),):
            raise ParameterError(
                f"there are {len(self.names)} event functions, not {fired.shape}"
            )
        nc = len(self._system.contacts)
        state = self._state(t, x)
        self._stepper.continue_from(
            state, np.flatnonzero(fired[nc : 2 * nc]), fired[2 * nc : -1]
        )
        return self.x

    def _state(self, t: float, x: np.ndarray) -> State:
        system, x = self._system, np.asarray(x, dtype=float)
        nq, nv = system.nq, system.nv
        if x.shape != (nq + nv + self._stepper.z.size,):
            raise ConfigurationError(
                f"the state has {nq} positions, {nv} velocities and "
                f"{self._stepper.z.size} states of the actuation, not shape {x.shape}"
            )
        q = x[:nq].copy()
        if nq != nv:
            length = float(np.linalg.norm(q[3:7]))
            if not 0.5 < length < 2.0:
                raise ConfigurationError(
                    f"the base quaternion x[3:7] must have the length 1, not {length:g}"
                )
            q[3:7] /= length
        return State(float(t), q, x[nq : nq + nv].copy(), x[nq + nv :].copy())

    def _rates_of_q(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Rates of q from those of the coordinates around it."""
        if len(q) == len(rates):
            return rates
        (x, y, z, w), (a, b, c) = q[3:7], rates[3:6]
        quaternion = 0.5 * np.array(
            [
                w * a + y * c - z * b,
                w * b + z * a - x * c,
                w * c + x * b - y * a,
                -x * a - y * b - z * c,
            ]
        )
        return np.concatenate([rates[:3], quaternion, rates[6:]])
