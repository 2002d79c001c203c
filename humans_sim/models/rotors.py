r"""Motor rotors behind screw-and-rod linkages (Bip).

The rotor angles :math:`\theta(q)` are nonlinear functions of the joint angles, so the
rotors add :math:`J_r^T I_r J_r` to the inertia matrix and
:math:`J_r^T I_r \dot J_r \dot q` to the nonlinear effects, :math:`J_r = \partial
\theta / \partial q`. Every screw moves :math:`x` along its axis and turns its rotor by
:math:`\theta = -x / p`, where p is the screw's pitch per radian. With
:math:`u = b \cos F - s d \sin F` and a side sign s, a pair of screws across a cardan
(roll F, pitch S; ankle and trunk) gives

.. math:: x = -\sigma u \cos A + c \sin A + \sqrt{l^2
   - (e - \sigma u \sin A - c \cos A)^2 - (d \cos F + s b \sin F - h)^2},

with A = S + gamma and sigma = 1 at the ankle, -1 at the trunk; a single screw (knee,
hip) gives :math:`x = \kappa R \cos\psi + \sqrt{l^2 - (e - R \sin\psi)^2}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from humans_sim.models.description import QUATERNION_TOLERANCE
from humans_sim.models.yaml_file import YamlValue

_PAIR = ("pitch", "e", "gamma", "h", "b", "c", "d", "l")
_SINGLE = ("pitch", "e", "gamma", "radius", "phi", "l")


@dataclass(frozen=True)
class Rotors:
    """Rotor data, one row a motor.

    Attributes:
        table: velocity index of the motor's joint, that of the second joint of a pair
            (else -1), rotor inertia [kg m^2], then the geometry of the linkage. One
            array, because each argument of a compiled function costs time.
        source: the section of the model file, as plain data.
    """

    table: np.ndarray
    source: dict[str, Any]

    def add_to_inertia(self, q: np.ndarray, matrix: np.ndarray) -> bool:
        """Add the rotors to the inertia matrix, in place.

        Returns:
            Whether q is finite with a unit quaternion and within the linkages' reach:
            checked on the way, at no cost.
        """
        return _add_inertia(q, self.table, matrix)

    def add_to_effects(self, q: np.ndarray, v: np.ndarray, vector: np.ndarray) -> bool:
        """Add the rotors' nonlinear effects, in place; returns as above for q and v."""
        return _add_effects(q, v, self.table, vector)


def read_rotors(
    section: YamlValue, order: Sequence[str], velocity_index: Mapping[str, int]
) -> Rotors:
    """Read the ``rotors`` section of a model file.

    Args:
        section: the section.
        order: joint names in HuMAnS order; motors are numbered alike.
        velocity_index: index of each joint in the velocity vector.
    """
    fields = section.fields(("inertia", "ratios", "ankle", "knee", "hip", "trunk"))
    inertia = fields["inertia"].vector(len(order))
    pi = {"pi": float(np.pi)}
    ankle, trunk = (
        {k: v.number(pi) for k, v in fields[name].fields(_PAIR).items()}
        for name in ("ankle", "trunk")
    )
    knee, hip = (
        {k: v.number(pi) for k, v in fields[name].fields(_SINGLE).items()}
        for name in ("knee", "hip")
    )
    table = np.zeros((len(order), 13))
    joint, numbers = table[:, :2], table[:, 3:]
    joint[:] = -1
    table[:, 2] = inertia

    def pair(motor: int, name: str, part: dict[str, float], s: int, sigma: int) -> None:
        joint[motor] = velocity_index[f"{name}_roll"], velocity_index[f"{name}_pitch"]
        numbers[motor] = (
            *(part[k] for k in ("pitch", "e")),
            np.radians(part["gamma"]),
            *(part[k] for k in ("h", "b", "c", "d", "l")),
            s,
            sigma,
        )

    def single(motor: int, name: str, part: dict[str, float], kappa: int) -> None:
        joint[motor, 0] = velocity_index[name]
        offset = np.radians(kappa * (part["gamma"] - part["phi"]))
        offset += np.pi / 2 if kappa < 0 else 0.0
        values = part["pitch"], part["e"], offset, part["radius"], part["l"], kappa
        numbers[motor, : len(values)] = values

    for motor, name in enumerate(order):
        if name in fields["ratios"].mapping():
            joint[motor, 0] = velocity_index[name]
            numbers[motor, 0] = fields["ratios"].mapping()[name].number()
    # Outer screw s = +1, inner s = -1; right leg outer first, left leg inner first.
    pair(0, "r_ankle", ankle, 1, 1)
    pair(1, "r_ankle", ankle, -1, 1)
    single(2, "r_knee", knee, 1)
    single(3, "r_hip_pitch", hip, -1)
    pair(4, "l_ankle", ankle, -1, 1)
    pair(5, "l_ankle", ankle, 1, 1)
    single(6, "l_knee", knee, 1)
    single(7, "l_hip_pitch", hip, -1)
    pair(13, "trunk", trunk, -1, -1)
    pair(14, "trunk", trunk, 1, -1)
    table.setflags(write=False)
    return Rotors(table, section.plain())


