# SPDX-License-Identifier: Apache-2.0
r"""Explicit Runge-Kutta methods with error estimates: Dormand-Prince 8, Cash-Karp 5.

With the stages :math:`k_i = f(t + c_i h,\ q + h \sum_j a_{ij} k_j)` a step is
:math:`q + h \sum b_i k_i`; a pair of methods on the same stages has the error
:math:`h \sum e_i k_i`.

Coefficients of order 8 and their interpolant are those of Hairer's DOP853 (Hairer,
Norsett, Wanner, Solving Ordinary Differential Equations I), as is the control of the
step: numbers here, for scipy.integrate takes a quarter of a second to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

Rates = Callable[[float, np.ndarray], np.ndarray]
"""Of time [s] and state (m,): the rates of the state (m,)."""


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge-Kutta method.

    Attributes:
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
    """The state after one step (m,), and its error, zero where the tableau has none."""
    k = [rates(t, q) if slope is None else slope]
    for node, row in zip(tableau.nodes[1:], tableau.stages[1:], strict=True):
        k.append(rates(t + node * h, q + h * (np.array(row) @ np.array(k))))
    stages = np.array(k)
    errors = np.array(tableau.errors or [0.0] * len(k))
    return q + h * (np.array(tableau.weights) @ stages), h * (errors @ stages)


STAGES = 12
"""Stages of a step; the next one is at its end, and three more are for its inside."""
EXTRA = 3
_POWERS = 7
_ALL = STAGES + 1 + EXTRA


def _numbers(text: str, *shape: int) -> np.ndarray:
    return np.array(text.split(), dtype=float).reshape(shape)


ALPHA = np.zeros((_ALL, _ALL))
"""Weights of the stages before, at each stage; those of the end at the stage there."""
ALPHA[np.tril_indices(_ALL, -1)] = _numbers(
    """
0.05260015195876773 0.0197250569845379 0.0591751709536137 0.02958758547680685 0
0.08876275643042054 0.2413651341592667 0 -0.8845494793282861 0.924834003261792
0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242 0.037109375 0 0
0.17025221101954405 0.06021653898045596 -0.017578125 0.03709200011850479 0 0
0.17038392571223998 0.10726203044637328 -0.015319437748624402 0.008273789163814023
0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671
20.154067550477894 -43.48988418106996 0.47766253643826434 0 0 -2.4881146199716677
-0.590290826836843 21.230051448181193 15.279233632882423 -33.28821096898486
-0.020331201708508627 -0.9371424300859873 0 0 5.186372428844064 1.0914373489967295
-8.149787010746927 -18.52006565999696 22.739487099350505 2.4936055526796523
-3.0467644718982196 2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625
-17.9589318631188 27.94888452941996 -2.8589982771350235 -8.87285693353063
12.360567175794303 0.6433927460157636 0.054293734116568765 0 0 0 0 4.450312892752409
1.8915178993145003 -5.801203960010585 0.3111643669578199 -0.1521609496625161
0.20136540080403034 0.04471061572777259 0.056167502283047954 0 0 0 0 0
0.25350021021662483 -0.2462390374708025 -0.12419142326381637 0.15329179827876568
0.00820105229563469 0.007567897660545699 -0.008298 0.03183464816350214 0 0 0 0
0.028300909672366776 0.053541988307438566 -0.05492374857139099 0 0
-0.00010834732869724932 0.0003825710908356584 -0.00034046500868740456
0.1413124436746325 -0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599
4.06898981839711 0.3567271874552811 0 0 0 -0.0013990241651590145 2.9475147891527724
-9.15095847217987
""",
    -1,
)
TIMES = _numbers(
    """
0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726
0.3333333333333333 0.25 0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571
1.0 1.0 0.1 0.2 0.7777777777777778
""",
    _ALL,
)
_DOP853_FIFTH, _THIRD = _numbers(
    """
0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864
-0.35032884874997366 0.3341791187130175 0.08192320648511571 -0.022355307863886294 0
-0.18980075407240762 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
-0.4226823213237919 -0.1521609496625161 0.20136540080403034 0.02265179219836082 0
""",
    2,
    STAGES + 1,
)
_INSIDE = _numbers(
    """
