"""What both methods, event-driven and time-stepping, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics import events as kinds
from humans_sim.dynamics.acceleration import OPEN, SLIDE, STICK
from humans_sim.dynamics.events import Event
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.impact import Impact
from humans_sim.dynamics.pushes import Pushes
from humans_sim.dynamics.system import LIMIT, ContactTable, System
from humans_sim.errors import ConfigurationError, HumansError, ParameterError

_LIFTABLE = 1e-6
"""Penetration that is put right without a word [m, rad]; more is an error."""
_LIFTED = 1e-13
_LIFTS = 8


class StepError(HumansError):
    """The simulation cannot go on from here."""


@dataclass(frozen=True)
class Options:
    """How to integrate.

    Attributes:
        integrator: ``dop853`` or ``cvode`` (event-driven).
        rtol: relative tolerance of the integrator.
        atol: absolute tolerance [m, rad, m/s, rad/s].
        max_step: largest step of the integrator [s]; what comes and goes between the
            stages of one step is not seen.
        impact: impact law, ``inequality`` or ``humans``.
        time_step: step of the time-stepping method [s].
        max_work: evaluations of the right-hand side (an event counts as a hundred) that
            one sampling period may take (event-driven); beyond, the run ends.
        zeno_time: impacts of one contact closer than this pile up [s], if also
        zeno_speed: they are slower than this [m/s].
    """

    integrator: str = "dop853"
    rtol: float = 1e-9
    atol: float = 1e-12
    max_step: float = 0.1
    impact: str = "inequality"
    time_step: float = 1e-3
    max_work: float = 200_000
    zeno_time: float = 1e-4
    zeno_speed: float = 1e-4

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        for name in (
            "rtol",
            "atol",
            "max_step",
            "time_step",
            "zeno_time",
            "zeno_speed",
        ):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ParameterError(f"{name} must be above zero, not {value}")


class Sample(NamedTuple):
    """The whole state at one time."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    contacts: np.ndarray
    forces: np.ndarray
    gaps: np.ndarray
    kinetic: float
    potential: float


class Stepper:
    """A system on its way through time; the parent of both methods.

    Attributes:
        t: the time reached [s].
        q: configuration.
        v: velocity.
        z: states of the actuation.
        events: everything that happened so far.
        evaluations: of the equations of motion.
    """

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Start at (t, q, v), rounding errors of q put right."""
        self.system, self.actuation, self.options = system, actuation, options
        self.t, self.events = float(t), list[Event]()
        self.q, self.v = lift_out(system, np.array(q, float)), np.array(v, float)
        self.pushes = Pushes(system)
        self.evaluations = 0
        self.z = np.asarray(actuation.initialise(self.t, self.q, self.v), float)
        while actuation.next_time(self.t) <= self.t:
            self._handle_actuation()

    def set_state(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Begin anew at another state; nothing changes where that is refused."""
        self.system.check_state(q, v)
        fresh = type(self)(self.system, self.actuation, self.options, t, q, v)
        fresh.events = [*self.events, Event(t, kinds.RESET), *fresh.events]
        self.__dict__ = fresh.__dict__

    def _loads(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Torques of the actuation, the same with pushes, and the rates of z.

        What acts along a locked velocity is borne by the lock.
        """
        torques, rates = self.actuation.dynamics(t, q, v, z)
        locked = self.system.locked
        if locked.size:
            torques = torques.copy()
            torques[locked] = 0.0
        if self.pushes.active:
            return torques, torques + self.pushes.force(t, q), rates
        return torques, torques, rates

    def _handle_actuation(self, fired: np.ndarray | None = None) -> None:
        """Let the actuation handle its events: signals that fired, times that came."""
        state = (self.t, self.q, self.v, self.z)
        if fired is None:
            fired = np.zeros(len(self.actuation.detect(*state)), dtype=bool)
        self.z, happened = self.actuation.handle(*state, fired)
        self.events.extend(happened)

    def _record_push(self, link: str, impulse: np.ndarray, duration: float) -> None:
        text = f"{np.linalg.norm(impulse):g} N s in {duration:g} s"
        self.events.append(Event(self.t, kinds.PUSH, link, {"text": text}))


def lift_out(
    system: System,
    q: np.ndarray,
    closed: np.ndarray | None = None,
    deep: bool = False,
) -> np.ndarray:
    """The nearest configuration (in the mass metric) without penetration.

    Args:
        system: the system.
        q: configuration.
        closed: contacts whose gaps shall be zero; others shall not be negative.
        deep: accept any depth.

    Raises:
        ConfigurationError: something is deeper inside than rounding can explain.
    """
    for attempt in range(_LIFTS):
        gap = system.gaps(q)
        wrong = gap < 0.0
        if closed is not None:
            wrong[:] = False
            wrong[closed] = np.abs(gap[closed]) > 0.0
        if attempt == 0 and not deep and gap.size and gap.min() < -_LIFTABLE:
            worst = int(np.argmin(gap))
            table = system.contacts
            raise ConfigurationError(
                f"{table.names[worst]} is {-gap[worst]:.3g} {table.units[worst]} "
                "inside what it may only touch: raise the model or bend its joints"
            )
        if not wrong.any() or np.abs(gap[wrong]).max() <= _LIFTED:
            return q
        which = np.flatnonzero(wrong)
        terms = system.terms(q, np.zeros(system.nv), which)
        normals = terms.jacobian[:, 0]
        spread = np.linalg.solve(terms.mass, normals.T)
        share = np.linalg.lstsq(normals @ spread, -terms.gap, rcond=1e-12)[0]
        chart = system.chart(q)
        q = chart.configuration(chart.rates(np.zeros(system.nv), spread @ share))
    return q


def event_of_contact(
    t: float, table: ContactTable, contact: int, old: int, new: int
) -> Event:
    """The event of a contact that changed its mode."""
    if table.kinds[contact] == LIMIT:
        kind = kinds.LIMIT_LEFT if new == OPEN else kinds.LIMIT_REACHED
    elif new == OPEN:
        kind = kinds.CONTACT_OPENED
    elif old == OPEN:
        kind = kinds.CONTACT_CLOSED
    else:
        kind = kinds.STICK if new == STICK else kinds.SLIP
    text = {OPEN: "open", STICK: "sticks", SLIDE: "slides"}[int(new)]
    return Event(t, kind, table.names[contact], {"text": text})


def impact_event(
    t: float,
    names: Sequence[str],
    mass: np.ndarray,
    before: np.ndarray,
    impact: Impact,
) -> Event:
    """The event of an impact, with its energy balance."""
    after = impact.velocity
    pushed = [n for n, p in zip(names, impact.impulses, strict=True) if p[0] > 0]
    detail: dict[str, float | str] = {
        "energy_before [J]": float(0.5 * before @ mass @ before),
        "energy_after [J]": float(0.5 * after @ mass @ after),
        "work_of_impulses [J]": impact.work,
    }
    if impact.restitution_factor < 1.0:
        detail["restitution_factor"] = impact.restitution_factor
    for name, impulse in zip(names, impact.impulses, strict=True):
        if impulse[0] > 0:
            detail[f"normal_impulse {name} [N s]"] = float(impulse[0])
    return Event(t, kinds.IMPACT, ",".join(pushed), detail)
