# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile files through every reader.

    python benchmarks/fuzz_readers.py [--cases N] [--reader NAME] [--seed S]

Sound files, written by the package itself, are damaged at random and read in processes
with limits of time and memory. A reader may take a file or refuse it with an error of
the package; any other exception, a hang, a crash, or taking what cannot be is a fault,
and the exit code is then 1. N is the number of cases of all readers together; cheap
readers get more of them. The same seed gives the same cases.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from fuzz_workers import (
    ACCEPTED,
    FAULTS,
    OUTCOMES,
    READ,
    REFUSED,
    SPECIAL,
    UNTYPED,
    Tally,
    Work,
    clean_folder,
    described,
    run_cases,
)

LIMIT = 5.0
"""Processor time that a file may take [s]."""


def make_work(reader: str, seeds: str, data: str, seed: int) -> Work:
    """What does a case of a reader; called in the worker's process."""
    from fuzz_targets import TARGETS

    from humans_sim.core.errors import HumansError

    target, home = TARGETS[reader], Path(seeds)
    files = sorted((home / target.seeds).iterdir())
    if data:
        endings = {path.suffix for path in files}
        candidates = (path for path in Path(data).rglob("*") if path.suffix in endings)
        if reader in ("trc", "c3d", "motion", "urdf"):
            files += sorted(
                path for path in candidates if path.stat().st_size < 1 << 22
            )
    contents = [path.read_bytes() for path in files]
    for path in files[:1]:  # kernels compile, models load: not a matter of a case
        with clean_folder() as folder:
            _placed(folder, path, path.read_bytes(), target, home)
            target.read(folder / (target.name or path.name))

    def work(case: int) -> tuple[str, str]:
        chance = random.Random(f"{seed} {reader} {case}")
        with clean_folder() as folder:
            k = chance.randrange(len(files))
            path = folder / (target.name or files[k].name)
            if case < len(SPECIAL):
                _placed(folder, files[k], None, target, home)
                SPECIAL[case](path)
            else:
                content = target.damage(contents[k], chance, contents)
                _placed(folder, files[k], content, target, home)
            try:
                target.read(path)
            except HumansError as error:
                text = str(error)
                if "\n" in text.strip() and reader not in ("urdf", "xacro", "mesh"):
                    return UNTYPED, f"an error of many lines: {text[:80]!r}"
                return REFUSED, ""
            except AssertionError as error:
                return ACCEPTED, described(error)
            except BaseException as error:
                return UNTYPED, described(error)
            return READ, ""

    return work


def _placed(folder: Path, seed: Path, content: bytes | None, target, home) -> None:
    for beside in target.beside:
        for path in (home / beside).iterdir():
            shutil.copy(path, folder / path.name)
    if content is not None:
        (folder / (target.name or seed.name)).write_bytes(content)


def fuzz(readers: list[str], cases: int, seed: int, data: str = "") -> dict[str, Tally]:
    """Tallies by reader; two at a time."""
    from fuzz_seeds import write_seeds
    from fuzz_targets import TARGETS

    share = sum(1 / TARGETS[reader].cost for reader in readers)
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))

        def run(reader: str) -> Tally:
            count = round(cases / share / TARGETS[reader].cost)
            arguments = (reader, folder, data, seed)
            tally = run_cases(make_work, arguments, range(max(count, 1)), LIMIT)
            print(f"{reader} is done", file=sys.stderr, flush=True)
            return tally

        with ThreadPoolExecutor(2) as pool:
            return dict(zip(readers, pool.map(run, readers), strict=True))


def report(tallies: dict[str, Tally]) -> bool:
    """Print a line for each; whether all is well."""
    head = "".join(f"{word:>10}" for word in ("cases", *OUTCOMES, "MB", "s"))
    print(f"{'':16}{head}")
    totals = Tally()
    for name, tally in tallies.items():
        totals.counts += tally.counts
        totals.memory = max(totals.memory, tally.memory)
        totals.seconds = max(totals.seconds, tally.seconds)
        _line(name, tally)
    _line("all", totals)
    for name, tally in tallies.items():
        for case, text in tally.faults[:20]:
            print(f"{name} case {case}: {text}")
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
