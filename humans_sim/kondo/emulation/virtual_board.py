# SPDX-License-Identifier: Apache-2.0
"""An RCB-1 without its hardware: memory, servos that take their time, answers.

Pure: it takes commands and times, and gives replies and angles. What the board's
documents leave open is assumed: a motion plays where the switch MOTION is on and
SLEEP is off; a board that sleeps leaves its servos limp; a channel that was never
commanded is at home; a read gives whole degrees of where the servo is led to. With a
body (:attr:`VirtualBoard.servo_angles`) a read gives where the joint is instead, and a
limp channel sets out from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import (
    BOARDS,
    CHANNELS,
    DEGREES,
    FREE,
    LOW,
    MOTION,
    SLEEP,
    TRIM_ZERO,
)

_MIDDLE = 90


@dataclass
class Memory:
    """The memory of a board.

    Attributes:
        poses: of the motions that were written: (motion, pose) to (speed, channels).
        lengths: poses of each motion.
        scenarios: (scenario, index) to motion.
        scenario_lengths: motions of each scenario.
        keys: remote address to (first, second, motion).
        trims: bytes, 20 for none.
    """

    home: tuple[int, ...]
    poses: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = field(
        default_factory=dict
    )
    lengths: dict[int, int] = field(default_factory=dict)
    scenarios: dict[tuple[int, int], int] = field(default_factory=dict)
    scenario_lengths: dict[int, int] = field(default_factory=dict)
    keys: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    trims: tuple[int, ...] = (TRIM_ZERO,) * CHANNELS
    switches: int = 0


@dataclass(frozen=True)
class _Segment:
    """From where, to where and when the channels go."""

    start: float
    end: float
    before: tuple[float, ...]
    after: tuple[float, ...]

    def at(self, t: float) -> tuple[float, ...]:
        if t >= self.end or self.end <= self.start:
            return self.after
        share = max(t - self.start, 0.0) / (self.end - self.start)
        return tuple(
            a + share * (b - a) for a, b in zip(self.before, self.after, strict=True)
        )


class Lead(NamedTuple):
    """Where a board leads its channels at a time, trims included.

    Attributes:
        angles: then (12) [deg].
        rates: how fast they move (12) [deg/s].
        until: when the rates change [s]; infinite at rest.
    """

    angles: tuple[float, ...]
    rates: tuple[float, ...]
    until: float


class VirtualBoard:
    """One board of a robot.

    Args:
        home: values of the twelve channels; unused ones are E1.

    Attributes:
        driven: which channels are given an angle; the others are free or unused.
        servo_angles: where the twelve servos are at a time, of a body that they turn
            [deg]; None: wherever they are led.

    Raises:
        ParameterError: a number is out of its range.
    """

    def __init__(self, board: int, home: Sequence[int]) -> None:
        if board not in range(BOARDS):
            raise ParameterError(f"board must be 0 to {BOARDS - 1}, not {board}")
        if len(home) != CHANNELS:
            raise ParameterError(f"{CHANNELS} channels must be given, not {len(home)}")
        self.board = board
        self.memory = Memory(tuple(home))
        self.driven = (False,) * CHANNELS
        self.servo_angles: Callable[[float], Sequence[float]] | None = None
        rest = tuple(float(v if v <= DEGREES else _MIDDLE) for v in home)
        self._unused = tuple(v > DEGREES for v in home)
        self._segments = [_Segment(-math.inf, -math.inf, rest, rest)]

    def angles(self, t: float) -> tuple[float, ...]:
        """Where the channels are led to at a time, trims included [deg]."""
        trims = (trim - TRIM_ZERO for trim in self.memory.trims)
        now = self._values(t)
        return tuple(v + trim for v, trim in zip(now, trims, strict=True))

    def lead(self, t: float) -> Lead:
        """Where the channels are led to at a time, and what follows."""
        angles, segment = self.angles(t), self._segment(t)
        if t < segment.end:
            span = segment.end - segment.start
            pairs = zip(segment.before, segment.after, strict=True)
            return Lead(angles, tuple((b - a) / span for a, b in pairs), segment.end)
        starts = [other.start for other in self._segments if other.start > t]
        return Lead(angles, (0.0,) * CHANNELS, min(starts, default=math.inf))

    def arrival(self) -> float:
        """When the last segment that was begun ends [s]."""
        return self._segments[-1].end

    def _segment(self, t: float) -> _Segment:
        """The last segment that was begun by a time."""
        current = self._segments[0]
        for segment in self._segments:
            if segment.start <= t:
                current = segment
        return current

    def _values(self, t: float) -> tuple[float, ...]:
        return self._segment(t).at(t)

    def _places(self, t: float) -> tuple[float, ...]:
        """Where the servos are, trims aside [deg]."""
        if self.servo_angles is None:
            return self._values(t)
        places = zip(self.servo_angles(t), self.memory.trims, strict=True)
        return tuple(
            min(max(place - (trim - TRIM_ZERO), 0.0), float(DEGREES))
            for place, trim in places
        )

    def hear(self, command: rcb1.Command, t: float) -> rcb1.Reply | None:
        """Do what a command says; the answer, or None if it is for another board."""
        if isinstance(command, rcb1.GetId):
            return rcb1.BoardId(self.board)
        if isinstance(command, rcb1.SetId):
            self.board = command.board
            return rcb1.Acknowledged(self.board)
        if getattr(command, "board", self.board) != self.board:
            return None
        return self._reply(command, t) or self._execute(command, t)

    def _reply(self, command: rcb1.Command, t: float) -> rcb1.Reply | None:
        """The answer to a question; None if it is none."""
        memory, me = self.memory, self.board
        match command:
            case rcb1.GetPositions():
                return rcb1.Channels(me, self._read(t))
            case rcb1.GetHome():
                return rcb1.Channels(me, memory.home)
            case rcb1.ReadPose(motion=motion, pose=pose):
                empty = (0, (LOW,) * CHANNELS)
                return rcb1.StoredPose(me, *memory.poses.get((motion, pose), empty))
            case rcb1.GetMotionLength(motion=motion):
                return rcb1.MotionLength(me, memory.lengths.get(motion, 0))
            case rcb1.GetScenario(scenario=scenario, index=index):
                entry = memory.scenarios.get((scenario, index), 0)
                return rcb1.ScenarioMotion(me, entry)
            case rcb1.GetScenarioLength(scenario=scenario):
                length = memory.scenario_lengths.get(scenario, 0)
                return rcb1.ScenarioLength(me, length)
            case rcb1.GetSwitches():
                return rcb1.Switches(me, memory.switches)
            case rcb1.GetRemoteKeys(key=key):
                return rcb1.RemoteKeys(me, *memory.keys.get(key, (0, 0, 0)))
            case rcb1.GetTrims():
                return rcb1.Trims(me, memory.trims)
        return None

    def _execute(self, command: rcb1.Command, t: float) -> rcb1.Reply:
        """Do an order."""
        memory = self.memory
        match command:
            case rcb1.SetPositions(speed=speed, channels=channels):
                self._stop(t)
                self._go(t, speed, channels)
            case rcb1.StoreHome():
                memory.home = self._read(t)
            case rcb1.WritePose(motion=m, pose=p, speed=speed, channels=channels):
                memory.poses[m, p] = (speed, channels)
            case rcb1.SetMotionLength(motion=motion, poses=poses):
                memory.lengths[motion] = poses
            case rcb1.SetScenario(scenario=scenario, index=index, motion=motion):
                memory.scenarios[scenario, index] = motion
            case rcb1.SetScenarioLength(scenario=scenario, length=length):
                memory.scenario_lengths[scenario] = length
            case rcb1.SetSwitches(switches=switches):
                memory.switches = switches
                if switches & SLEEP:
                    self._stop(t)
                    self.driven = (False,) * CHANNELS
            case rcb1.PlayMotion(motion=motion):
                self._play(t, [motion])
            case rcb1.PlayScenario(scenario=scenario):
                count = memory.scenario_lengths.get(scenario, 0)
                places = [(scenario, index) for index in range(count)]
                self._play(t, [memory.scenarios.get(place, 0) for place in places])
            case rcb1.SetRemoteKeys(key=key, first=first, second=second, motion=motion):
                memory.keys[key] = (first, second, motion)
            case rcb1.SetTrims(trims=trims):
                memory.trims = trims
        return rcb1.Acknowledged(self.board)

    def _read(self, t: float) -> tuple[int, ...]:
        """Whole degrees, E1 where a channel is unused."""
        values = zip(self._places(t), self._unused, strict=True)
        return tuple(LOW if unused else round(v) for v, unused in values)

    def _stop(self, t: float) -> None:
        """End what is played; the channels stay where they are now."""
        now = self._values(t)
        self._segments = [_Segment(t, t, now, now)]

    def _go(self, t: float, speed: int, channels: Sequence[int]) -> None:
        """Begin a segment after the last one, not before t."""
        last = self._segments[-1]
        start = max(t, last.end)
        before = tuple(
            led if driven else place
            for led, driven, place in zip(
                last.after, self.driven, self._places(t), strict=True
            )
        )
        after = tuple(
            float(new) if new <= DEGREES else old
            for old, new in zip(before, channels, strict=True)
        )
        largest = max(abs(a - b) for a, b in zip(before, after, strict=True))
        end = start + largest * SPEED_STEPS[speed]
        self._segments.append(_Segment(start, end, before, after))
        awake = not self.memory.switches & SLEEP
        self.driven = tuple(
            awake and (new <= DEGREES or (was and new != FREE))
            for was, new in zip(self.driven, channels, strict=True)
        )
        self._unused = tuple(
            new > DEGREES and new != FREE and was
            for was, new in zip(self._unused, channels, strict=True)
        )

    def _play(self, t: float, motions: Sequence[int]) -> None:
        memory = self.memory
        if not memory.switches & MOTION or memory.switches & SLEEP:
            return
        self._stop(t)
        for motion in motions:
            for pose in range(memory.lengths.get(motion, 0)):
                if (motion, pose) in memory.poses:
                    self._go(t, *memory.poses[motion, pose])


def virtual_boards(ids: Sequence[int], home: Sequence[int]) -> tuple[VirtualBoard, ...]:
    """Boards of a robot at home, of their ids and of the values of all channels."""
    return tuple(
        VirtualBoard(number, home[CHANNELS * k : CHANNELS * (k + 1)])
        for k, number in enumerate(ids)
    )