@njit(cache=True, error_model="numpy")
def _pair_terms(F, S, k):  # noqa: N803
    """Gradient and Hessian of the rotor angle of a screw pair, (5,)."""
    p, e, gamma, h, b = k[0], k[1], k[2], k[3], k[4]
    c, d, l, s, sigma = k[5], k[6], k[7], k[8], k[9]  # noqa: E741
    u = sigma * (b * np.cos(F) - s * d * np.sin(F))
    u1 = sigma * (-b * np.sin(F) - s * d * np.cos(F))
    w = d * np.cos(F) + s * b * np.sin(F) - h
    w1 = s * sigma * u
    w2 = s * sigma * u1
    ca, sa = np.cos(S + gamma), np.sin(S + gamma)
    big = e - u * sa - c * ca
    big_f, big_s = -u1 * sa, -u * ca + c * sa
    big_ff, big_fs, big_ss = u * sa, -u1 * ca, u * sa + c * ca
    root = np.sqrt(l * l - big * big - w * w)
    g_f = -(big * big_f + w * w1)
    g_s = -big * big_s
    g_ff = -(big_f * big_f + big * big_ff + w1 * w1 + w * w2)
    g_fs = -(big_f * big_s + big * big_fs)
    g_ss = -(big_s * big_s + big * big_ss)
    x_f = -u1 * ca + g_f / root
    x_s = u * sa + c * ca + g_s / root
    x_ff = u * ca + g_ff / root - g_f * g_f / root**3
    x_fs = u1 * sa + g_fs / root - g_f * g_s / root**3
    x_ss = u * ca - c * sa + g_ss / root - g_s * g_s / root**3
    return -x_f / p, -x_s / p, -x_ff / p, -x_fs / p, -x_ss / p


@njit(cache=True, error_model="numpy")
def _single_terms(angle, k):
    """First and second derivative of the rotor angle of a single screw."""
    p, e, offset, radius, l, kappa = k[0], k[1], k[2], k[3], k[4], k[5]  # noqa: E741
    cs, sn = np.cos(angle + offset), np.sin(angle + offset)
    big = e - radius * sn
    root = np.sqrt(l * l - big * big)
    g = big * radius * cs
    g1 = -radius * radius * cs * cs - big * radius * sn
    x1 = -kappa * radius * sn + g / root
    x2 = -kappa * radius * cs + g1 / root - g * g / root**3
    return -x1 / p, -x2 / p


@njit(cache=True, error_model="numpy")
def _sound(q):
    """Whether a configuration is finite and its base quaternion of unit length."""
    total = 0.0
    for i in range(q.size):
        total += q[i]
    square = q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]
    return np.isfinite(total) and abs(square - 1.0) < QUATERNION_TOLERANCE


@njit(cache=True, error_model="numpy")
def _add_inertia(q, table, matrix):
    reach = 0.0
    for m in range(table.shape[0]):
        i, j, inertia, k = int(table[m, 0]), int(table[m, 1]), table[m, 2], table[m, 3:]
        if j >= 0:
            a, b, _, _, _ = _pair_terms(q[i + 1], q[j + 1], k)
            matrix[i, i] += inertia * a * a
            matrix[i, j] += inertia * a * b
            matrix[j, i] += inertia * a * b
            matrix[j, j] += inertia * b * b
            reach += a + b
        elif k[3] != 0.0:
            a, _ = _single_terms(q[i + 1], k)
            matrix[i, i] += inertia * a * a
            reach += a
        else:
            matrix[i, i] += inertia * k[0] * k[0]
    return np.isfinite(reach) and _sound(q)


@njit(cache=True, error_model="numpy")
def _add_effects(q, v, table, vector):
    reach = 0.0
    for m in range(table.shape[0]):
        i, j, inertia, k = int(table[m, 0]), int(table[m, 1]), table[m, 2], table[m, 3:]
        if j >= 0:
            a, b, aa, ab, bb = _pair_terms(q[i + 1], q[j + 1], k)
            rate = aa * v[i] * v[i] + 2 * ab * v[i] * v[j] + bb * v[j] * v[j]
            vector[i] += inertia * a * rate
            vector[j] += inertia * b * rate
            reach += a + b
        elif k[3] != 0.0:
            a, aa = _single_terms(q[i + 1], k)
            vector[i] += inertia * a * aa * v[i] * v[i]
            reach += a
    total = 0.0
    for i in range(v.size):
        total += v[i]
    return np.isfinite(reach + total) and _sound(q)
