# SPDX-License-Identifier: Apache-2.0
"""The largest step of servos on boards that were emulated without knowing the driver.

    python benchmarks/kondo_second_boards.py [--seconds N] [--seed N]

The driver of kondo_jumps.py, in a process of its own, swings every joint at random and
from end to end. The boards are those of test/helpers/second_boards.py, which were
written from the protocol alone. Their line loses, garbles and delays frames, the
adapter is unplugged, the robot is switched off and bent, the driver is stopped
(SIGSTOP) and killed (SIGKILL). Exit code 1: a servo was sent further than the limit of
a step from its set point before, or from where it stood limp.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kondo_jumps import LIMITS, drive

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from second_boards import SecondBoards

SPAWN = multiprocessing.get_context("spawn")
HEAD = 6


class Driver:
    """The driver's process."""

    def __init__(self, port: str, seed: int) -> None:
        """Start it, and wait until it has opened the port."""
        self._arguments = port, seed
        self.start()

    def start(self) -> None:
        """Begin, or begin anew."""
        self._pipe, its = SPAWN.Pipe()
        self._process = SPAWN.Process(
            target=drive, args=(its, *self._arguments), daemon=True
        )
        self._process.start()
        self._pipe.recv()

    def pause(self, seconds: float) -> None:
        """Stop it for a while."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join()


def switch_off(boards: SecondBoards, rng: random.Random) -> None:
    """No power for longer than the driver bears; a hand bends the head."""
    boards.power(False)
    boards.bend(HEAD, rng.uniform(0.0, 180.0))
    time.sleep(rng.uniform(2.5, 4.0))
    boards.power(True)


def unplug(boards: SecondBoards, rng: random.Random) -> None:
    """The adapter is gone for a while."""
    boards.unplug()
    time.sleep(rng.uniform(0.05, 1.0))
    boards.replug()


def restart(driver: Driver) -> None:
    """Kill the driver, and start another one."""
    driver.kill()
    driver.start()


def trouble(boards: SecondBoards, driver: Driver, rng: random.Random) -> dict:
    """What happens every second or so, by name."""
    happens: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "replies lost": lambda: boards.lose(rng.randint(1, 20)),
        "requests lost": lambda: boards.lose(0, requests=rng.randint(1, 20)),
        "replies garbled": lambda: boards.garble(rng.randint(1, 20)),
        "requests garbled": lambda: boards.garble(0, requests=rng.randint(1, 20)),
        "replies late": lambda: boards.delay(rng.uniform(0.02, 0.3), 10),
        "replies very late": lambda: boards.delay(rng.uniform(0.3, 1.5)),
        "noise": lambda: boards.noise(rng.randbytes(rng.randint(1, 300))),
        "zeros": lambda: boards.noise(bytes(rng.randint(1, 300))),
        "unplugged": lambda: unplug(boards, rng),
        "switched off": lambda: switch_off(boards, rng),
        "paused": lambda: driver.pause(10.0 ** rng.uniform(-1.0, 0.7)),
        "killed": lambda: restart(driver),
    }
    return happens


def main() -> None:
    """Try everything and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), []
    print(f"{options.seconds:g} s each; a step is {LIMITS.step:g} degrees at most")
    for counts_bytes in (False, True):
        with SecondBoards(counts_bytes=counts_bytes) as boards:
            driver = Driver(boards.path, options.seed)
            try:
                for name, happen in trouble(boards, driver, rng).items():
                    with boards.lock:
                        boards.log.clear()
                    end = time.monotonic() + options.seconds
                    while time.monotonic() < end:
                        time.sleep(rng.uniform(0.1, 1.0))
                        happen()
                    step, frames = boards.largest_step(), len(boards.heard(0xFD))
                    mode = "counts bytes" if counts_bytes else "begins anew"
                    print(f"{mode:12s}  {name:17s} {frames:6d} set points, {step:3.0f}")
                    if step > LIMITS.step or not frames:
                        wrong.append(f"{name}: {frames} set points, {step:g} degrees")
            finally:
                with suppress(ProcessLookupError):
                    driver.kill()
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
