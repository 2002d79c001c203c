# SPDX-License-Identifier: Apache-2.0
"""The largest step that emulated servos receive: bad lines, pauses, late answers.

    python benchmarks/kondo_jumps.py [--minutes N] [--seed N]

Boards and driver are processes of their own. The driver swings joints at random and
jumps from end to end; its line loses and damages bytes, answers late or is unplugged,
and the process itself is stopped (SIGSTOP) for 0.1 to 10 s. What the boards took is
compared with what was said: a frame that was damaged and kept its sum cannot be seen by
anyone, and is counted apart, with how far a servo went astray for it until the next
sound frame came. Then `free()` is tried over late answers. Exit code 1: a
step above the limit that no such frame explains, a pause that was caught up faster than
the approach, or a `free()` that took longer than 2 s.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import signal
import tempfile
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from line_trial import RecordedLink, Said

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.board import ENERGISED, RobotState
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS, DEGREES, FREE

SETTINGS = load_robot()
LIMITS = SETTINGS.limits
LATE = 5.0
"""What a board takes was said no longer before [s]."""
AFTER, LONG = 0.2, 0.6
"""So soon after a pause of so long the approach is looked at [s]."""
FREED = 2.0
"""Longest time that freeing may take [s]."""


@dataclass(frozen=True)
class Condition:
    """What happens to the line and to the driver."""

    name: str
    faults: LineFaults = LineFaults()
    pauses: bool = False
    unplugged: bool = False


def conditions(seed: int) -> tuple[Condition, ...]:
    """All that are tried."""
    lost = [
        Condition(f"{100 * s:g} % of bytes lost", LineFaults(lost=s, seed=seed))
        for s in (0.002, 0.02, 0.1)
    ]
    damaged = [
        Condition(f"{100 * s:g} % corrupted", LineFaults(corrupted=s, seed=seed))
        for s in (0.002, 0.02, 0.1)
    ]
    late = LineFaults(late=0.05, delay=0.05, seed=seed)
    slow = LineFaults(late=0.3, delay=0.2, lost=0.01, seed=seed)
    bad = LineFaults(lost=0.02, corrupted=0.02, late=0.02, delay=0.1, seed=seed)
    return (
        Condition("no faults"),
        *lost,
        *damaged,
        Condition("5 % of answers 50 ms late", late),
        Condition("30 % 200 ms late, 1 % lost", slow),
        Condition("pauses of 0.1 to 10 s", pauses=True),
        Condition("pauses; 2 % lost, corrupted, late", bad, pauses=True),
        Condition("unplugged; 2 % lost, corrupted", bad, unplugged=True),
    )


def emulate(pipe: Connection, condition: Condition, port: Path) -> None:
    """Process of the boards."""
    taken: list[Said] = []
    rng = random.Random(condition.faults.seed)
    with Emulator(
        faults=condition.faults,
        link=port,
        watch=lambda t, command: taken.append(Said(t, command)),
    ) as boards:
        pipe.send(None)
        while not pipe.poll(rng.uniform(1.0, 4.0) if condition.unplugged else None):
            boards.unplug()
            time.sleep(rng.uniform(0.05, 1.0))
            boards.replug()
        pipe.recv()
    pipe.send(taken)


def drive(pipe: Connection, port: str, seed: int) -> None:
    """Process of the driver."""
    rng, said = random.Random(seed), list[Said]()
    joints = {c.joint: c for c in SETTINGS.channels.channels.values()}
    waves = {j: (rng.uniform(0.1, 1.0), rng.uniform(0.0, 6.0)) for j in joints}
    high, toggled, before, problems = False, 0.0, time.monotonic(), 0

    def opened(port: str, settings: RobotSettings) -> Rcb1Boards:
        return Rcb1Boards(RecordedLink(port, said), settings)

    # The joints go from end to end: what that lets touch does not matter here.
    settings = replace(SETTINGS, self_collision=None)
    robot = KondoRobot(settings, port, open_boards=opened)
    while True:
        try:
            robot.open()
            break
        except HumansError:
            time.sleep(0.1)
    pipe.send(None)
    while not pipe.poll(0.02):
        now = time.monotonic()
        # Every joint is sent to its other end after a pause, and now and then.
        if now > before + 0.1 or now > toggled + rng.uniform(1.5, 4.0):
            high, toggled = not high, now
        before = now
        angles = {}
        for joint, channel in joints.items():
            rate, phase = waves[joint]
            share = 0.5 + 0.1 * math.sin(phase + 2.0 * math.pi * rate * now)
            share += 0.35 if high else -0.35
            angles[joint] = channel.angle(
                channel.lower + share * (channel.upper - channel.lower)
            )
        try:
            if robot.state in (RobotState.LIMP, RobotState.STOPPED):
                robot.energise()  # as a person would, after a fault
            if robot.state in ENERGISED:
                robot.command(angles)
        except HumansError:
            problems += 1
    pipe.recv()
    robot.close()
    pipe.send((said, problems, robot.health().faults))


@dataclass
class Outcome:
    """What became of a condition.

    Attributes:
        frames: that boards took.
        undetected: of them, that were not sent: damaged, and the sum still right.
        step: largest between two that were sent [deg].
        astray: farthest that a servo went for one that was not sent [deg].
        after_pause: farthest that a channel was sent soon after a pause [deg].
    """

    frames: int = 0
    undetected: int = 0
    step: float = 0.0
    astray: float = 0.0
    after_pause: float = 0.0


def judge(
    taken: list[Said], said: list[Said], ends: list[float], seconds: float
) -> Outcome:
    """Steps of what boards took; ends of pauses that were long."""
    outcome = Outcome(len(taken))
    last: dict[int, tuple[int, ...]] = {}
    doubtful: dict[int, tuple[float, float, float]] = {}
    travel: dict[tuple[float, int, int], list[int]] = {}
    at, recent = 0, dict[rcb1.Command, float]()
    for t, command in taken:
        while at < len(said) and said[at].time <= t:
            recent[said[at].command] = said[at].time
            at += 1
        sound = recent.get(command, -math.inf) > t - LATE - seconds
        outcome.undetected += not sound
        if not isinstance(command, rcb1.SetPositions):
            continue
        board, values = command.board, command.channels
        if board in doubtful:
            since, distance, rate = doubtful.pop(board)
            outcome.astray = max(outcome.astray, min(distance, rate * (t - since)))
        if FREE in values and sound:
            last.pop(board, None)
            continue
        pairs = zip(last.get(board, values), values, strict=True)
        steps = [abs(b - a) for a, b in pairs if max(a, b) <= DEGREES]
        step = float(max(steps, default=0))
        if not sound:  # it counts until the next one, at the speed that it names
            doubtful[board] = (t, step, 1.0 / SPEED_STEPS[command.speed])
            continue
        outcome.step = max(outcome.step, step)
        last[board] = values
        for end in ends:
            if sound and end <= t <= end + AFTER:
                for k in range(CHANNELS):
                    if values[k] <= DEGREES:
                        travel.setdefault((end, board, k), []).append(values[k])
    distances = [max(v) - min(v) for v in travel.values()]
    outcome.after_pause = float(max(distances, default=0.0))
    return outcome


def try_condition(condition: Condition, seconds: float, seed: int) -> Outcome:
    """Drive under a condition for a while."""
    context = multiprocessing.get_context("spawn")
    rng, ends, paused = random.Random(seed), list[float](), 0.0
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        boards_pipe, theirs = context.Pipe()
        boards = context.Process(
            target=emulate, args=(theirs, condition, port), daemon=True
        )
        boards.start()
        boards_pipe.recv()
        driver_pipe, its = context.Pipe()
        driver = context.Process(target=drive, args=(its, str(port), seed), daemon=True)
        driver.start()
        driver_pipe.recv()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            time.sleep(min(rng.uniform(1.0, 4.0), left))
            if condition.pauses and driver.pid is not None:
                pause = 10.0 ** rng.uniform(-1.0, 1.0)
                os.kill(driver.pid, signal.SIGSTOP)
                time.sleep(pause)
                os.kill(driver.pid, signal.SIGCONT)
                paused = max(paused, pause)
                if pause > LONG:
                    ends.append(time.monotonic())
        time.sleep(1.0)
        driver_pipe.send(None)
        said, problems, faults = driver_pipe.recv()
        boards_pipe.send(None)
        taken = boards_pipe.recv()
        for process in (driver, boards):
            process.join(10.0)
            process.kill()
    outcome = judge(taken, said, ends, paused)
    print(
        f"{condition.name:34s} {outcome.frames:7d} {outcome.undetected:6d} "
        f"{outcome.step:6.0f} {outcome.astray:7.1f} "
        + (f"{outcome.after_pause:7.0f}" if ends else "      -")
        + f" {faults:5d} {problems:7d}",
        flush=True,
    )
    return outcome


def try_freeing(times: int, seed: int) -> float:
    """Free over late answers; the longest time it took [s]."""
    spent, failed = [], 0
    for k in range(times):
        faults = LineFaults(late=0.3, delay=0.2, seed=seed + k)
        with (
            Emulator(faults=faults) as boards,
            KondoRobot(SETTINGS, boards.port) as robot,
        ):
            robot.energise()
            for angle in (0.0, 0.1, 0.2, 0.3):
                robot.command({"head_yaw": angle})
                time.sleep(0.02)
            begun = time.monotonic()
            try:
                robot.free()
            except HumansError as error:
                print(error)
            failed += any(flag for b in boards.boards for flag in b.driven)
            spent.append(time.monotonic() - begun)
    spent.sort()
    print(
        f"free(), 30 % of answers 200 ms late: {times - failed} of {times}; "
        f"median {spent[times // 2]:.2f} s, longest {spent[-1]:.2f} s"
    )
    return math.inf if failed else spent[-1]


def main() -> None:
    """Try all conditions and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--frees", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tried = conditions(options.seed)
    seconds = 60.0 * options.minutes / len(tried)
    print(f"{seconds:.0f} s each; the limit of a step is {LIMITS.step:g} degrees")
    print(
        f"{'condition':34s}  frames unseen   step  astray  paused fault refused\n"
        f"{'':34s}                  [deg]   [deg]   [deg]"
    )
    wrong = []
    for condition in tried:
        outcome = try_condition(condition, seconds, options.seed)
        if outcome.step > LIMITS.step:
            wrong.append(f"{condition.name}: a step of {outcome.step:g} degrees")
        if outcome.after_pause > LIMITS.approach * AFTER + LIMITS.step:
            wrong.append(f"{condition.name}: caught up by {outcome.after_pause:g} deg")
    if options.frees and try_freeing(options.frees, options.seed) > FREED:
        wrong.append(f"free() failed, or took longer than {FREED:g} s")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