-8.428938276109013 0 0 0 0 0.5667149535193777 -3.0689499459498917 2.38466765651207
2.117034582445028 -0.871391583777973 2.2404374302607883 0.6315787787694688
-0.08899033645133331 18.148505520854727 -9.194632392478356 -4.436036387594894
10.427508642579134 0 0 0 0 242.28349177525817 165.20045171727028 -374.5467547226902
-22.113666853125306 7.733432668472264 -30.674084731089398 -9.332130526430229
15.697238121770845 -31.139403219565178 -9.35292435884448 35.81684148639408
19.985053242002433 0 0 0 0 -387.0373087493518 -189.17813819516758 527.8081592054236
-11.57390253995963 6.8812326946963 -1.0006050966910838 0.7777137798053443
-2.778205752353508 -60.19669523126412 84.32040550667716 11.99229113618279
-25.69393346270375 0 0 0 0 -154.18974869023643 -231.5293791760455 357.6391179106141
93.40532418362432 -37.45832313645163 104.0996495089623 29.8402934266605
-43.53345659001114 96.32455395918828 -39.17726167561544 -149.72683625798564
""",
    -1,
    _ALL,
)
_SAFETY, _LEAST, _MOST, _EXPONENT = 0.9, 0.2, 10.0, -1.0 / 8.0


@kernel
def stage_state(stage, y, stages, step):
    """Where the right-hand side is evaluated for a stage (n,)."""
    state = y.copy()
    for j in range(stage):
        weight = step * ALPHA[stage, j]
        if weight != 0.0:
            for i in range(y.shape[0]):
                state[i] += weight * stages[j, i]
    return state


@kernel
def step_error(y, end, stages, step, tolerances):
    """Estimated error relative to the tolerances (rtol, and atol of each state)."""
    rtol, atol = tolerances
    n = y.shape[0]
    fifth, third = 0.0, 0.0
    for i in range(n):
        a, b = 0.0, 0.0
        for j in range(STAGES + 1):
            a += _DOP853_FIFTH[j] * stages[j, i]
            b += _THIRD[j] * stages[j, i]
        scale = atol[i] + rtol * max(abs(y[i]), abs(end[i]))
        fifth += (a / scale) ** 2
        third += (b / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return abs(step) * fifth / np.sqrt((fifth + 0.01 * third) * n)


@kernel
def next_size(step, error, rejected):
    """Size of the next step, or of the next attempt at this one [s]."""
    if not np.isfinite(error):
        return _LEAST * step
    factor = _MOST if error == 0.0 else _SAFETY * error**_EXPONENT
    if error < 1.0:
        return min(factor, 1.0 if rejected else _MOST) * step
    return max(factor, _LEAST) * step


@kernel
def interpolant(y, end, stages, step):
    """Coefficients of the polynomial inside a step, after its extra stages (7, n)."""
    n = y.shape[0]
    coefficients = np.zeros((_POWERS, n))
    for i in range(n):
        change = end[i] - y[i]
        coefficients[0, i] = change
        coefficients[1, i] = step * stages[0, i] - change
        coefficients[2, i] = 2.0 * change - step * (stages[STAGES, i] + stages[0, i])
    for k in range(_INSIDE.shape[0]):
        for j in range(STAGES + 1 + EXTRA):
            weight = step * _INSIDE[k, j]
            if weight != 0.0:
                for i in range(n):
                    coefficients[3 + k, i] += weight * stages[j, i]
    return coefficients


@kernel
def inside(share, y, coefficients):
    """The state at a share of a step, with coefficients by :func:`interpolant`."""
    state = np.zeros(y.shape[0])
    for i in range(y.shape[0]):
        value = 0.0
        for k in range(_POWERS - 1, -1, -1):
            value += coefficients[k, i]
            value *= share if (_POWERS - 1 - k) % 2 == 0 else 1.0 - share
        state[i] = y[i] + value
    return state


@kernel
def stiffness(y, end, stages, step):
    """Size of a step times the largest rate at which motions decay in it.

    By the two stages at its end, as in Hairer's DOP853.
    """
    before = stage_state(STAGES - 1, y, stages, step)
    apart, change = 0.0, 0.0
    for i in range(y.shape[0]):
        apart += (end[i] - before[i]) ** 2
        change += (stages[STAGES, i] - stages[STAGES - 1, i]) ** 2
    return step * np.sqrt(change / apart) if apart > 0.0 else 0.0
