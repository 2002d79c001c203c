# SPDX-License-Identifier: Apache-2.0
"""Many independent worlds of one model and scene, stepped by threads of one process.

Each world is a time-stepping simulation of its own: tables of the scene are shared,
what steps write is not. The compiled series of steps lets other threads run meanwhile,
so that worlds whose drives are a table (:meth:`Actuation.drives`) advance side by side.
Steps that this series cannot make, and actuations that are no table, go through Python:
the same results, one world at a time.

Results do not depend on the number of threads: world k is, bit for bit, what a single
:class:`~humans_sim.dynamics.simulation.Simulation` gives with the same commands.
Worlds made of simulations (:meth:`Worlds.of`) may differ in everything but the model's
size and contacts: friction, masses, drives, gravity; they share nothing.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.arrays import real_array
from humans_sim.core.errors import (
    ConfigurationError,
    HumansError,
    ParameterError,
)
from humans_sim.core.processors import cores
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.contacts import Contacts
from humans_sim.dynamics.controller import check_control_period
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.recording import RecordedSignals
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.simulation import (
    SAMPLING_PERIOD,
    Simulation,
    SimulationError,
)
from humans_sim.dynamics.stepper import ENDINGS, StepError
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper
from humans_sim.models import Model
from humans_sim.results.records import Event, Sample
from humans_sim.results.run import Run

_START = 0.0
"""Time at which a world begins [s]."""


class _World:
    """One world: its simulation, and where it is.

    Attributes:
        message: why it cannot continue; empty as long as it can.
        events: what happened in the last step.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._stepper: TimeStepper | None = None
        self.t, self.message, self.events = _START, "", list[Event]()

    def reset(self, q: np.ndarray, v: np.ndarray) -> None:
        """Begin anew; a state that is refused is a failure."""
        self.t, self.q, self.v, self.message, self.events = _START, q, v, "", []
        self._begin, self._steps, self._period = _START, 0, 0.0
        self._stepper, nc = None, len(self.simulation.system.contacts)
        self.mode, self.forces = np.zeros(nc, dtype=np.int64), np.zeros((nc, 3))
        self.gaps = np.full(nc, np.nan)
        try:
            stepper = self.simulation.start(q, v, _START)
        except (*ENDINGS, ParameterError) as error:
            self._fail(error)
        else:
            assert isinstance(stepper, TimeStepper)
            self._stepper = stepper
            self._read(stepper)

    def step(self, period: float, command: np.ndarray | None) -> None:
        """Take a command and advance; a world that failed stays where it is."""
        stepper = self._stepper
        if stepper is None or self.message:
            return
        if period != self._period:
            self._begin, self._steps, self._period = self.t, 0, period
        # Multiples of the period, not sums of it: no drift.
        self._steps += 1
        stepper.state.events = []
        try:
            if command is not None:
                stepper.command(command)
            stepper.advance(self._begin + self._steps * period)
        except ENDINGS as error:
            self._fail(error)
        self._read(stepper)

    def run(
        self, span: tuple[float, float, float], watch: Callable[[int, int], None]
    ) -> Run | HumansError:
        """What its simulation runs from here as from a start; the world stays."""
        try:
            return _own(self.simulation).run(self.q, self.v, *span, progress=watch)
        except (SimulationError, ConfigurationError) as error:
            return error

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        if self._stepper is None:
            raise StepError(f"it has no state: {self.message}")
        return self._stepper.sample()

    def _fail(self, error: Exception) -> None:
        self.message = str(error) or type(error).__name__

    def _read(self, stepper: TimeStepper) -> None:
        self.t, self.q, self.v = stepper.t, stepper.q, stepper.v
        self.events, steps = stepper.events, stepper.steps
        self.mode, self.forces, self.gaps = steps.mode, steps.forces, steps.gaps


