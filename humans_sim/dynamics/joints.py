# SPDX-License-Identifier: Apache-2.0
r"""Joints of a model: moving ones, limits, damping and dry friction.

Damping and dry friction of the joints themselves, without drives:

.. math:: \tau_j = -d_j \dot q_j - r_j, \qquad r_j \in c_j \operatorname{Sgn}(\dot q_j)

with the numbers ``<dynamics damping friction>`` of a URDF (or of the YAML beside it),
or given ones. Dry friction is set-valued: a joint at rest stays there as long as no
more than c_j is needed to hold it.

Precedence, so that nothing counts twice: a value that is given by hand acts in any
case. A value of the model acts unless the actuation models the friction of the joint
itself (:attr:`~humans_sim.dynamics.actuation_interface.Actuation.frictional_joints`),
as servos and motors with friction of their own do: what a URDF says of a driven joint
mostly is that of its drive.

*Bounded forces*: dry friction in joints and of turning balls. Torsional friction is a
moment about the normal of a closed contact, up to a length times its normal force;
rolling friction one about its tangents, for contact points with balls. A point without
a ball does not roll.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.contact.problem.bounded_kernels import BoundedGroups
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.models import Model

ALL, BASE = "*", "base"
"""Words for what is locked: all joints, and the base."""


def locked_velocities(model: Model, locked: Sequence[str]) -> np.ndarray:
    """Velocities (indices) that stay zero: joints, ``"*"`` for all, or ``"base"``."""
    names, requested = model.joint_names, set(locked)
    base = range(6) if BASE in requested else ()
    if ALL in requested:
        requested |= set(names)
    unknown = sorted(requested - set(names) - {BASE, ALL})
    if unknown:
        raise ParameterError(f"{model.name} has no joint '{unknown[0]}' to lock")
    joints = [6 + j for j, name in enumerate(names) if name in requested]
    return np.array([*base, *joints], dtype=np.int64)


def joint_limits(
    model: Model, limits: bool | Mapping[str, tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of all joints [rad]; infinite where there are none."""
    names = model.joint_names
    if limits is False:
        return np.full(len(names), -np.inf), np.full(len(names), np.inf)
    lower, upper = model.lower_limits.copy(), model.upper_limits.copy()
    for name, (low, high) in ({} if limits is True else limits).items():
        if name not in names:
            raise ParameterError(f"{model.name} has no joint '{name}' to limit")
        if not low < high:
            raise ParameterError(f"limits of {name}: {low} is not below {high}")
        lower[names.index(name)], upper[names.index(name)] = low, high
    return lower, upper


Given = bool | Mapping[str, float]
"""The model's own values or none; or other values for some joints, by name."""


@dataclass(frozen=True)
class JointDissipation:
    """Dissipation in the joints of a model.

    Attributes:
        damping: of all velocities (nv,) [N m s/rad].
        friction: largest torque of dry friction, of all velocities (nv,) [N m].
        left_out: joints whose values in the model do not act, because the actuation
            models their friction.
    """

    damping: np.ndarray
    friction: np.ndarray
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: Model,
        actuation: Actuation | None = None,
        damping: Given = True,
        friction: Given = True,
    ) -> JointDissipation:
        """The dissipation in the joints of a model; values as of ``Contacts``."""
        driven = () if actuation is None else actuation.frictional_joints
        names = model.joint_names
        replaced = np.isin(names, driven)
        own_values = (model.joint_damping, model.joint_friction)
        left_out = replaced & ((own_values[0] > 0) | (own_values[1] > 0))
        columns = []
        for word, given, own in zip(
            ("damping", "friction"), (damping, friction), own_values, strict=True
        ):
            values = np.zeros(len(names))
            if given is not False:
                values[~replaced] = own[~replaced]
            if isinstance(given, Mapping):
                _set(values, given, model, word)
                left_out &= ~np.isin(names, list(given))
            columns.append(np.concatenate([np.zeros(6), values]))
        skipped = tuple(np.array(names)[left_out].tolist())
        return cls(columns[0], columns[1], skipped)

    def record(self, velocity_names: tuple[str, ...]) -> dict[str, Any]:
        """The record by names of velocities, plain data; empty where nothing acts."""
        record: dict[str, Any] = {}
        for key, values in (("damping", self.damping), ("friction", self.friction)):
            acting = {
                velocity_names[j]: float(values[j]) for j in np.flatnonzero(values)
            }
            if acting:
                record[f"joint_{key}"] = acting
        if self.left_out:
            record["joint_friction_left_out"] = list(self.left_out)
        return record


