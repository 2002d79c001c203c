# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile files through every reader.

    python benchmarks/fuzz_readers.py [--cases N] [--reader NAME] [--seed S]

Sound files, written by the package itself, are damaged at random and read in processes
with limits of 5 s and 1 GB. A reader may take a file or refuse it with an error of the
package. A fault, and the exit code is then 1, is any other exception (untyped), more
time (hang) or memory, a process that dies, and a file that is taken for something else
(silent): what cannot be, other numbers than an independent reading of the same bytes
finds, or other ones than those of the sound file where only white space, comments or
the order of keys changed. N is the number of cases of all readers together; cheap
readers get more of them. The same seed gives the same cases; another one gives more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from fuzz_cases import make_work
from fuzz_workers import FAULTS, OUTCOMES, Tally, run_cases

LIMIT = 5.0
"""Processor time that a file may take [s]."""


def fuzz(readers: list[str], cases: int, seed: int, data: str = "") -> dict[str, Tally]:
    """Tallies by reader, two at a time; each is printed when it is done."""
    from fuzz_seeds import write_seeds
    from fuzz_targets import TARGETS

    share = sum(1 / TARGETS[reader].cost for reader in readers)
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))

        def run(reader: str) -> Tally:
            count = round(cases / share / TARGETS[reader].cost)
            arguments = (reader, folder, data, seed)
            every = range(max(count, 1))
            tally = run_cases(make_work, arguments, every, LIMIT, "fuzz_targets")
            _line(reader, tally)
            for case, text in tally.faults[:20]:
                print(f"{reader} case {case}: {text}", flush=True)
            return tally

        head = "".join(f"{word:>10}" for word in ("cases", *OUTCOMES, "MB", "s"))
        print(f"{'':16}{head}", flush=True)
        with ThreadPoolExecutor(2) as pool:
            return dict(zip(readers, pool.map(run, readers), strict=True))


def report(tallies: dict[str, Tally]) -> bool:
    """Print their sum; whether all is well."""
    totals = Tally()
    for tally in tallies.values():
        totals.counts += tally.counts
        totals.memory = max(totals.memory, tally.memory)
        totals.seconds = max(totals.seconds, tally.seconds)
    _line("all", totals)
    return not any(totals.counts[word] for word in FAULTS)


def _line(name: str, tally: Tally) -> None:
    numbers = [sum(tally.counts.values()), *(tally.counts[word] for word in OUTCOMES)]
    cells = "".join(f"{number:>10}" for number in (*numbers, round(tally.memory)))
    print(f"{name:16}{cells}{tally.seconds:>10.1f}", flush=True)


def main() -> int:
    """Command line."""
    from fuzz_targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--reader", choices=sorted(TARGETS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="", help="folder of more sound files")
    given = parser.parse_args()
    readers = given.reader or list(TARGETS)
    return 0 if report(fuzz(readers, given.cases, given.seed, given.data)) else 1


if __name__ == "__main__":
    sys.exit(main())
