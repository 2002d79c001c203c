# SPDX-License-Identifier: Apache-2.0
"""A page on which a biped walks, simulated in this process: no ROS is needed."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.walk_control import rising_walker, walking_robot
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.falls.rising_walker import RiseState
from humans_sim.control.walking import Velocity, Walker, WalkSettings
from humans_sim.control.walking.footsteps import FootstepPlanner
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.kondo.motion.pose_servo import can_get_up
from humans_sim.models import Model
from humans_sim.view.browser.panel import UNLIMITED, Actions
from humans_sim.view.browser.scene import DEFAULT_PORT
from humans_sim.view.browser.touches import Touches
from humans_sim.view.browser.walk_layer import StepPlan
from humans_sim.view.browser.walk_page import Seen, WalkPage

PUSH_TIME = 0.05
"""How long a push lasts [s]."""
FALLEN = "fallen"
_CATCH_UP = 0.1
"""Wall time that the simulation may be late and still catch up [s]."""
_IDLE = 0.2
"""Longest wait for an order [s]."""


class LiveWalk:
    """A walker in a simulation that runs in a thread of its own.

    Everything may be called from any thread, and nothing waits for the simulation.

    Args:
        settings: how it walks; by default those that come with the package.
        velocity: it walks with from the beginning; it stands unless given.
        ground: the scene, the floor of its file in ``config/robots`` unless given.
        servo: numbers of the servos, those of that file unless given.
        time_step: of the simulation, that of the file unless given [s].

    Raises:
        ParameterError: no walk is set up for the model, or it needs other servos.
    """

    def __init__(
        self,
        model: Model,
        settings: WalkSettings | None = None,
        *,
        velocity: Velocity | None = None,
        ground: Ground | None = None,
        servo: Mapping[str, Any] | None = None,
        time_step: float | None = None,
    ) -> None:
        setup = RobotSetup.of_model(model)
        if servo is None and (problem := setup.servo_problem(model)):
            raise ParameterError(problem)
        self.model = model
        self._setup = replace(
            setup,
            servo=replace(setup.servo, **(servo or {})),
            method="time_stepping",
            time_step=setup.time_step if time_step is None else time_step,
        )
        self._period = setup.sampling_period
        self.walker = Walker(model, settings, period=self._period)
        self.rising = None
        if can_get_up(model):
            self.rising = rising_walker(self.walker, automatic=False)
        self.ground = setup.ground() if ground is None else ground
        self._steps = StepPlan(model, self.walker.settings)
        self._velocity = Velocity() if velocity is None else velocity
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._paused, self._speed, self._due = False, 1.0, 0.0
        self._failure = ""
        message = "preparing the simulation (the first time takes a minute)"
        self._seen = Seen(q=self.walker.start(), message=message)

    @property
    def can_get_up(self) -> bool:
        """Whether there are motions with which it gets up."""
        return self.rising is not None

    @property
    def velocity(self) -> Velocity:
        """The last velocity that was asked for."""
        return self._velocity

    @property
    def seen(self) -> Seen:
        """The newest state."""
        return self._seen

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, within a period."""
        self._ended.set()
        self._orders.put(lambda: None)
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def pause(self, paused: bool) -> None:
        """Stop the time, or let it resume."""

        def order() -> None:
            self._paused, self._due = paused, time.monotonic()
            self._look()

        self._orders.put(order)

    def reset(self) -> None:
        """Begin anew, with the velocity that was last asked for."""
        self._orders.put(self._begin)

    def push(self, impulse: np.ndarray) -> None:
        """Push the base with an impulse in its axes, x and y (2,) [N s]."""
        impulse = np.append(np.asarray(impulse, float), 0.0)
        if impulse.shape != (3,) or not np.isfinite(impulse).all():
            raise ParameterError(f"a push has two finite numbers, not {impulse[:-1]}")

        def order() -> None:
            if not self._failure:
                turn = pin.Quaternion(self._run.q[3:7]).matrix()
                self._run.push("", np.zeros(3), turn @ impulse, PUSH_TIME)

        self._orders.put(order)

    def set_speed(self, factor: float) -> None:
        """Set the largest speed, simulated over wall time; 0: as fast as it can."""
        if not (math.isfinite(factor) and factor >= 0):
            raise ParameterError(f"a speed is 0 or more, not {factor}")

        def order() -> None:
            self._speed, self._due = factor, time.monotonic()

        self._orders.put(order)

    def command(self, velocity: Velocity) -> None:
        """Walk with a velocity; all zero stops."""
        if not all(map(math.isfinite, velocity)):
            raise ParameterError(f"a velocity has finite numbers, not {velocity}")

        def order() -> None:
            self._velocity = velocity
            self._lead(velocity)

        self._orders.put(order)

    def get_up(self) -> None:
        """Get up where it lies; nothing where it stands or has no motions for it."""

        def order() -> None:
            if self.rising is not None and not self._failure:
                with suppress(ParameterError):
                    self.rising.get_up()

        self._orders.put(order)

    # -- the thread ------------------------------------------------------------------

    def _live(self) -> None:
        self._begin()
        while not self._ended.is_set():
            wait = self._wait()
            with suppress(queue.Empty):  # what was asked for, awaited for a while
                self._orders.get(wait > 0, wait)()
                while True:
                    self._orders.get_nowait()()
            if not self._ended.is_set() and self._runs and self._wait() <= 0.0:
                self._advance()

    @property
    def _runs(self) -> bool:
        return not (self._paused or self._failure)

    def _wait(self) -> float:
        """Wall time until something is to be done [s]."""
        if not self._runs:
            return _IDLE
        return max(0.0, self._due - time.monotonic())

    def _begin(self) -> None:
        """Stand at the start, at time zero."""
        try:
            simulation, walk = walking_robot(
                self.walker,
                setup=self._setup,
                rising=self.rising,
                ground=self.ground,
            )
            assert isinstance(simulation.system, ModelSystem)
            self.walker.reset()
            self._steps.reset()
            # The walk is reset by its first command: the velocity comes after it.
            self._run = simulation.start(self.model.standing(self.walker.start()[7:]))
            self._walk, self._soles = walk, Soles(simulation.system)
            self._k, self._failure = 0, ""
            self._lead(self._velocity)
            self._run.advance(self._period)
            self._k = 1
        except Exception as error:  # the page lives on, whatever it is
            self._fail(error)
            return
        self._due = time.monotonic()
        self._look()

    def _lead(self, velocity: Velocity) -> None:
        """Walk with a velocity, now or once it stands again."""
        leader = self.walker.pattern if self.rising is None else self.rising
        leader.command(*velocity)

    def _advance(self) -> None:
        """Simulate one period."""
        try:
            self._run.advance((self._k + 1) * self._period)
        except Exception as error:  # the page lives on for a reset, whatever it is
            self._fail(error)
            return
        self._k += 1
        # Nobody reads what is over, and a walk may last for hours.
        del self._walk.commands[:-1]
        self._run.events.clear()
        pace = 0.0 if self._speed == UNLIMITED else self._period / self._speed
        self._due = max(self._due + pace, time.monotonic() - _CATCH_UP)
        self._look()

    def _fail(self, error: Exception) -> None:
        self._failure = f"the simulation cannot continue: {error} (press Reset)"
        self._look()

    def _look(self) -> None:
        """Note the newest state, for whoever shows it."""
        if self._failure:
            now = replace(self._seen, planned=(), paused=self._paused)
            self._seen = replace(now, message=self._failure, failed=True)
            return
        sample, command = self._run.sample(), self._walk.commands[-1]
        plan, q = command.plan, sample.q.copy()
        phase, message, failed = plan.phase.name.lower(), "", command.fallen
        if self.rising is not None and self.rising.state is not RiseState.WALKING:
            failed, message = self.rising.waits, self.rising.text
            phase = self.rising.state.name.lower().replace("_", " ")
            message += " (press Get up or Reset)" if failed else ""
        elif failed:
            phase, message = FALLEN, "it has fallen (press Reset)"
        self._seen = Seen(
            time=sample.t,
            q=q,
            touches=Touches.of_points(self._soles, self._soles.points(sample)),
            planned=self._steps.steps(plan, q),
            phase=phase,
            steps=plan.steps,
            paused=self._paused,
            message=message,
            failed=failed,
        )


