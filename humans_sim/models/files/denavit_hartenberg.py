# SPDX-License-Identifier: Apache-2.0
"""Khalil-Kleinfinger (modified Denavit-Hartenberg) tables, manual section 2.1.1.

Row k goes from frame ``ref`` to frame k: translation r and rotation alpha along x of
``ref``, then translation lambda and rotation theta along z of k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.core.yaml_file import YamlValue

_NAMES = {"pi": np.pi}
_KEYS = ("frame", "ref", "r", "lambda", "alpha", "theta")
_BODY_KEYS = ("joint", "sense", "body", "mass", "com", "inertia", "visuals")


@dataclass(frozen=True)
class DhFrame:
    """A frame of the table in the zero position.

    Attributes:
        row: its entry in the file.
        rotation: 3x3, from the frame's axes to the reference axes.
        position: origin in the reference frame [m].
        ref: number of the parent frame.
        body: name of the body it carries, if any.
    """

    row: YamlValue
    rotation: np.ndarray
    position: np.ndarray
    ref: int
    body: str | None


def transform(r: float, lam: float, alpha: float, theta: float) -> np.ndarray:
    """Homogeneous matrix of one row.

    Right angles are made exact, so that frames parallel to the axes stay parallel to
    the last digit.
    """
    ca, sa, ct, st = (
        round(c) if abs(c - round(c)) < 1e-15 else c
        for c in (np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta))
    )
    return np.array(
        [
            [ct, -st, 0.0, r],
            [ca * st, ca * ct, -sa, -lam * sa],
            [sa * st, sa * ct, ca, lam * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def zero_position(table: YamlValue) -> dict[int, DhFrame]:
    """Frames of a table with all joint angles zero, by frame number."""
    poses: dict[int, np.ndarray] = {0: np.eye(4)}
    frames: dict[int, DhFrame] = {}
    for row in table:
        fields = row.fields(_KEYS, _BODY_KEYS)
        number, ref = int(fields["frame"].number()), int(fields["ref"].number())
        if ref not in poses:
            raise fields["ref"].error(f"frame {ref} is not defined above")
        if number in poses:
            raise fields["frame"].error(f"frame {number} stands twice")
        r, lam, alpha, theta = (
            fields[key].number(_NAMES) for key in ("r", "lambda", "alpha", "theta")
        )
        pose = poses[ref] @ transform(r, lam, alpha, theta)
        poses[number] = pose
        body = fields["body"].text() if "body" in fields else None
        frames[number] = DhFrame(row, pose[:3, :3], pose[:3, 3], ref, body)
    return frames
