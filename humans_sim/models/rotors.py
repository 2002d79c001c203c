# SPDX-License-Identifier: Apache-2.0
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
hip) gives :math:`x = \kappa R \cos\psi + \sqrt{l^2 - (e - R \sin\psi)^2}`. The zero of
:math:`\theta` is that of x: it is not at q = 0, and no force depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.core.kernels import kernel
from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import QUATERNION_TOLERANCE

_PAIR = ("pitch", "e", "gamma", "h", "b", "c", "d", "l")
_SINGLE = ("pitch", "e", "gamma", "radius", "phi", "l")
_MOTOR = 14
_COLUMNS = 16
_DRIVEN = (
    *(f"{s}_{j}" for s in "rl" for j in ("ankle_roll", "ankle_pitch", "knee")),
    *("r_hip_pitch", "l_hip_pitch", "trunk_roll", "trunk_pitch"),
)


@dataclass(frozen=True)
class Rotors:
    """The rotors of a model, and the linkages between them and the joints.

    Rotors are numbered as the joints of the HuMAnS vector.

    Attributes:
        names: of the motors: the joint's where a motor drives one joint alone.
        inertia: of the rotors (nmotors,) [kg m^2].
        table: one row a linkage: its kind (0 constant ratio, 1 single screw, 2 screw
            pair), velocity indices of its joints, rotor inertias [kg m^2], geometry,
            numbers of its motors. One array, because each argument of a compiled
            function costs time.
        source: the section of the model file, as plain data.
        add_inertia: compiled function, adds the rotors to an inertia matrix.
        add_effects: compiled function, adds their nonlinear effects to a vector.
    """

    names: tuple[str, ...]
    inertia: np.ndarray
    table: np.ndarray
    source: dict[str, Any]
    add_inertia: Callable[[np.ndarray, np.ndarray, np.ndarray], bool]
    add_effects: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], bool]

    def angles(self, q: np.ndarray) -> np.ndarray:
        r"""Rotor angles :math:`\theta(q)` (nmotors,) [rad]."""
        angles = rotor_angles(q, self.table, len(self.names))
        return self._reached(angles)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        r"""Gear ratios :math:`J_r(q)` (nmotors, njoints), so that theta' = J_r v[6:].

        Rows are motors, columns joints in the order of ``model.joint_names``.
        """
        ratios = rotor_jacobian(q, self.table, len(self.names))
        return self._reached(ratios)

    def _reached(self, values: np.ndarray) -> np.ndarray:
        if np.isfinite(values).all():
            return values
        wrong = ~np.isfinite(values.reshape(len(self.names), -1)).all(axis=1)
        name = self.names[int(np.argmax(wrong))]
        raise ConfigurationError(
            f"the joints of the motor {name} are beyond the reach of its screw; stay "
            "within the joint limits"
        )


def read_rotors(
    section: YamlValue, order: Sequence[str], velocity_index: Mapping[str, int]
) -> Rotors:
    """Read the ``rotors`` section; motors are numbered as joints in HuMAnS order."""
    fields = section.fields(("inertia", "ratios", "ankle", "knee", "hip", "trunk"))
    for name in _DRIVEN:
        if name not in order:
            raise section.error(f"these drives need a joint called '{name}'")
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
    motor = {name: i for i, name in enumerate(order)}
    names = list(order)
    table = np.zeros((0, _COLUMNS))

    def add(numbers: Sequence[float], *motors: int) -> None:
        nonlocal table
        row = np.zeros((1, _COLUMNS))
        row[0, : len(numbers)] = numbers
        row[0, _MOTOR : _MOTOR + len(motors)] = motors
        table = np.concatenate([table, row])

    def pair(name: str, part: dict[str, float], sigma: int, plus: str) -> None:
        """Screws across a cardan; the one with s = +1 sits on the motor ``plus``."""
        roll, pitch = f"{name}_roll", f"{name}_pitch"
        minus = pitch if plus == roll else roll
        sides = ("outer", "inner") if sigma > 0 else ("left", "right")
        names[motor[plus]], names[motor[minus]] = (f"{name}_{s}" for s in sides)
        geometry = [np.radians(part["gamma"])]
        geometry += [part[k] for k in ("pitch", "e", "h", "b", "c", "d", "l")]
        inertias = [inertia[motor[plus]], inertia[motor[minus]]]
        indices = [velocity_index[roll], velocity_index[pitch]]
        numbers = [2, *indices, *inertias, *geometry, sigma]
        add(numbers, motor[plus], motor[minus])

    def single(name: str, part: dict[str, float], kappa: int) -> None:
        offset = np.radians(kappa * (part["gamma"] - part["phi"]))
        offset += np.pi / 2 if kappa < 0 else 0.0
        geometry = [offset, part["pitch"], part["e"], part["radius"], part["l"]]
        index = velocity_index[name]
        numbers = [1, index, index, inertia[motor[name]], 0, *geometry, kappa]
        add(numbers, motor[name])

    for name, value in fields["ratios"].mapping().items():
        if name not in motor:
            raise value.error(f"no joint is called '{name}'")
        index = velocity_index[name]
        numbers = [0, index, index, inertia[motor[name]], 0, value.number()]
        add(numbers, motor[name])
    # The outer screw of an ankle has s = +1, and so has the left one of the trunk.
    pair("r_ankle", ankle, 1, "r_ankle_roll")
    pair("l_ankle", ankle, 1, "l_ankle_pitch")
    pair("trunk", trunk, -1, "trunk_pitch")
    for side in ("r", "l"):
        single(f"{side}_knee", knee, 1)
        single(f"{side}_hip_pitch", hip, -1)
    for array in (inertia, table):
        array.setflags(write=False)
    return Rotors(
        tuple(names),
        inertia,
        table,
        section.plain(),
        add_rotor_inertia,
        add_rotor_effects,
    )


