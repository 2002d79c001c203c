# SPDX-License-Identifier: Apache-2.0
"""A walker that gets up where it fell, and resumes its walk.

- WALKING: walks or stands, led by the walker, until it falls.
- FALLEN: goes to a safe posture, and waits until it lies still; where it does not get
  up by itself, until it is asked to.
- GETTING_UP: plays the motion for the side on which it lies.
- STANDING: goes to the posture of the walk, and walks on.
- GAVE_UP: stays as it lies until it is asked again.

A motion that ends upright leads to STANDING, any other one to FALLEN again: a robot
that lies on its side is rolled over first. What it knows is what the walker knows:
attitude and angular velocity of the base.

Also its controller in a simulation, and the start of a robot that lies on a side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.falls.fall_detector import (
    FallDetector,
    Lying,
    PoseSequence,
    lying,
    tilt_of,
)
from humans_sim.control.walking.com_estimator import Approach, WalkSensors
from humans_sim.control.walking.footsteps import Velocity
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.walker import WalkCommand, Walker
from humans_sim.core.arrays import PositiveNumbers
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.results.records import POINT, Sample


class RiseState(IntEnum):
    """The state of a robot that may fall."""

    WALKING = 0
    FALLEN = 1
    GETTING_UP = 2
    STANDING = 3
    GAVE_UP = 4


@dataclass(frozen=True)
class RiseSettings(PositiveNumbers):
    """How a robot gets up.

    Attributes:
        speed: of the fastest joint on the way to the safe posture and to the first
            pose of a motion [rad/s].
        upright: tilt of the base below which a motion has put it on its feet [rad].
        settle_time: for which it stays still after a motion, and before it walks [s].
        approach_time: from the last pose to the posture of the walk [s].
        attempts: motions that it tries before it gives up.
    """

    speed: float = 2.0
    upright: float = math.radians(20.0)
    settle_time: float = 0.4
    approach_time: float = 0.5
    attempts: int = 10


_WORDS = {
    RiseState.FALLEN: "it has fallen",
    RiseState.GETTING_UP: "it gets up {}",
    RiseState.STANDING: "it {}",
    RiseState.GAVE_UP: "it gave up {}",
}


class RisingCommand(NamedTuple):
    """The command of a rising walker at one time.

    Attributes:
        joints: angles for the servos (njoints,) [rad].
        motion: name of the motion under way, empty where there is none.
        walk: the walker's command; the last one while it does not walk.
    """

    joints: np.ndarray
    state: RiseState
    lying: Lying
    motion: str
    walk: WalkCommand


class RiseEvent(NamedTuple):
    """A change to a state at a time [s], with its detail in words."""

    time: float
    state: RiseState
    detail: str


class RisingWalker:
    """Leads a biped that may fall; commands are given here instead of to the pattern.

    Args:
        walker: leads it while it is on its feet.
        motions: to get up, by the side on which it lies.
        safe: joint angles of a robot that has fallen (njoints,) [rad]; straight unless
            given.
        settings: how it gets up.
        automatic: whether it gets up by itself, or is asked to by :meth:`get_up`.

    Attributes:
        events: changes of the state, the newest last.
    """

    def __init__(
        self,
        walker: Walker,
        motions: Mapping[Lying, PoseSequence],
        safe: np.ndarray | None = None,
        settings: RiseSettings | None = None,
        *,
        automatic: bool = True,
    ) -> None:
        missing = [side.value for side in Lying if side not in motions]
        missing.remove(Lying.NOT.value)
        if missing:
            raise ParameterError(
                f"no motion gets the robot up from its {', '.join(missing)}"
            )
        self.walker, self._motions = walker, dict(motions)
        straight = np.zeros(len(walker.model.joint_names))
        self._safe = straight if safe is None else np.array(safe, dtype=float)
        self.settings, self.automatic = settings or RiseSettings(), automatic
        self._detector = FallDetector(walker.settings.fall_tilt)
        self.reset()

    @property
    def period(self) -> float:
        """Time between two ticks [s]."""
        return self.walker.period

    def reset(self, t_start: float = 0.0) -> None:
        """Stand still from a time on, whatever was before."""
        self.walker.reset(t_start)
        self._detector.reset()
        self.state, self.events = RiseState.WALKING, list[RiseEvent]()
        self._walk: WalkCommand | None = None
        self._posture = self._joints = self.walker.start()[7:]
        self._path: PoseSequence | None = None
        self._approach: Approach | None = None
        self._began = t_start
        self._tries = 0
        self._velocity: Velocity | None = None
        self._steps: int | None = None
        self._asked = False

    def command(self, vx: float, vy: float, wz: float) -> None:
        """Walk with a velocity, now or once it stands again."""
        self._velocity, self._steps = Velocity(vx, vy, wz), None
        if self.state is RiseState.WALKING:
            self.walker.pattern.command(vx, vy, wz)

    def walk(
        self, steps: int, vx: float = 0.0, vy: float = 0.0, wz: float = 0.0
    ) -> None:
        """Make a number of steps; after a fall those that are left."""
        self._velocity, self._steps = Velocity(vx, vy, wz), steps
        if self.state is RiseState.WALKING:
            self.walker.pattern.walk(steps, vx, vy, wz)

    def stop(self) -> None:
        """Stand still; do not walk on after a fall."""
        self._velocity = self._steps = None
        self.walker.pattern.stop()

    def get_up(self) -> None:
        """Get up, where it lies and waits to be asked; try again, where it gave up."""
        if self.state not in (RiseState.FALLEN, RiseState.GAVE_UP):
            raise ParameterError("it cannot get up: it has not fallen")
        self._asked = True

    def tick(self, t: float, sensors: WalkSensors) -> RisingCommand:
        """The command that the servos reach one period after ``t`` [s].

        Raises: as of :meth:`Walker.tick`.
        """
        self._detector.update(t, sensors.attitude, sensors.angular_velocity)
        if self.state is not RiseState.WALKING:
            self._tick_rise(t, sensors)
        if self.state is RiseState.WALKING:  # again, perhaps
            self._walk = self.walker.tick(t, sensors)
            if self._walk.fallen:  # a body that steps to catch itself leans far
                self._fall(t)
            else:
                self._joints = self._walk.joints
        assert self._walk is not None
        motion = ""
        if self.state is RiseState.GETTING_UP and self._path is not None:
            motion = self._path.name
        return RisingCommand(
            self._joints, self.state, lying(sensors.attitude), motion, self._walk
        )

    def _tick_rise(self, t: float, sensors: WalkSensors) -> None:
        due = t - self._began + self.period
        if self._path is not None:
            self._joints = self._path.at(due)
        elif self._approach is not None:
            self._joints = self._approach.at(t + self.period)
        if self.state is RiseState.FALLEN:
            self._wait_for_rest(t)
        elif self.state is RiseState.GETTING_UP:
            assert self._path is not None
            if due > self._path.duration + self.settings.settle_time:
                if tilt_of(sensors.attitude) < self.settings.upright:
                    self._stand(t)
                else:
                    self._fall(t, again=True)
        elif self.state is RiseState.STANDING:
            if tilt_of(sensors.attitude) > self.walker.settings.fall_tilt:
                self._fall(t, again=True)
            elif due > self.settings.approach_time + self.settings.settle_time:
                self._approach = None
                self._detector.reset()
                self.walker.reset(t)
                self._change(
                    t, RiseState.WALKING, "walks on" if self._velocity else "stands"
                )
                if self._velocity is not None and self._steps is None:
                    self.walker.pattern.command(*self._velocity)
                elif self._velocity is not None and self._steps:
                    self.walker.pattern.walk(self._steps, *self._velocity)
        elif self._asked:
            self._tries = 0
            self._fall(t, again=True)

    def _fall(self, t: float, again: bool = False) -> None:
        """Go to the safe posture, then see how it lies."""
        self._detector.reset()
        if not again:
            self._tries, self._asked = 0, False
            if self._steps is not None and self._walk is not None:
                self._steps = max(self._steps - self._walk.plan.steps, 0)
        self._follow(t, PoseSequence("safe", np.zeros(1), self._safe[None]))
        self._change(t, RiseState.FALLEN, "lies again" if again else "falls")

    def _wait_for_rest(self, t: float) -> None:
        assert self._path is not None
        over = t - self._began + self.period > self._path.duration
        if self.waits or not (over and self._detector.at_rest):
            return
        side = self._detector.side
        if side is Lying.NOT:
            self._stand(t)
        elif self._tries >= self.settings.attempts:
            self._asked = False
            self._change(t, RiseState.GAVE_UP, f"after {self._tries} motions")
        else:
            self._tries += 1
            self._follow(t, self._motions[side])
            self._change(t, RiseState.GETTING_UP, f"from its {side.value}")

    @property
    def waits(self) -> bool:
        """Whether it lies, and does nothing about it unless it is asked."""
        if self.state is RiseState.FALLEN:
            return not (self.automatic or self._asked)
        return self.state is RiseState.GAVE_UP

    @property
    def text(self) -> str:
        """Its state in words; empty while it walks."""
        if self.state is RiseState.WALKING or not self.events:
            return ""
        if self.state is RiseState.FALLEN and self.waits:
            return "it has fallen, and waits to be asked to get up"
        return _WORDS[self.state].format(self.events[-1].detail)

    def _stand(self, t: float) -> None:
        self._path, self._began = None, t
        duration = self.settings.approach_time
        self._approach = Approach(self._joints, self._posture, t, duration)
        self._change(t, RiseState.STANDING, "is on its feet")

    def _follow(self, t: float, motion: PoseSequence) -> None:
        """Play a motion from the present set points."""
        self._path = motion.after(self._joints, self.settings.speed)
        self._approach, self._began = None, t

    def _change(self, t: float, state: RiseState, detail: str) -> None:
        self.state = state
        self.events.append(RiseEvent(t, state, detail))


class RisingWalk(ServoWalk):
    """Gives what a robot measures to a rising walker, and its angles to the servos.

    Commands that come while the robot lies are followed once it stands again; the lag
    of its servos counts while it walks [s].

    Attributes:
        last: what it commanded at the last call; None before the first one.
    """

    def __init__(
        self,
        rising: RisingWalker,
        schedule: Sequence[ScheduledCommand] = (),
        lag: float = 0.0,
    ) -> None:
        super().__init__(rising.walker, schedule, lag)
        self.rising = rising
        self.last: RisingCommand | None = None

    @property
    def events(self) -> Sequence[RiseEvent]:
        """Falls and what followed, in the order of time."""
        return tuple(self.rising.events)

    def _begin(self, t: float) -> None:
        self.rising.reset(t)
        self.last = None

    def _tick(self, t: float, sample: Sample) -> np.ndarray:
        self.last = self.rising.tick(t, self.sensors(sample))
        self.commands.append(self.last.walk)
        if self.rising.state is RiseState.WALKING:
            return self._ahead(self.last.joints)
        return self.last.joints

    def _give(self, command: ScheduledCommand) -> None:
        if command.velocity is None:
            self.rising.stop()
        elif command.steps is None:
            self.rising.command(*command.velocity)
        else:
            self.rising.walk(command.steps, *command.velocity)


_TURNS = {
    Lying.FRONT: (0.0, math.pi / 2),
    Lying.BACK: (0.0, -math.pi / 2),
    Lying.LEFT: (-math.pi / 2, 0.0),
    Lying.RIGHT: (math.pi / 2, 0.0),
}


def lying_on(
    system: ModelSystem, side: Lying, joints: np.ndarray | None = None
) -> np.ndarray:
    """A configuration in which the lowest point of the body touches the floor.

    In the system the whole body touches; it lies on a side, its joints straight unless
    they are given (njoints,) [rad].
    """
    if side not in _TURNS:
        raise ParameterError(f"the side to lie on must be given, not {side!r}")
    roll, pitch = _TURNS[side]
    q = system.model.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(roll, pitch, 0.0)).coeffs()
    if joints is not None:
        q[7:] = joints
    touching = [k for k, kind in enumerate(system.contacts.kinds) if kind == POINT]
    q[2] -= system.gaps(q)[touching].min()
    return np.asarray(q)
