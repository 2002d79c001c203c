# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a run with their units; quaternions as the angles they stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from humans_sim.results.run import Run

METRE, RADIAN, QUATERNION, UNKNOWN = "m", "rad", "1", ""
"""Units of coordinates; a part of a quaternion has none."""
_FREE = (METRE,) * 3 + (QUATERNION,) * 4
_PLACES, _TURNS = ("x", "y", "z"), ("roll", "pitch", "yaw")
_LENGTHS = re.compile(r"(.*_)?(x|y|z|height|downhill)|bead_\d+")
_ANGLES = re.compile(r"(.*_)?(angle|roll|pitch|yaw)")
_PARTS = re.compile(r".+_q[xyzw]")
_JOINT_UNITS = {
    "R": (RADIAN,),
    "P": (METRE,),
    "S": (QUATERNION,) * 4,
    "F": _FREE,
}
"""Units of a joint's coordinates by the letter after ``JointModel``."""


class Coordinates(NamedTuple):
    """Coordinates as they are shown.

    Attributes:
        names: of the columns.
        units: of the columns, each metre, radian or not known.
        values: (n, k).
        turns: whether a column is an angle of a quaternion, without whole turns.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    turns: tuple[bool, ...]


def coordinate_units(run: Run) -> tuple[str, ...]:
    """Units of the entries of q: as the run records them, else by their names."""
    nq, info = run.q.shape[1], run.info
    by_name = tuple(_unit_of(name) for name in run.position_names)
    if by_name[: len(_FREE)] == _FREE:  # a biped, whose joints turn
        joints = set(run.velocity_names)
        by_name = tuple(
            RADIAN if name in joints else unit
            for name, unit in zip(run.position_names, by_name, strict=True)
        )
    recorded_joints, bodies, units = (
        value if isinstance(value := info.get(key), list) else []
        for key in ("joints", "bodies", "position_units")
    )
    recorded = tuple(str(unit) for unit in units)
    if recorded_joints:
        own = (_JOINT_UNITS.get(_letter(joint), ()) for joint in recorded_joints)
        recorded = tuple(unit for units in own for unit in units)
    elif bodies:
        first = max(nq - len(_FREE) * len(bodies), 0)
        recorded = by_name[:first] + _FREE * len(bodies)
    return recorded if len(recorded) == nq else by_name


def shown_coordinates(run: Run, first: int = 0) -> Coordinates:
    """Coordinates from one on, quaternions as angles.

    Args:
        run: with its units.
        first: the first of them.
    """
    units, k = coordinate_units(run), first
    names: list[str] = []
    shown: list[str] = []
    columns: list[np.ndarray] = []
    turns: list[bool] = []
    while k < len(units):
        stem = _stem(run.position_names[k])
        places = 3 if units[k : k + 7] == _FREE else 0
        names += [f"{stem}_{axis}" for axis in _PLACES[:places]]
        shown += [METRE] * places
        columns += list(run.q[:, k : k + places].T)
        k += places
        if units[k : k + 4] == (QUATERNION,) * 4:
            names += [f"{stem}_{turn}" for turn in _TURNS]
            shown += [RADIAN] * 3
            columns += list(_turns(run.q[:, k : k + 4]).T)
            turns += [False] * places + [True] * 3
            k += 4
        else:
            names.append(run.position_names[k])
            shown.append(units[k])
            columns.append(run.q[:, k])
            turns.append(False)
            k += 1
    values = np.stack(columns, axis=1) if columns else np.zeros((len(run.t), 0))
    return Coordinates(tuple(names), tuple(shown), values, tuple(turns))


def _turns(quaternions: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw without steps of a whole turn (n, 3) [rad]."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    turns = Rotation.from_quat(np.where(lengths > 0, quaternions, [0.0, 0.0, 0.0, 1.0]))
    with np.errstate(all="ignore"):
        angles = turns.as_euler("ZYX")[:, ::-1]
    unwrapped: np.ndarray = np.unwrap(angles, axis=0)
    return unwrapped


def _stem(name: str) -> str:
    """What the names of a body's coordinates have in common."""
    return name.rpartition("_")[0] or name


def _letter(joint: object) -> str:
    kind = joint.get("kind", "") if isinstance(joint, dict) else ""
    return str(kind).removeprefix("JointModel")[:1]


def _unit_of(name: str) -> str:
    if _PARTS.fullmatch(name):
        return QUATERNION
    if _LENGTHS.fullmatch(name):
        return METRE
    return RADIAN if _ANGLES.fullmatch(name) else UNKNOWN
