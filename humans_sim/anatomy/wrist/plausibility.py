# SPDX-License-Identifier: Apache-2.0
"""Whether a wrist moved as wrists do: what anatomy knows without measurements.

Perez (1994, chapter 3): the long axes of radius, lunate and capitate stay about
aligned; in frontal inclination the bones of a row turn the same way; the scaphoid
drags the lunate along. No figure here was compared with a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.hand_motion import AXES

if TYPE_CHECKING:
    from humans_sim.anatomy.wrist.wrist_run import WristRun

PROXIMAL = ("scaphoid", "lunate", "triquetrum")
"""Bones of the first row; the pisiform lies on the triquetrum."""
DISTAL = ("trapezium", "trapezoid", "capitate", "hamate")
"""Bones of the second row."""
CARPALS = frozenset((*PROXIMAL, *DISTAL))
"""Those that are judged."""


@dataclass(frozen=True)
class PlausibilityReport:
    """How the bones of a wrist moved.

    Attributes:
        turns: rotations of the free bones about the hand's axis at the end [rad].
        lunate_tilt: greatest angle of the lunate from the radius [rad].
        capitate_tilt: greatest angle of the capitate from the hand [rad].
        proximal_coherent: whether the bones of the first row turned the same way.
        distal_coherent: whether those of the second row did.
        coupling: turn of the lunate over that of the scaphoid; nan where the scaphoid
            turned by less than a degree.
        scapho_lunate_gap: greatest change of the distance of their centres [m].
        spread: greatest distance of a free bone's centre from where the hand, or the
            forearm, would have it, whichever is less [m].
        most_touching: greatest share of a bone's balls in contact.
        most_deep: greatest share of deep contacts.
        left: free bones that went further from both than a centimetre.
    """

    turns: dict[str, float]
    lunate_tilt: float
    capitate_tilt: float
    proximal_coherent: bool
    distal_coherent: bool
    coupling: float
    scapho_lunate_gap: float
    spread: float
    most_touching: float
    most_deep: float
    left: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people."""
        degrees = {name: np.degrees(turn) for name, turn in self.turns.items()}
        turned = ", ".join(f"{name} {angle:.0f}" for name, angle in degrees.items())
        words = ("no", "yes")
        return [
            f"turned about the hand's axis [deg]: {turned}",
            f"lunate from radius up to {np.degrees(self.lunate_tilt):.0f} deg, "
            f"capitate from hand up to {np.degrees(self.capitate_tilt):.0f} deg",
            f"first row coherent: {words[self.proximal_coherent]}; second row: "
            f"{words[self.distal_coherent]}",
            f"lunate turns {self.coupling:.2f} of the scaphoid; their centres part by "
            f"up to {1e3 * self.scapho_lunate_gap:.2f} mm",
            f"balls in contact up to {self.most_touching:.1%} of a bone, deep contacts "
            f"{self.most_deep:.1%}",
            "bones that left: " + (", ".join(self.left) or "none"),
        ]


def plausibility(run: WristRun) -> PlausibilityReport:
    """Judge the motion of a wrist that has the eight carpal bones."""
    axis = np.array(AXES[run.motion.kind])
    vectors = {
        name: _rotation_vectors(run.bone(name)[1]) for name in (*PROXIMAL, *DISTAL)
    }
    turns = {name: float(v[-1] @ axis) for name, v in vectors.items()}
    hand = run.angles[:, None] * axis
    # Angles between the capitate and the hand (n,) [rad].
    turned = Rotation.from_rotvec(vectors["capitate"])
    relative = (Rotation.from_rotvec(hand).inv() * turned).magnitude()
    gap = np.linalg.norm(run.bone("scaphoid")[0] - run.bone("lunate")[0], axis=1)
    shifts = distances_from_bearers(run)
    free = run.wrist.free
    scaphoid = turns["scaphoid"]
    return PlausibilityReport(
        turns,
        float(np.linalg.norm(vectors["lunate"], axis=1).max()),
        float(relative.max()),
        _coherent([turns[name] for name in PROXIMAL]),
        _coherent([turns[name] for name in DISTAL]),
        turns["lunate"] / scaphoid if abs(scaphoid) > np.radians(1) else np.nan,
        float(np.abs(gap - gap[0]).max()),
        float(shifts[:, free].max()),
        float(run.touching[:, free].max()),
        float(run.deep.max()),
        tuple(run.wrist.names[n] for n in free if shifts[-1, n] > 1e-2),
    )


def turns_of(run: WristRun) -> dict[str, np.ndarray]:
    """Turns of the free bones by name about the hand's axis from the start (n,)."""
    axis = np.array(AXES[run.motion.kind])
    return {
        bone.name: _rotation_vectors(run.frames[:, n]) @ axis
        for n, bone in enumerate(run.wrist.bones)
        if bone.role == "free"
    }


def _rotation_vectors(frames: np.ndarray) -> np.ndarray:
    """From the first sample on (n, 3) [rad]."""
    return np.asarray(Rotation.from_matrix(frames @ frames[0].T).as_rotvec())


def _coherent(turns: list[float]) -> bool:
    """Whether all that turned by more than a degree turned the same way."""
    signs = {np.sign(turn) for turn in turns if abs(turn) > np.radians(1)}
    return len(signs) <= 1


def distances_from_bearers(run: WristRun) -> np.ndarray:
    """From where the hand, or the forearm, would have the bones (n, b) [m]."""
    rest, centre = run.x[0], run.wrist.centre
    axis = np.array(AXES[run.motion.kind])
    still = np.linalg.norm(run.x - rest, axis=2)
    turned = Rotation.from_rotvec(run.angles[:, None] * axis).as_matrix()
    carried = centre + np.einsum("nij,bj->nbi", turned, rest - centre)
    return np.asarray(np.minimum(still, np.linalg.norm(run.x - carried, axis=2)))
