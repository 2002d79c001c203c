# SPDX-License-Identifier: Apache-2.0
r"""Pin screens at rest: exact solutions, and the kernels of screens without end.

At rest :math:`(k_s + k_v A) \omega = F`, with A diagonal in sines where edges are
fixed, in cosines where they are free, in waves where they are periodic.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.special

from humans_sim.soft.errors import SoftError
from humans_sim.soft.screens.design import ScreenLaw, fixed_eigenvalues


def static_shape(law: ScreenLaw, force: np.ndarray, edges: str = "fixed") -> np.ndarray:
    """Deviations under forces on all pins, exact [m].

    Args:
        law: of the screen.
        force: (n,), (n, m) or (n, m, l) [N].
        edges: "fixed", "free" or "periodic".

    Raises:
        SoftError: a mode has no stiffness, so that there is no rest.
    """
    force = np.asarray(force, dtype=float)
    if edges == "fixed":
        values = law.ground_stiffness + law.stiffness * fixed_eigenvalues(force.shape)
        _check(values)
        return np.asarray(
            scipy.fft.idstn(scipy.fft.dstn(force, type=1) / values, type=1)
        )
    total = np.zeros(force.shape)
    turn = {"free": 1.0, "periodic": 2.0}[edges]
    for axis, count in enumerate(force.shape):
        sides = [1] * force.ndim
        sides[axis] = count
        angles = turn * np.pi * np.arange(count) / count
        total = total + (2.0 - 2.0 * np.cos(angles)).reshape(sides)
    values = law.ground_stiffness + law.stiffness * total
    _check(values)
    if edges == "free":
        return np.asarray(scipy.fft.idctn(scipy.fft.dctn(force) / values))
    return np.asarray(scipy.fft.ifftn(scipy.fft.fftn(force) / values).real)


def _check(values: np.ndarray) -> None:
    if not values.min() > 0.0:
        mode = tuple(int(i) for i in np.unravel_index(values.argmin(), values.shape))
        raise SoftError(
            f"the screen has no rest: mode {mode} has the stiffness {values.min():.3g} "
            "N/m, must be above 0"
        )


def decay(law: ScreenLaw) -> float:
    """β of the kernel in one dimension, per pin: log of |r1| of (7.16)."""
    alpha = law.ground_stiffness / law.stiffness
    root = 1 + alpha / 2 + np.sqrt(alpha + alpha**2 / 4)
    return float(abs(np.log(abs(root))))


def line_kernel(law: ScreenLaw, offsets: np.ndarray) -> np.ndarray:
    """Deviations around a force of 1 N on a row of pins without end, (7.23) [m/N].

    Args:
        law: its stiffness to neighbours may be negative, above -k_s / 4.
        offsets: numbers of pins.
    """
    k_s, k_v = law.ground_stiffness, law.stiffness
    square = 4 * k_s * k_v + k_s**2
    if not (k_s > 0.0 and square > 0.0 and k_v != 0.0):
        raise SoftError("the kernel needs k_s > 0 and k_v above -k_s / 4 and not 0")
    steps = np.abs(np.asarray(offsets))
    signs = np.where(steps % 2 == 1, -1.0, 1.0) if k_v < 0 else 1.0
    return np.asarray(signs * np.exp(-decay(law) * steps) / np.sqrt(square))


def membrane_kernel(
    k_s: float, k_v: float, r: np.ndarray, dimensions: int
) -> np.ndarray:
    r"""Deviations of a continuous screen around a unit force.

    :math:`e^{-\sqrt{\alpha} r} / \sqrt{4 k_s k_v}`,
    :math:`K_0(\sqrt{\alpha} r) / 2 \pi k_v`,
    :math:`e^{-\sqrt{\alpha} r} / 4 \pi k_v r` in one, two, three dimensions. The
    printed (7.59) has a 3 where :math:`4 \pi` belongs.

    Args:
        k_s: stiffness to the ground [N/m to N/m⁴ with the dimensions].
        k_v: within the screen.
        r: distances [m].
        dimensions: 1, 2 or 3.
    """
    scaled = np.sqrt(k_s / k_v) * np.asarray(r, dtype=float)
    if dimensions == 1:
        return np.asarray(np.exp(-scaled) / np.sqrt(4 * k_s * k_v))
    if dimensions == 2:
        return np.asarray(scipy.special.k0(scaled) / (2 * np.pi * k_v))
    return np.asarray(np.exp(-scaled) / (4 * np.pi * k_v * np.asarray(r)))
