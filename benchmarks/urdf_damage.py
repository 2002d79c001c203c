# SPDX-License-Identifier: Apache-2.0
"""Damaged numbers, attributes and elements of a URDF, and what is loaded of them.

    python benchmarks/urdf_damage.py [--cases N] [--seed S] [--robot robot.urdf]

Each kind of damage is done N times at places by chance. A file may be loaded as what a
second, independent reading of it says (mass matrix and limits), or refused with an
error that names line and element. Anything else is a fault, and the exit code is then
1: loaded otherwise (silent), an error of another type (untyped) or without its place
(unplaced).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from urdf_numbers import NUMERIC
from urdf_reading import EQUAL, OUTCOMES, REFUSED, judge

import humans_sim as hs
from humans_sim.core.errors import ModelFileWarning


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=5, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robot", type=Path, help="instead of the KHR-1")
    given = parser.parse_args()
    robot = hs.load_model(given.robot or "khr1")
    tree = ElementTree.fromstring(robot.urdf())
    ElementTree.indent(tree)  # an element a line
    sound = ElementTree.tostring(tree, encoding="unicode")
    warnings.simplefilter("ignore", ModelFileWarning)
    print(f"{'':30}" + "".join(f"{word:>10}" for word in OUTCOMES) + "  for example")
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        for name, kind in NUMERIC.items():
            counts: Counter[str] = Counter()
            shown: dict[str, str] = {}
            for case in range(given.cases):
                damage = kind(sound, random.Random(f"{given.seed} {name} {case}"))
                path.write_text(damage.text, encoding="utf-8")
                outcome, why = judge(path, damage.words, damage.line)
                counts[outcome] += 1
                shown.setdefault(outcome, why.removeprefix(f"{path}:"))
            example = shown[max(counts, key=OUTCOMES.index)]
            _print_row(name, counts, example)
            totals += counts
    _print_row(f"{len(NUMERIC)} kinds", totals)
    return 0 if totals[EQUAL] + totals[REFUSED] == totals.total() else 1


def _print_row(name: str, counts: Counter[str], example: str = "") -> None:
    cells = "".join(f"{counts[word]:>10}" for word in OUTCOMES)
    print(f"{name:30}{cells}  {example}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