class Worlds:
    """Steps n worlds of one model, with states as arrays.

    Worlds begin at time zero in the model's neutral posture, until :meth:`reset` gives
    them states. A world that cannot continue is marked, the others go on, and
    ``reset`` brings it back.

    Args:
        model: a biped model.
        n: how many worlds.
        actuation: what turns commands into torques; each world has a copy. With
            servos and ideal torques the steps run in threads; an actuation of functions
            of Python holds them up.
        ground: the scene; by default a floor.
        contacts: what of the model touches, where its joints stop, and their friction.
        time_step: length of the steps [s].
        locked: joints that do not move, as of a ``Simulation``.
        gravity: [m/s^2]; by default the model's.
        control_period: time between two commands [s], over which servos spread their
            motion; by default they run at their speed.
        threads: that step worlds; by default as many as there are processors.

    Attributes:
        model: of all worlds.
        threads: that step worlds.
        contact_table: names and kinds of the contacts, in the order of the arrays.

    Raises:
        ParameterError: an argument cannot be.
    """

    def __init__(
        self,
        model: Model,
        n: int,
        actuation: Actuation | None = None,
        *,
        ground: Ground | None = None,
        contacts: Contacts | None = None,
        time_step: float = 1e-3,
        locked: Sequence[str] = (),
        gravity: Sequence[float] | None = None,
        control_period: float | None = None,
        threads: int | None = None,
    ) -> None:
        n = _whole_number(n, "n", "worlds")
        if not isinstance(model, Model):
            raise ParameterError(f"model: must be a biped model, not {model!r}")
        if ground is not None and ground.surface is not None:
            raise ParameterError(
                "ground: a surface that gives way has a state of its own; worlds share "
                "theirs, so run a Simulation for each"
            )
        simulation = Simulation(
            model,
            actuation,
            ground=ground,
            method=TIME_STEPPING,
            contacts=contacts,
            locked=locked,
            gravity=gravity,
            time_step=time_step,
        )
        if control_period is not None:
            check_control_period(control_period)
            simulation.actuation.expect_commands_every(control_period)
        self._take([_own(simulation) for _ in range(n)], threads)

    @classmethod
    def of(cls, simulations: Sequence[Simulation], threads: int | None = None) -> Self:
        """Worlds that differ, each as its simulation says.

        Args:
            simulations: of bipeds of one size with the same contacts, by time steps,
                without controllers, sensors and pushes; each with a system and an
                actuation of its own.
            threads: that step worlds; by default as many as there are processors.

        Raises:
            ParameterError: a simulation cannot be a world, or not beside the first.
        """
        simulations = list(simulations)
        if not simulations:
            raise ParameterError("simulations: there is none")
        for k, simulation in enumerate(simulations):
            reason = _obstacle(simulation, simulations[0])
            if reason:
                raise ParameterError(f"simulations: that of world {k} {reason}")
        worlds = cls.__new__(cls)
        worlds._take(simulations, threads)
        return worlds

    def _take(self, simulations: Sequence[Simulation], threads: int | None) -> None:
        """Make a world of each simulation, in the neutral posture."""
        crew = cores() if threads is None else threads
        self.threads = _whole_number(crew, "threads", "threads")
        self._count = len(simulations)
        first = simulations[0]
        assert isinstance(first.system, ModelSystem)
        self.model, self.contact_table = first.system.model, first.system.contacts
        self._pool: ThreadPoolExecutor | None = None
        self._worlds = [_World(simulation) for simulation in simulations]
        names = getattr(first.actuation, "actuator_names", None)
        self._commands = None if names is None else len(names)
        self.reset()

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        lost = int(self.failed.sum())
        text = f", {lost} failed" if lost else ""
        return f"<Worlds: {self._count} of {self.model.name}{text}>"

    def reset(
        self,
        q: np.ndarray | None = None,
        v: np.ndarray | None = None,
        which: int | Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """Begin anew at time zero.

        A state that the model cannot have, or in which it is inside the ground, marks
        its world as failed.

        Args:
            q: configurations (m, nq), or one for all of them (nq,); by default the
                model's neutral one.
            v: velocities (m, nv) or (nv,); zero unless given.
            which: numbers of the m worlds, or a mask of all of them (n,); by default
                all.

        Raises:
            ParameterError: arrays have other shapes, or there is no such world.
        """
        chosen = self._chosen(which)
        model, count = self.model, len(chosen)
        start = _rows(model.neutral() if q is None else q, count, model.nq, "q")
        speed = _rows(np.zeros(model.nv) if v is None else v, count, model.nv, "v")

        def begin(i: int) -> None:
            self._worlds[chosen[i]].reset(start[i], speed[i])

        self._for_each(count, begin)

    def step(self, period: float, commands: np.ndarray | None = None) -> None:
        """Advance all worlds that have not failed.

        Args:
            period: time to advance by [s].
            commands: of the actuation, from now on: (n, k), or one for all (k,). Set
                points of servos [rad], torques [N m]; without them the last ones hold.

        Raises:
            ParameterError: arguments cannot be; nothing has moved.
            StepError: all worlds have failed before.
        """
        if not 0.0 < period < np.inf:
            raise ParameterError(f"period must be above zero [s], not {period}")
        given: np.ndarray | None = None
        if commands is not None:
            given = self._checked(commands)
        if self.failed.all():
            raise StepError(
                "all worlds have failed, reset them; the first: "
                f"{self._worlds[0].message}"
            )

        def advance(k: int) -> None:
            self._worlds[k].step(period, None if given is None else given[k])

        self._for_each(self._count, advance)

    def run(
        self, t_end: float = 1.0, sampling_period: float = SAMPLING_PERIOD
    ) -> list[Run | HumansError]:
        """Record each world from where it is, as if that were time zero.

        Worlds stay where they are. Arguments are those of ``Simulation.run``.

        Returns:
            of each world the run, or the error that ended it: a ``SimulationError``
            has what was computed before.

        Raises:
            ParameterError: the times cannot be.
        """
        runs: dict[int, Run | HumansError] = {}
        span, ended = (_START, t_end, sampling_period), threading.Event()

        def watch(done: int, total: int) -> None:
            # An error or an interrupt in one thread ends the runs of the others.
            if ended.is_set():
                raise KeyboardInterrupt

        def record(k: int) -> None:
            try:
                runs[k] = self._worlds[k].run(span, watch)
            except BaseException:
                ended.set()
                raise

        try:
            self._for_each(self._count, record)
        finally:
            ended.set()
        return [runs[k] for k in range(self._count)]

    @property
    def t(self) -> np.ndarray:
        """Time of each world since its reset (n,) [s]."""
        return np.array([world.t for world in self._worlds])

    @property
    def q(self) -> np.ndarray:
        """Configurations (n, nq)."""
        return np.stack([world.q for world in self._worlds])

    @property
    def v(self) -> np.ndarray:
        """Velocities (n, nv)."""
        return np.stack([world.v for world in self._worlds])

    @property
    def contact_forces(self) -> np.ndarray:
        """Forces of all contacts, means over the last step (n, nc, 3) [N].

        The normal force comes first, then those along two tangents.
        """
        return np.stack([world.forces for world in self._worlds])

    @property
    def contact_modes(self) -> np.ndarray:
        """Modes of all contacts in the last step: open, stick or slide (n, nc)."""
        return np.stack([world.mode for world in self._worlds])

    @property
    def gaps(self) -> np.ndarray:
        """Gaps of all contacts; lower bounds where they are far (n, nc) [m, rad]."""
        return np.stack([world.gaps for world in self._worlds])

    @property
    def failed(self) -> np.ndarray:
        """Whether a world cannot continue (n,) bool."""
        return np.array([bool(world.message) for world in self._worlds])

    @property
    def messages(self) -> tuple[str, ...]:
        """Why worlds cannot continue; empty where they can."""
        return tuple(world.message for world in self._worlds)

    @property
    def events(self) -> tuple[tuple[Event, ...], ...]:
        """What happened in each world in the last step."""
        return tuple(tuple(world.events) for world in self._worlds)

    def sample(self, k: int) -> Sample:
        """Everything there is to know of a world at the time it reached.

        Raises:
            ParameterError: there is no such world.
            StepError: it was refused a start, and has no state.
        """
        return self._worlds[self._chosen(k)[0]].sample()

    def _chosen(self, which: int | Sequence[int] | np.ndarray | None) -> np.ndarray:
        """Numbers of worlds (m,)."""
        if which is None:
            return np.arange(self._count)
        numbers = np.atleast_1d(np.asarray(which))
        if numbers.dtype == np.bool_ and numbers.shape == (self._count,):
            return np.flatnonzero(numbers)
        if not numbers.size:
            return np.zeros(0, dtype=np.int64)
        whole = numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.integer)
        inside = whole and numbers.min() >= 0 and numbers.max() < self._count
        if not inside or len(np.unique(numbers)) < len(numbers):
            raise ParameterError(
                f"which: must be different numbers from 0 to {self._count - 1}, or "
                f"{self._count} truth values, not {which!r}"
            )
        return numbers

    def _checked(self, commands: np.ndarray) -> np.ndarray:
        """Commands of all worlds (n, k)."""
        size = self._commands
        if size is None:
            size = np.shape(commands)[-1] if np.ndim(commands) else 0
        given = _rows(commands, self._count, size, "commands")
        wrong = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if wrong.size:
            raise ParameterError(f"commands: those of world {wrong[0]} are not finite")
        return given

    def _for_each(self, count: int, work: Callable[[int], None]) -> None:
        """Call a function with 0 to count - 1, by all threads."""
        # Threads that are done early take what others have not begun.
        left = iter(range(count))
        helpers: list[Future[None]] = []
        if self.threads > 1 and count > 1:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads - 1, "worlds")
            for _ in range(min(self.threads, count) - 1):
                helpers.append(self._pool.submit(_work_off, left, work))
        try:
            _work_off(left, work)
        finally:
            for _ in left:  # after an error, or an interrupt, nothing else begins
                pass
            failures = [helper.exception() for helper in helpers]
        for failure in failures:
            if failure is not None:
                raise failure