@kernel(error_model="numpy")
def _pair_terms(k, s, cf, sf, ca, sa):
    """Gradient and Hessian of the rotor angle of one screw of a pair."""
    p, e, h, b, c, d, l, sigma = k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]  # noqa: E741
    u = sigma * (b * cf - s * d * sf)
    u1 = sigma * (-b * sf - s * d * cf)
    w = d * cf + s * b * sf - h
    w1, w2 = s * sigma * u, s * sigma * u1
    big = e - u * sa - c * ca
    big_f, big_s = -u1 * sa, -u * ca + c * sa
    inverse = 1.0 / np.sqrt(l * l - big * big - w * w)
    g_f = -(big * big_f + w * w1) * inverse
    g_s = -big * big_s * inverse
    g_ff = -(big_f * big_f + big * u * sa + w1 * w1 + w * w2)
    g_fs = -(big_f * big_s - big * u1 * ca)
    g_ss = -(big_s * big_s + big * (u * sa + c * ca))
    x_f = -u1 * ca + g_f
    x_s = u * sa + c * ca + g_s
    x_ff = u * ca + (g_ff - g_f * g_f) * inverse
    x_fs = u1 * sa + (g_fs - g_f * g_s) * inverse
    x_ss = u * ca - c * sa + (g_ss - g_s * g_s) * inverse
    scale = -1.0 / p
    return scale * x_f, scale * x_s, scale * x_ff, scale * x_fs, scale * x_ss


@kernel(error_model="numpy")
def _single_terms(angle, k):
    """First and second derivative of the rotor angle of a single screw."""
    p, e, radius, l, kappa = k[1], k[2], k[3], k[4], k[5]  # noqa: E741
    cs, sn = np.cos(angle + k[0]), np.sin(angle + k[0])
    big = e - radius * sn
    inverse = 1.0 / np.sqrt(l * l - big * big)
    g = big * radius * cs * inverse
    g1 = -radius * radius * cs * cs - big * radius * sn
    x1 = -kappa * radius * sn + g
    x2 = -kappa * radius * cs + (g1 - g * g) * inverse
    return -x1 / p, -x2 / p


@kernel(error_model="numpy")
def _sound(q):
    """Whether a configuration is finite and its base quaternion of unit length."""
    total = 0.0
    for i in range(q.size):
        total += q[i]
    square = q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]
    return np.isfinite(total) and abs(square - 1.0) < QUATERNION_TOLERANCE


@kernel(error_model="numpy")
def add_rotor_inertia(q, table, matrix):
    """Add the rotors to the inertia matrix, in place.

    Returns whether q is finite with a unit quaternion and within the linkages' reach:
    checked on the way, at no cost.
    """
    reach = 0.0
    for m in range(table.shape[0]):
        row = table[m]
        kind, i, j, k = int(row[0]), int(row[1]), int(row[2]), row[5:]
        if kind == 2:
            cf, sf = np.cos(q[i + 1]), np.sin(q[i + 1])
            ca, sa = np.cos(q[j + 1] + k[0]), np.sin(q[j + 1] + k[0])
            ii, ij, jj = 0.0, 0.0, 0.0
            for screw in range(2):
                s = 1.0 - 2.0 * screw
                a, b, _, _, _ = _pair_terms(k, s, cf, sf, ca, sa)
                ii += row[3 + screw] * a * a
                ij += row[3 + screw] * a * b
                jj += row[3 + screw] * b * b
            matrix[i, i] += ii
            matrix[i, j] += ij
            matrix[j, i] += ij
            matrix[j, j] += jj
            reach += ii + jj
        elif kind == 1:
            a, _ = _single_terms(q[i + 1], k)
            matrix[i, i] += row[3] * a * a
            reach += a
        else:
            matrix[i, i] += row[3] * k[0] * k[0]
    return np.isfinite(reach) and _sound(q)


