# SPDX-License-Identifier: Apache-2.0
"""Cost of calling a kernel from Python: arrays one by one, as a tuple, as a named one.

numba looks up the types of the arguments at every call. The kernels do nothing, so what
is timed is the call. Rounds of the contenders alternate, and the best round counts.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numba import njit

ROUNDS, CALLS = 500, 200


class Six(NamedTuple):
    """Six arrays."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    e: np.ndarray
    f: np.ndarray


@njit
def flat(a, b, c, d, e, f, x):
    """Arrays one by one."""
    return a[0] + x[0]


@njit
def in_tuple(arrays, x):
    """Arrays in a tuple, plain or named."""
    return arrays[0][0] + x[0]


def seconds(call: Callable[[], object]) -> float:
    """Time of one call, averaged over a round."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begun) / CALLS


def main() -> None:
    """Print the best times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print(
        f"On {platform.machine()}, Python {platform.python_version()}, "
        f"numba {numba.__version__}"
    )
    arrays, x = tuple(np.ones(3) for _ in range(6)), np.ones(3)
    named = Six(*arrays)
    contenders: dict[str, Callable[[], object]] = {
        "six arrays": lambda: flat(*arrays, x),
        "a plain tuple of them": lambda: in_tuple(arrays, x),
        "a named tuple of them": lambda: in_tuple(named, x),
    }
    best = dict.fromkeys(contenders, np.inf)
    for call in contenders.values():
        call()
    for _ in range(rounds):
        for name, call in contenders.items():
            best[name] = min(best[name], 1e6 * seconds(call))
    for name, value in best.items():
        print(f"{name}: {value:.2f} us")


if __name__ == "__main__":
    main()
