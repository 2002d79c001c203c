# SPDX-License-Identifier: Apache-2.0
"""Muscles in extended precision, written on their own, to compare with.

Fixed steps of the classic Runge-Kutta method on long doubles. The last two equations of
(1.11) are a straight and a bent line over the contractile strain rate; they are
intersected as such, without the formula that the library uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from humans_sim.actuation import MuscleParameters

Real = np.longdouble
Rates = Callable[[np.longdouble, np.ndarray, np.longdouble], np.ndarray]

UP, DOWN = Real(5), Real(5)
HOLD, FALL = Real(0.02), Real(0.01)


def kinks(pulses: Sequence[tuple[float, float]]) -> list[np.longdouble]:
    """Times at which the command signal is not smooth."""
    after = (Real(0), HOLD, HOLD + FALL / 2, HOLD + FALL)
    return [Real(time) + wait for time, _ in pulses for wait in after]


def signal(
    t: np.longdouble, pulses: Sequence[tuple[float, float]], middle: np.longdouble
) -> tuple[np.longdouble, np.longdouble]:
    """Command signal and recruitment; ``middle`` says on which side of a kink."""
    last = [(Real(time), Real(share)) for time, share in pulses if time <= middle]
    if not last or middle > last[-1][0] + HOLD + FALL:
        return -DOWN, Real(0)
    since = t - last[-1][0]
    if middle <= last[-1][0] + HOLD:
        return UP, last[-1][1]
    return UP - (UP + DOWN) * (since - HOLD) / FALL, last[-1][1]


def contract(
    muscle: MuscleParameters,
    strain: np.longdouble,
    strain_rate: np.longdouble,
    u: np.longdouble,
    share: np.longdouble,
    stiffness: np.longdouble,
    force: np.longdouble,
) -> tuple[np.longdouble, np.longdouble, np.longdouble]:
    """Rates of the contractile strain, of k_c and of F_c."""
    series, rest = Real(muscle.series_stiffness), Real(muscle.contractile_length)
    left = 1 - (strain / Real("0.4")) ** 2 if abs(strain) < 0.4 else Real(0)
    pushed = share * max(u, Real(0)) * left

    def straight(rate: np.longdouble) -> np.longdouble:
        return series * (Real(muscle.length) * strain_rate - rest * rate)

    def bent(rate: np.longdouble) -> np.longdouble:
        lost = (abs(u) + abs(rate)) * force
        return pushed * Real(muscle.force) - lost + stiffness * rest * rate

    gap = straight(Real(0)) - bent(Real(0))
    side = Real(1) if gap > 0 else Real(-1)
    further = straight(side) - bent(side)
    rate = side * gap / (gap - further)
    growth = pushed * Real(muscle.stiffness) - (abs(u) + abs(rate)) * stiffness
    return rate, growth, straight(rate)


def integrate(
    rates: Rates,
    turning: Rates,
    start: Sequence[float],
    breaks: Sequence[float | np.longdouble],
    end: float,
    step: float,
) -> tuple[np.ndarray, list[tuple[np.longdouble, int]]]:
    """The state at the end, and when which function of ``turning`` changed sign."""
    t, y = Real(0), np.array(start, dtype=Real)
    events: list[tuple[np.longdouble, int]] = []
    inner = [Real(b) for b in breaks if 0 < b < end]
    for stop in sorted({*inner, Real(end)}):
        middle = (t + stop) / 2
        while t < stop:
            h = min(Real(step), stop - t)
            if stop - t - h < Real(step) / 100:
                h = stop - t
            new = _runge_kutta(rates, t, y, h, middle)
            before, after = turning(t, y, middle), turning(t + h, new, middle)
            # what was zero at the start is turning away from it, not back
            crossed = np.flatnonzero((before * after < 0) & (abs(before) > 1e-12))
            if crossed.size:
                h, which = min(
                    (_crossing(rates, turning, t, y, h, middle, int(i)), int(i))
                    for i in crossed
                )
                events.append((t + h, which))
                # to the other side, by far less than what is compared
                h += Real(1e-14)
                new = _runge_kutta(rates, t, y, h, middle)
            t, y = t + h, new
        t = stop
    return y, events


def _crossing(
    rates: Rates,
    turning: Rates,
    t: np.longdouble,
    y: np.ndarray,
    h: np.longdouble,
    middle: np.longdouble,
    i: int,
) -> np.longdouble:
    low, high, sign = Real(0), h, np.sign(turning(t, y, middle)[i])
    while high - low > Real(1e-16):
        half = (low + high) / 2
        state = _runge_kutta(rates, t, y, half, middle)
        if sign * turning(t + half, state, middle)[i] > 0:
            low = half
        else:
            high = half
    return high


def _runge_kutta(
    rates: Rates,
    t: np.longdouble,
    y: np.ndarray,
    h: np.longdouble,
    middle: np.longdouble,
) -> np.ndarray:
    a = rates(t, y, middle)
    b = rates(t + h / 2, y + h / 2 * a, middle)
    c = rates(t + h / 2, y + h / 2 * b, middle)
    d = rates(t + h, y + h * c, middle)
    return y + h / 6 * (a + 2 * b + 2 * c + d)