def dissipation_text(record: Mapping[str, Any]) -> str:
    """One line for people on what acts; empty where there is nothing to say."""
    parts = []
    for word, key, unit in (
        ("damping", "joint_damping", "N m s/rad"),
        ("dry friction", "joint_friction", "N m"),
    ):
        values = list(record.get(key, {}).values())
        if values:
            low, high = min(values), max(values)
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            joints = "joint" if len(values) == 1 else "joints"
            parts.append(f"{word} of {len(values)} {joints} ({span} {unit})")
    left_out = record.get("joint_friction_left_out", ())
    if left_out:
        parts.append(
            f"friction in the model of {len(left_out)} driven joints is left out: "
            "their drives have their own"
        )
    return "; ".join(parts)


def _set(
    values: np.ndarray, given: Mapping[str, float], model: Model, word: str
) -> None:
    for name, value in given.items():
        if name not in model.joint_names:
            raise ParameterError(f"{model.name} has no joint '{name}' with {word}")
        if not (math.isfinite(value) and value >= 0):
            raise ParameterError(f"{word} of {name} must be 0 or more, not {value}")
        values[model.joint_names.index(name)] = value


class BoundedRows:
    """Puts the rows of a step together.

    Args:
        friction: dry friction of all velocities (nv,) [N m].
        torsional: lengths of all contacts (nc,) [m].
        rolling: lengths of all contacts (nc,) [m].

    Attributes:
        joints: velocities with dry friction (indices).
        dry: their groups, the same in every step.
        turns: whether any contact has torsional or rolling friction.
    """

    def __init__(
        self, friction: np.ndarray, torsional: np.ndarray, rolling: np.ndarray
    ) -> None:
        self.joints = np.flatnonzero(friction)
        self._bounds = friction[self.joints]
        self._torsional, self._rolling = torsional, rolling
        self._nv = len(friction)
        self.turns = bool(torsional.any() or rolling.any())
        count = len(self.joints)
        self.dry = BoundedGroups(
            rows=np.eye(self._nv)[self.joints],
            first=np.arange(count, dtype=np.int64),
            width=np.ones(count, dtype=np.int64),
            bound=self._bounds,
            length=np.zeros(count),
            contact=np.full(count, -1, dtype=np.int64),
            place=self.joints,
        )

    @property
    def any(self) -> bool:
        """Whether there is anything at all."""
        return self.turns or bool(self.joints.size)

    def groups(self, which: np.ndarray, spin: np.ndarray) -> BoundedGroups | None:
        """The groups of a step; ``spin``: angular velocity in contacts (k, 3, nv)."""
        if not self.turns:
            return self.dry if self.joints.size else None
        count = [1] * len(self.joints)
        bound, length = self._bounds.tolist(), [0.0] * len(self.joints)
        contact = [-1] * len(self.joints)
        rows = [np.eye(self._nv)[self.joints]]
        place: list[int] = self.joints.tolist()
        for c, w in enumerate(which.tolist()):
            for lengths, part in (
                (self._torsional, slice(0, 1)),
                (self._rolling, slice(1, 3)),
            ):
                if lengths[w] > 0.0:
                    rows.append(spin[c, part])
                    count.append(part.stop - part.start)
                    bound.append(0.0)
                    length.append(lengths[w])
                    contact.append(c)
                    place += range(
                        self._nv + 3 * w + part.start, self._nv + 3 * w + part.stop
                    )
        if not count:
            return None
        ends = np.cumsum(count)
        return BoundedGroups(
            rows=np.concatenate(rows),
            first=ends - count,
            width=np.array(count, dtype=np.int64),
            bound=np.array(bound, dtype=float),
            length=np.array(length, dtype=float),
            contact=np.array(contact, dtype=np.int64),
            place=np.array(place, dtype=np.int64),
        )
