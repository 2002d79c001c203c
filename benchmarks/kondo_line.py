# SPDX-License-Identifier: Apache-2.0
"""Set points over a bad serial line to emulated boards: what arrives, and how soon.

    python benchmarks/kondo_line.py [SECONDS] [LOST] [CORRUPTED] [SEED]

Commands at 50 Hz for both boards, on a pseudo-terminal with the timing of a real line;
the boards are a process of their own. Beside it, in the same run, the same line without
faults, and the usual driver: one frame after the other, four retries, a time-out of
30 ms.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from line_trial import LineTrial, emulated_port, try_line

from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import LineFaults
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import NoAnswerError, SerialLink

RATE = 50.0
SHARES = (50, 90, 99, 100)


def spread(seconds: np.ndarray) -> str:
    """Percentiles in milliseconds."""
    values = 1e3 * np.percentile(seconds, SHARES)
    return "  ".join(f"{p} %: {v:5.1f}" for p, v in zip(SHARES, values, strict=True))


def print_trial(title: str, trial: LineTrial) -> None:
    """Print what a trial gave."""
    print(f"\n{title}")
    for name, count in (
        ("acknowledged by both boards", trial.delivered),
        ("taken by both boards", trial.taken),
    ):
        share = 100.0 * count / trial.given
        print(f"  {name:28s} {count} of {trial.given} set points, {share:.2f} %")
    print(f"  from command to answer [ms]  {spread(trial.latencies)}")
    print(f"  one exchange [ms]            {spread(trial.line_latencies)}")
    print(f"  unanswered, said anew        {trial.repeated}")
    print(
        f"  frames taken                 {trial.frames}, of them {trial.wrong} damaged "
        "in a way that their sum does not see"
    )
    print(
        f"  they led a servo astray by   {trial.deviation:.2f} degrees at most, by one "
        f"or more for {1e3 * trial.astray:.0f} ms at most"
    )


def plain_driver(seconds: float, faults: LineFaults) -> None:
    """One frame after the other with fixed time-outs, as drivers use to do."""
    home = load_robot().channels.home()
    spent, failed, given = [], 0, 0
    with emulated_port(faults) as (port, _), SerialLink(port, adapt=False) as link:
        begun = time.monotonic()
        while (t := given / RATE) < seconds:
            time.sleep(max(begun + t - time.monotonic(), 0.0))
            given += 1
            start = time.monotonic()
            try:
                for board in (0, 1):
                    part = home[12 * board : 12 * board + 12]
                    link.exchange(rcb1.SetPositions(board, 4, part))
            except NoAnswerError:
                failed += 1
                continue
            spent.append(time.monotonic() - start)
        taken = time.monotonic() - begun
    in_time = sum(s < 1.0 / RATE for s in spent)
    print(f"\nThe same line, a plain driver with fixed time-outs ({taken:.0f} s)")
    print(
        f"  acknowledged within 20 ms    {in_time} of {given} set points, "
        f"{100.0 * in_time / given:.2f} %; given up {failed}"
    )
    print(f"  from command to answer [ms]  {spread(np.array(spent))}")


def main() -> None:
    """Measure and print."""
    numbers = [float(word) for word in sys.argv[1:]]
    seconds, lost, corrupted, seed = numbers + [60.0, 0.01, 0.01, 1][len(numbers) :]
    faults = LineFaults(lost=lost, corrupted=corrupted, seed=int(seed))
    print(f"{RATE:g} Hz to both boards, 115200 baud, {seconds:g} s")
    print_trial("No faults (10 s)", try_line(min(seconds, 10.0), LineFaults(), RATE))
    words = f"{100 * lost:g} % of bytes lost, {100 * corrupted:g} % corrupted"
    trial = try_line(seconds, faults, RATE)
    print_trial(words, trial)
    plain_driver(min(seconds, 20.0), faults)
    if trial.taken < 0.99 * trial.given:
        raise SystemExit("less than 99 % of the set points arrived")


if __name__ == "__main__":
    main()