@kernel(error_model="numpy")
def add_rotor_effects(q, v, table, vector):
    """Add the rotors' nonlinear effects, in place; returns as above for q and v."""
    reach = 0.0
    for m in range(table.shape[0]):
        row = table[m]
        kind, i, j, k = int(row[0]), int(row[1]), int(row[2]), row[5:]
        if kind == 2:
            cf, sf = np.cos(q[i + 1]), np.sin(q[i + 1])
            ca, sa = np.cos(q[j + 1] + k[0]), np.sin(q[j + 1] + k[0])
            for screw in range(2):
                s = 1.0 - 2.0 * screw
                a, b, aa, ab, bb = _pair_terms(k, s, cf, sf, ca, sa)
                rate = aa * v[i] * v[i] + 2 * ab * v[i] * v[j] + bb * v[j] * v[j]
                vector[i] += row[3 + screw] * a * rate
                vector[j] += row[3 + screw] * b * rate
                reach += a + b
        elif kind == 1:
            a, aa = _single_terms(q[i + 1], k)
            vector[i] += row[3] * a * aa * v[i] * v[i]
            reach += a
    for i in range(v.size):
        reach += v[i]
    return np.isfinite(reach) and _sound(q)


@kernel(error_model="numpy")
def rotor_jacobian(q, table, motors):
    """Gear ratios (motors, joints); not finite beyond the reach of a screw."""
    matrix = np.zeros((motors, q.size - 7))
    for m in range(table.shape[0]):
        row = table[m]
        kind, i, j, k = int(row[0]), int(row[1]), int(row[2]), row[5:]
        first, second = int(row[_MOTOR]), int(row[_MOTOR + 1])
        if kind == 2:
            cf, sf = np.cos(q[i + 1]), np.sin(q[i + 1])
            ca, sa = np.cos(q[j + 1] + k[0]), np.sin(q[j + 1] + k[0])
            a, b, _, _, _ = _pair_terms(k, 1.0, cf, sf, ca, sa)
            matrix[first, i - 6], matrix[first, j - 6] = a, b
            a, b, _, _, _ = _pair_terms(k, -1.0, cf, sf, ca, sa)
            matrix[second, i - 6], matrix[second, j - 6] = a, b
        elif kind == 1:
            matrix[first, i - 6], _ = _single_terms(q[i + 1], k)
        else:
            matrix[first, i - 6] = k[0]
    return matrix


@kernel(error_model="numpy")
def rotor_angles(q, table, motors):
    """Rotor angles (motors,); not finite beyond the reach of a screw."""
    angles = np.zeros(motors)
    for m in range(table.shape[0]):
        row = table[m]
        kind, i, j, k = int(row[0]), int(row[1]), int(row[2]), row[5:]
        if kind == 2:
            p, e, h, b, c, d, l, sigma = k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]  # noqa: E741
            cf, sf = np.cos(q[i + 1]), np.sin(q[i + 1])
            ca, sa = np.cos(q[j + 1] + k[0]), np.sin(q[j + 1] + k[0])
            for screw in range(2):
                s = 1.0 - 2.0 * screw
                u = sigma * (b * cf - s * d * sf)
                big, w = e - u * sa - c * ca, d * cf + s * b * sf - h
                x = -u * ca + c * sa + np.sqrt(l * l - big * big - w * w)
                angles[int(row[_MOTOR + screw])] = -x / p
        elif kind == 1:
            p, e, radius, l, kappa = k[1], k[2], k[3], k[4], k[5]  # noqa: E741
            cs, sn = np.cos(q[i + 1] + k[0]), np.sin(q[i + 1] + k[0])
            big = e - radius * sn
            x = kappa * radius * cs + np.sqrt(l * l - big * big)
            angles[int(row[_MOTOR])] = -x / p
        else:
            angles[int(row[_MOTOR])] = k[0] * q[i + 1]
    return angles
