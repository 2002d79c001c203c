# SPDX-License-Identifier: Apache-2.0
r"""A coordinate led through the frames in which nothing shows it.

Its acceleration is white noise of the power density d, so that over a time h its angle
and speed gain the covariance :math:`d\,(h^3/3, h^2/2; h^2/2, h)`. A Kalman filter runs
forward over the frames that show it, Rauch, Tung and Striebel's smoother back (Sarkka,
Bayesian Filtering and Smoothing, 2013, section 8.2). In a gap that is a cubic curve,
and a variance that is largest in the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel


class Series(NamedTuple):
    """A coordinate over time.

    Attributes:
        times: of the frames (n,) [s].
        values: of the coordinate (n,).
        variances: of the values; infinite where there is none (n,).
        density: of the power of its accelerations.
        spread: variance of the coordinate where nothing is known.
        rate: the same of its speed.
    """

    times: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    density: float
    spread: float
    rate: float


@kernel
def bridge(series):
    """Mean and variance of a coordinate in all frames, from all of them (n,), (n,)."""
    n = series.times.size
    density = series.density
    mean, covariance = np.empty((n, 2)), np.empty((n, 3))
    x, v = 0.0, 0.0
    for k in range(n):
        if np.isfinite(series.variances[k]):
            x = series.values[k]
            break
    a, b, c = series.spread, 0.0, series.rate
    for k in range(n):
        if k > 0:
            h = series.times[k] - series.times[k - 1]
            x += h * v
            a += 2.0 * h * b + h * h * c + density * h**3 / 3.0
            b += h * c + density * h * h / 2.0
            c += density * h
        if np.isfinite(series.variances[k]):
            total = a + series.variances[k]
            gain, other = a / total, b / total
            miss = series.values[k] - x
            x += gain * miss
            v += other * miss
            c -= other * b
            b -= other * a
            a -= gain * a
        mean[k, 0], mean[k, 1] = x, v
        covariance[k, 0], covariance[k, 1], covariance[k, 2] = a, b, c
    for k in range(n - 2, -1, -1):
        h = series.times[k + 1] - series.times[k]
        a, b, c = covariance[k, 0], covariance[k, 1], covariance[k, 2]
        # Predicted covariance, and the gain P F^T / predicted.
        pa = a + 2.0 * h * b + h * h * c + density * h**3 / 3.0
        pb = b + h * c + density * h * h / 2.0
        pc = c + density * h
        size = pa * pc - pb * pb
        fa, fb = a + h * b, b + h * c
        g00, g01 = (fa * pc - b * pb) / size, (b * pa - fa * pb) / size
        g10, g11 = (fb * pc - c * pb) / size, (c * pa - fb * pb) / size
        dx = mean[k + 1, 0] - mean[k, 0] - h * mean[k, 1]
        dv = mean[k + 1, 1] - mean[k, 1]
        mean[k, 0] += g00 * dx + g01 * dv
        mean[k, 1] += g10 * dx + g11 * dv
        ma = covariance[k + 1, 0] - pa
        mb = covariance[k + 1, 1] - pb
        mc = covariance[k + 1, 2] - pc
        covariance[k, 0] = a + g00 * g00 * ma + 2.0 * g00 * g01 * mb + g01 * g01 * mc
        covariance[k, 1] = (
            b + g00 * g10 * ma + (g00 * g11 + g01 * g10) * mb + g01 * g11 * mc
        )
        covariance[k, 2] = c + g10 * g10 * ma + 2.0 * g10 * g11 * mb + g11 * g11 * mc
    return mean[:, 0].copy(), covariance[:, 0].copy()