RATE = 30.0
"""Pictures a second."""
_SHARE = 0.6
"""Share of its largest speed with which a biped sets off."""


def cruise(settings: WalkSettings) -> Velocity:
    """An easy speed forwards."""
    most = FootstepPlanner(settings).limited(Velocity(vx=1e6)).vx
    return Velocity(vx=float(f"{_SHARE * most:.1g}"))


class LivePage:
    """A walk and the page that shows it.

    Args:
        walk: not yet begun.
        host, port: of the page, as of :class:`Scene`.
    """

    def __init__(
        self, walk: LiveWalk, host: str = "127.0.0.1", port: int = DEFAULT_PORT
    ) -> None:
        self.walk = walk
        self.page = WalkPage(walk.model, host, port, walk.ground)
        actions = Actions(
            walk.pause,
            walk.reset,
            walk.push,
            walk.set_speed,
            walk.command,
            get_up=walk.get_up if walk.can_get_up else None,
        )
        panel = self.page.add_panel(actions, walk.walker.settings)
        panel.set_velocity(walk.velocity)
        walk.start()

    def run(
        self,
        seconds: float | None = None,
        stop: threading.Event | None = None,
        rate: float = RATE,
    ) -> None:
        """Show the walk until ``stop`` is set, for some seconds or for ever."""
        begun, ended = time.monotonic(), stop or threading.Event()
        while not ended.wait(1.0 / rate):
            self.page.show(self.walk.seen)
            if seconds is not None and time.monotonic() - begun >= seconds:
                return

    def close(self) -> None:
        """End the walk and close the page."""
        self.walk.stop()
        self.page.stop()


def show_walk(
    model: Model,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    seconds: float | None = None,
    opened: Callable[[str], None] = lambda url: None,
) -> None:
    """Show a biped that walks, until Ctrl-C or for some time.

    Args:
        model: a biped with settings for a walk.
        host: address to listen on; the default is reached from this machine only.
        port: first port to try; 0 takes any free one.
        seconds: how long; None: until Ctrl-C.
        opened: called with the address of the page.

    Raises:
        ParameterError: no walk is set up for the model.
    """
    settings = WalkSettings.of_model(model)
    live = LivePage(LiveWalk(model, settings, velocity=cruise(settings)), host, port)
    opened(live.page.url)
    try:
        live.run(seconds)
    except KeyboardInterrupt:
        pass
    finally:
        live.close()
