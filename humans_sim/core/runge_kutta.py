# SPDX-License-Identifier: Apache-2.0
r"""Explicit Runge-Kutta methods: their coefficients, and one step of any of them.

With the stages :math:`k_i = f(t + c_i h,\ q + h \sum_j a_{ij} k_j)` a step is
:math:`q + h \sum b_i k_i`; a pair of methods on the same stages has the error
:math:`h \sum e_i k_i`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Rates = Callable[[float, np.ndarray], np.ndarray]
"""Of time [s] and state (m,): the rates of the state (m,)."""


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge-Kutta method.

    Attributes:
        nodes: of the stages.
        stages: coefficients of each stage.
        weights: of the stages in the step.
        errors: of the stages in the estimate of the error; empty: there is none.
    """

    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    errors: tuple[float, ...] = ()


CLASSICAL = Tableau(
    (0.0, 0.5, 0.5, 1.0),
    ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
)
DORMAND_PRINCE = Tableau(
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)
_FIFTH = (37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771)
_FOURTH = (2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4)
CASH_KARP = Tableau(
    (0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (3 / 10, -9 / 10, 6 / 5),
        (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
        (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
    ),
    _FIFTH,
    tuple(fifth - fourth for fifth, fourth in zip(_FIFTH, _FOURTH, strict=True)),
)


def runge_kutta_step(
    tableau: Tableau,
    rates: Rates,
    t: float,
    q: np.ndarray,
    h: float,
    slope: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The state after one step, and its error.

    Args:
        tableau: the method.
        rates: of time and state.
        t: at the start [s].
        q: the state there (m,).
        h: size of the step [s].
        slope: rates at the start, where they are known.

    Returns:
        the state (m,), and its error (m,), zero where the tableau has none.
    """
    k = [rates(t, q) if slope is None else slope]
    for node, row in zip(tableau.nodes[1:], tableau.stages[1:], strict=True):
        k.append(rates(t + node * h, q + h * (np.array(row) @ np.array(k))))
    stages = np.array(k)
    errors = np.array(tableau.errors or [0.0] * len(k))
    return q + h * (np.array(tableau.weights) @ stages), h * (errors @ stages)