def _own(simulation: Simulation) -> Simulation:
    """The same simulation with what it writes of its own."""
    other = copy.copy(simulation)
    assert isinstance(simulation.system, ModelSystem)
    other.system = simulation.system.with_own_buffers()
    other.actuation = copy.deepcopy(simulation.actuation)
    other.recorded = RecordedSignals((), None, other.actuation)
    return other


def _obstacle(simulation: Any, first: Simulation) -> str:
    """Why a simulation is no world beside the first one; empty if it is."""
    if not isinstance(simulation, Simulation):
        return f"must be a Simulation, not {simulation!r}"
    if simulation.method != TIME_STEPPING:
        return f"is by {simulation.method}: worlds are stepped by {TIME_STEPPING}"
    system = simulation.system
    if not isinstance(system, ModelSystem) or isinstance(system, SceneSystem):
        return f"is no biped's: {system.name}"
    if system.ground.surface is not None:
        return "has a ground that gives way: run a Simulation for each"
    if simulation.controller is not None or simulation.sensors or simulation.pushes:
        return "has a controller, sensors or pushes: run a Simulation for each"
    if system.contacts.names != first.system.contacts.names:
        return "has other contacts than that of world 0"
    if (system.nq, system.nv) != (first.system.nq, first.system.nv):
        return "has other coordinates than that of world 0"
    return ""


def _work_off(left: Iterator[int], work: Callable[[int], None]) -> None:
    for k in left:
        try:
            work(k)
        except Exception as error:
            error.add_note(f"in world {k}")
            for _ in left:
                pass
            raise


def _whole_number(value: Any, name: str, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name}: must be a whole number of {what}, not {value!r}")
    return int(value)


def _rows(values: Any, count: int, size: int, name: str) -> np.ndarray:
    """A row for each world (count, size); one row is that of all."""
    given = real_array(values, name)
    if given.shape not in ((size,), (count, size)):
        raise ParameterError(
            f"{name}: must have the shape ({count}, {size}), or ({size},) for all "
            f"worlds, not {given.shape}"
        )
    return np.array(np.broadcast_to(given, (count, size)))
