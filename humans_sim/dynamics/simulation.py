# SPDX-License-Identifier: Apache-2.0
"""Simulation of a system with contacts, actuation and control.

Also: the interface for users with their own integrator, times of samples, and the
errors of a run that ends early.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.impact import LAWS
from humans_sim.core.budget import SAMPLES
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.dynamics import integrators
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.contacts import Contacts, own_links
from humans_sim.dynamics.controller import (
    CommandWithNextCall,
    ControlClock,
    ControlFunction,
    Controller,
    check_control_period,
)
from humans_sim.dynamics.event_driven.braked_stepper import event_stepper_of
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.event_driven.state_equations import StateEquations
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.model_system import (
    ModelSystem,
    can_hand_over,
    scene_record,
)
from humans_sim.dynamics.pushes import Push
from humans_sim.dynamics.recording import RecordedSignals, RunStream, progress_bar
from humans_sim.dynamics.scenes.scene_system import SceneSystem, scene_control
from humans_sim.dynamics.sensor import Sensor, SensorClock, check_sensors
from humans_sim.dynamics.stepper import ENDINGS, Options, Stepper
from humans_sim.dynamics.system import EVENT_DRIVEN, TIME_STEPPING, System
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper
from humans_sim.models import Model
from humans_sim.results import records as kinds
from humans_sim.results.event_states import EventState
from humans_sim.results.records import Event, Sample
from humans_sim.results.run import Run


def sampling_times(start: float, end: float, period: float) -> np.ndarray:
    """Times start + k period up to the end; the end itself is the last."""
    ratio = (end - start) / period * (1 + 1e-12) + 1e-9
    count = SAMPLES.check("a run", math.floor(min(ratio, sys.float_info.max)))
    times = start + period * np.arange(count + 1)
    if end - times[-1] > 1e-9 * period:
        return np.append(times, end)
    times[-1] = end
    return times


class SimulationError(HumansError):
    """A simulation could not continue.

    Attributes:
        time: when [s]; ``q``, ``v`` and ``z`` are the state then.
        run: everything computed so far.
    """

    def __init__(self, message: str, sample: Sample, run: Run) -> None:
        self.time, self.q, self.v, self.z = sample.t, sample.q, sample.v, sample.z
        self.run, self._parts = run, (message, sample, run)
        super().__init__(f"at {sample.t:.9g} s: {message}")

    def __reduce__(self) -> tuple[type[SimulationError], tuple[str, Sample, Run]]:
        return type(self), self._parts


METHODS: dict[str, type[Stepper]] = {
    EVENT_DRIVEN: EventStepper,
    TIME_STEPPING: TimeStepper,
}
_LastState = tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
SAMPLING_PERIOD = 0.01
"""Time between samples unless a controller or the caller has another [s]."""


@dataclass(frozen=True)
class SimulationOptions(Options):
    """How to integrate, and what a simulation is judged by.

    Attributes:
        gravity: [m/s^2]; by default the model's, 9.81 downwards (biped models only).
        control_period: time between two calls of the controller [s]; by default its own
            ``period``, or that between the samples of a run.
        stands: whether the body is to stay on its feet, which :meth:`Run.check` then
            looks at (biped models only).
        passive: whether nothing feeds energy in, so that :meth:`Run.check` judges
            energy; by default, whether there is no actuation.
    """

    gravity: Sequence[float] | None = None
    control_period: float | None = None
    stands: bool = False
    passive: bool | None = None


class Simulation:
    """A system, its actuation and its controller, ready to run.

    ``hs.Simulation(hs.load_model("khr1")).run(t_end=0.3)`` is a whole one: it falls.

    Args:
        model: a biped model, or a system in general coordinates.
        actuation: what turns commands into torques; none for a passive system.
        controller: called as ``controller(t, state)``; its answer goes to the actuation
            as a command (see :mod:`~humans_sim.dynamics.controller`).
        ground: the scene; by default that of the controller, where it has one (a walk
            has the robot's), or a floor (biped models only).
        method: ``event_driven`` (exact event times) or ``time_stepping`` (Moreau and
            Jean's method: fixed steps, many contacts); by default the controller's, or
            ``event_driven``.
        contacts: what of the model touches, where its joints stop, and their friction
            (biped models only).
        locked: joints that do not move; ``"*"`` for all, ``"base"`` for the base
            (biped models only).
        pushes: from outside, at their times (biped models only).
        sensors: what measures the model at times of its own
            (:mod:`~humans_sim.dynamics.sensors`); controllers see the readings as
            ``state.sensors``, runs keep them as ``signals`` (biped models only).
        options: fields of :class:`SimulationOptions`, e.g. ``time_step=5e-4``.
    """

    def __init__(
        self,
        model: Model | System,
        actuation: Actuation | None = None,
        controller: ControlFunction | None = None,
        ground: Ground | None = None,
        method: str | None = None,
        *,
        contacts: Contacts | None = None,
        locked: Sequence[str] = (),
        pushes: Sequence[Push] = (),
        sensors: Sequence[Sensor] = (),
        **options: Any,
    ) -> None:
        known = controller if isinstance(controller, Controller) else None
        defaults: Mapping[str, Any] = {}
        if known is not None and isinstance(model, Model):
            defaults = known.simulation_arguments(model)
        for name in ("time_step", "integrator"):
            if name in defaults:
                options.setdefault(name, defaults[name])
        try:
            self.options = SimulationOptions.of(**options)
        except TypeError as error:
            raise ParameterError(f"unknown option: {error}") from None
        if not isinstance(contacts, Contacts | None):
            raise ParameterError(
                f"contacts must be a Contacts(points=...), not {contacts!r}"
            )
        gravity = self.options.gravity
        method_given = method
        method = defaults.get("method", EVENT_DRIVEN) if method is None else method
        if isinstance(model, Model):
            ground = defaults.get("ground") if ground is None else ground
            touching = contacts or Contacts()
            touching = touching.over(defaults.get("contacts", Contacts()))
            ground = Ground() if ground is None else ground
            soft = ground.surface is not None
            resistance = JointDissipation.of(
                model, actuation, touching.joint_damping, touching.joint_friction
            )
            by_steps = method == TIME_STEPPING or (
                self.options.hand_over and can_hand_over(model, ground, resistance)
            )
            model, touching, body = touching.of_model(
                model, soft or method != TIME_STEPPING, by_steps and not soft
            )
            if body is not None and by_steps and not soft and ground.has_mesh():
                body = body.left_to_solids()
            between_links = touching.self_collision
            if between_links is None:
                between_links = touching.whole_body
            self.system: System = ModelSystem(
                model,
                ground,
                locked=locked,
                limits=touching.limits,
                limit_restitution=touching.limit_restitution,
                radii=touching.radii,
                armature=None if actuation is None else actuation.armature,
                contacts=touching.points,
                gravity=gravity,
                features=body,
                self_collision=own_links(model, touching.self_collision)
                if by_steps and (method == TIME_STEPPING or between_links)
                else None,
                solid=bool(touching.whole_body) and by_steps and not soft,
                dissipation=resistance,
            )
        else:
            given = [argument is not None for argument in (ground, contacts, gravity)]
            if any(given) or locked or pushes:
                raise ParameterError(
                    "ground, contacts, gravity, locked and pushes belong to biped "
                    "models; a system in general coordinates has its own"
                )
            self.system = model
            if method_given is None and method not in model.methods:
                method = model.methods[0]
            if isinstance(model, SceneSystem):
                actuation, controller = scene_control(model, actuation, controller)
                known = controller if isinstance(controller, Controller) else None
        if method not in METHODS:
            raise ParameterError(
                f"method must be one of {', '.join(METHODS)}, not '{method}'"
            )
        if method not in self.system.methods:
            raise ParameterError(
                f"{self.system.name} cannot be simulated by {method}, only by "
                f"{', '.join(self.system.methods)}"
            )
        if self.options.integrator not in integrators.NAMES:
            raise ParameterError(
                f"integrator must be one of {integrators.NAMES}, not "
                f"'{self.options.integrator}'"
            )
        if self.options.impact not in LAWS:
            raise ParameterError(
                f"impact must be one of {LAWS}, not '{self.options.impact}'"
            )
        control_period = self.options.control_period
        if controller is None and control_period is not None:
            raise ParameterError("control_period is that of a controller: give one")
        if controller is not None and actuation is None:
            raise ParameterError(
                "a controller needs an actuation to give its commands to, e.g. "
                "IdealTorque(model)"
            )
        self.method, self.stands = method, self.options.stands
        self._stepper = METHODS[method]
        if method == EVENT_DRIVEN:
            self._stepper = event_stepper_of(self.system)
        self.pushes = tuple(sorted(pushes, key=lambda push: push.time))
        passive = self.options.passive
        self.passive = actuation is None if passive is None else passive
        self.actuation = Actuation() if actuation is None else actuation
        self.controller = controller
        if known is not None:
            known.attach(self.system)
            control_period = known.period if control_period is None else control_period
        self.control_period = control_period
        self.sensors = check_sensors(sensors, self.system)
        self.recorded = RecordedSignals(self.sensors, controller, self.actuation)
        self._equations: StateEquations | None = None
        if control_period is not None:
            self.actuation.expect_commands_every(check_control_period(control_period))

    def start(
        self, q: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
    ) -> Stepper:
        """A stepper at the given state, to be advanced by hand.

        It calls a controller that has a period; otherwise commands are given by hand.
        """
        q = np.asarray(q, dtype=float)
        v = self._velocity(v)
        self.system.check_state(q, v)
        clock = None
        if self.controller is not None and self.control_period is not None:
            clock = ControlClock(self.controller, self.control_period)
        if self.sensors:
            clock = SensorClock(self.sensors, clock)
        start = (self.system, self.actuation, self.options, t, q, v, clock)
        stepper = self._stepper(*start)
        if isinstance(clock, SensorClock):
            clock.measure_start(stepper.t, stepper.control_state())
        return stepper

    def equations(
        self, q: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
    ) -> StateEquations:
        """Right-hand side, event functions and event handling from a state on.

        Contacts that touch are closed, impacts happen, and the controller, where it has
        a period, is called. From now on :meth:`rates` and :meth:`signals` are those of
        these equations. A :class:`Push` of the simulation does not act in them.
        """
        self._equations = StateEquations(self.start(q, v, t))
        return self._equations

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of x = (q, v, z) by time (the manual's CompleteDynamics).

        The contacts are those of the :meth:`equations` begun last; where there are none
        yet, they begin at (t, x).
        """
        return self._begun(t, x).rates(t, x)

    def signals(self, t: float, x: np.ndarray) -> np.ndarray:
        """Functions whose fall to zero is an event (the manual's EventDetection)."""
        return self._begun(t, x).signals(t, x)

    def _begun(self, t: float, x: np.ndarray) -> StateEquations:
        if self._equations is not None:
            return self._equations
        nq, nv = self.system.nq, self.system.nv
        x = np.asarray(x, dtype=float)
        if x.ndim != 1 or x.size < nq + nv:
            raise ConfigurationError(
                f"the state begins with {nq} positions and {nv} velocities, not shape "
                f"{x.shape}"
            )
        return self.equations(x[:nq], x[nq : nq + nv], t)

    def _velocity(self, v: np.ndarray | None) -> np.ndarray:
        return np.zeros(self.system.nv) if v is None else np.asarray(v, dtype=float)

    def run(
        self,
        q0: np.ndarray | None = None,
        v0: np.ndarray | None = None,
        t_start: float = 0.0,
        t_end: float = 1.0,
        sampling_period: float | None = None,
        progress: bool | Callable[[int, int], None] | None = None,
        save: Path | str | None = None,
    ) -> Run:
        """Simulate from t_start to t_end.

        Args:
            q0: configuration at the start; by default that of the controller, or the
                neutral one of a biped model.
            v0: velocity at the start; zero unless given.
            t_start: [s].
            t_end: [s].
            sampling_period: time between samples [s]; by default the controller's
                period, or 0.01. A controller without a period is called at each sample.
            progress: whether to show a progress bar; by default for long runs on a
                terminal. Or a function, called with the number of samples that are done
                and of all.
            save: file (``.npz``) that samples are written to as they come, so that a
                long run needs little memory. It is there when the run ends, also where
                the simulation could not continue; the arrays of a long run lie in it.

        Raises:
            SimulationError: it could not continue; the error holds what was computed.
            FileWriteError: the file cannot be written.
        """
        if sampling_period is None:
            sampling_period = self.control_period or SAMPLING_PERIOD
        if not (sampling_period > 0 and math.isfinite(sampling_period)):
            raise ParameterError(
                f"sampling_period must be above zero: {sampling_period}"
            )
        if not (t_end > t_start and math.isfinite(t_end - t_start)):
            raise ParameterError(f"t_end {t_end} must come after t_start {t_start}")
        times = sampling_times(t_start, t_end, sampling_period)
        q0 = self._configuration() if q0 is None else q0
        samples: list[Sample] | RunStream = []
        if save is not None:
            samples = RunStream(save, expected=len(times))
        try:
            return self._run(q0, v0, times, samples, progress)
        finally:
            if isinstance(samples, RunStream):
                samples.close()

    def _configuration(self) -> np.ndarray:
        """Where to start unless it is given."""
        if isinstance(self.controller, Controller):
            start = self.controller.start()
            if start is not None:
                return start
        if isinstance(self.system, ModelSystem):
            return self.system.model.neutral()
        raise ParameterError(f"q0: {self.system.name} needs a configuration to start")

    def _run(
        self,
        q0: np.ndarray,
        v0: np.ndarray | None,
        times: np.ndarray,
        samples: list[Sample] | RunStream,
        progress: bool | Callable[[int, int], None] | None,
    ) -> Run:
        """Simulate from sampling time to sampling time."""
        t_start, t_end = float(times[0]), float(times[-1])
        pushes = [push for push in self.pushes if push.time >= t_start]
        at_samples = self.controller is not None and self.control_period is None
        stepper: Stepper | None = None
        try:
            stepper = self.start(q0, v0, t_start)
            stepper.keep_event_states()
            with progress_bar(progress, len(times)) as advance:
                for time in times:
                    while pushes and pushes[0].time <= time:
                        self._push(stepper, pushes.pop(0))
                    known = pushes[0].time if pushes else t_end
                    stepper.advance(time, time if at_samples else min(known, t_end))
                    if at_samples:
                        self._control(stepper)
                    samples.append(self.recorded.sample(stepper))
                    advance()
        except ENDINGS as error:
            if stepper is None and isinstance(error, ConfigurationError):
                raise
            state = self._last_state(stepper, t_start, q0, v0)
            raise self._failure(state, samples, stepper, error) from error
        return self.result(samples, stepper.events, stepper.event_states)

    def _last_state(
        self, stepper: Stepper | None, t: float, q0: np.ndarray, v0: np.ndarray | None
    ) -> _LastState:
        """Where it failed; at the very start nothing moved yet."""
        if stepper is not None:
            return stepper.t, stepper.q, stepper.v, stepper.z, stepper.mode
        still = np.zeros(len(self.system.contacts), dtype=np.int64)
        return t, np.array(q0, float), self._velocity(v0), np.zeros(0), still

    def _control(self, stepper: Stepper) -> None:
        """Call a controller without a period, and give its command on."""
        assert self.controller is not None
        command = self.controller(stepper.t, stepper.control_state())
        if isinstance(command, CommandWithNextCall):
            raise ParameterError(
                "a controller that chooses when it is called again needs a period: "
                "give the Simulation a control_period"
            )
        if command is not None:
            stepper.command(command)

    @staticmethod
    def _push(stepper: Stepper, push: Push) -> None:
        stepper.advance(push.time)
        impulse, point = np.array(push.impulse), np.array(push.point)
        stepper.push(push.link, point, impulse, push.duration)

    def result(
        self,
        samples: Sequence[Sample] | RunStream,
        events: Sequence[Event],
        event_states: Sequence[EventState] = (),
    ) -> Run:
        """A run of samples and events of a stepper that was advanced by hand.

        Args:
            samples: in the order of time; those of a stream are written to its file.
            events: what happened.
            event_states: states before and after events, where they were kept.
        """
        info: dict[str, Any] = {
            "system": self.system.name,
            "method": self.method,
            "passive": self.passive,
            **({"stands": True} if self.stands else {}),
            "options": {
                field.name: getattr(self.options, field.name)
                for field in fields(Options)
            },
            "z_names": list(self.actuation.z_names),
            **self.recorded.info(samples),
            **self.actuation.record(),
            **scene_record(self.system),
        }
        if self.method == "time_stepping":
            info["gap_tolerance"] = TimeStepper.GAP_TOLERANCE
        if isinstance(samples, RunStream):
            return samples.finish(self.system, events, info, event_states)
        return Run.of_samples(self.system, samples, events, info, event_states)

    def _failure(
        self,
        state: _LastState,
        samples: list[Sample] | RunStream,
        stepper: Stepper | None,
        error: Exception,
    ) -> SimulationError:
        t, q, v, z, mode = state
        nc = len(self.system.contacts)
        last = Sample(
            t,
            q,
            v,
            z,
            np.full(self.system.nv, np.nan),
            mode,
            np.full((nc, 3), np.nan),
            self.system.gaps(q),
            *self.system.energies(q, v),
        )
        text = str(error)
        if not isinstance(error, HumansError):
            text = f"{type(error).__name__}: {text}"
        past: Sequence[Event] = () if stepper is None else stepper.events
        known = () if stepper is None else stepper.event_states
        happened = [*past, Event(t, kinds.FAILURE, "", {"text": text})]
        if not samples:
            samples.append(last)
        run = self.result(samples, happened, known)
        return SimulationError(text, last, run)
