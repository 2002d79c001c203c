# SPDX-License-Identifier: Apache-2.0
"""What may touch in a scene: features, solids, pairs of them, ends of joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.contact.geometry.box_pairs import SLOTS
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import Box
from humans_sim.core.budget import CONTACTS
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.results.contact_table import LIMIT, POINT, ContactTable

_FLOOR = -1


class SceneContacts:
    """Movers (links of the robot, then bodies), what of them touches, and what.

    Features are balls and points of movers; solids belong to movers or to the ground.

    Attributes:
        joints: of the movers, in the tree.
        places: of the features, in the frames of their movers (f, 3) [m].
        balls: radii of the features (f,) [m].
        feature_mover: (f,).
        solids: rows of the solids, in the frames of their movers (s, 16).
        solid_mover: (s,); -1 for the ground.
        pairs: features with solids (p, 2).
        box_pairs: solids that meet as boxes (b, 2).
        movers: the two of each contact but for the limits (c, 2).
        limit_of: velocities that end at the limits (l,).
        limit_sign: 1 for a lower end, -1 for an upper (l,).
        limit_value: (l,) [rad].
        table: of all contacts.
        thinnest: least thickness of a solid [m].
    """

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        first: int,
        ground: Ground,
        robot: ModelSystem | None,
    ) -> None:
        """Gather everything.

        Args:
            bodies: free ones.
            first: joint of the first of them.
            ground: what does not move.
            robot: a biped with what of it touches, or None.
        """
        self._bodies, self._ground = bodies, ground
        self._robot = None if robot is None else robot.model
        joints: list[int] = []
        places, balls, feature_mover = [], [], []
        feature_names: list[str] = []
        if robot is not None:
            joints += robot.points.joints
            places += list(robot.points.local)
            balls += robot.radii.tolist()
            feature_mover += robot.points.row.tolist()
            feature_names += robot.contact_points
        rows, solid_mover, solid_names, frictions = [], [], [], []
        largest = max([*balls, *(body.radius for body in self._bodies)], default=0.0)
        for solid, row, friction in zip(
            self._ground.solids,
            self._ground.table(largest),
            self._ground.frictions(),
            strict=True,
        ):
            rows.append(row)
            solid_mover.append(_FLOOR)
            solid_names.append(solid.name)
            frictions.append(float(friction))
        boxes = [k for k, s in enumerate(self._ground.solids) if isinstance(s, Box)]
        plain = float(self._ground.friction)
        for k, body in enumerate(self._bodies):
            mover = len(joints)
            joints.append(first + k)
            single = len(body.points) == 1
            for p, point in enumerate(body.points):
                places.append(point - body.properties.center)
                balls.append(body.radius)
                feature_mover.append(mover)
                feature_names.append(body.name if single else f"{body.name}.{p}")
            if body.solid is not None:
                row = body.solid.row()
                row[1:4] -= body.properties.center
                if isinstance(body.solid, Box):
                    boxes.append(len(rows))
                rows.append(row)
                solid_mover.append(mover)
                solid_names.append(body.name)
                frictions.append(plain if body.friction is None else body.friction)
        self.joints = joints
        self.places, self.balls = np.array(places), np.array(balls)
        self.feature_mover = np.array(feature_mover, dtype=np.int64)
        self.solids = np.array(rows).reshape(-1, 16)
        self.solid_mover = np.array(solid_mover, dtype=np.int64)
        self._pair(boxes, feature_names, solid_names, np.array(frictions))

    def _pair(
        self,
        boxes: list[int],
        feature_names: list[str],
        solid_names: list[str],
        frictions: np.ndarray,
    ) -> None:
        boxed = {int(self.solid_mover[s]) for s in boxes} - {_FLOOR}
        pairs, table, movers = [], [], []
        names: list[str] = []
        robot_movers = self._first_body_mover()
        what = "what may touch in the scene"
        for f, mover in enumerate(self.feature_mover):
            CONTACTS.check(what, len(names))
            for s, other in enumerate(self.solid_mover):
                if other == mover:
                    continue
                # boxes meet as boxes, below
                if int(mover) in boxed and s in boxes:
                    continue
                # each pair of balls once
                if (
                    self._is_ball(f)
                    and other > mover >= robot_movers
                    and s not in boxes
                ):
                    continue
                pairs.append((f, s))
                table.append(min(frictions[s], self._own_friction(int(mover))))
                names.append(f"{feature_names[f]}/{solid_names[s]}")
                movers.append((int(mover), int(other)))
        box_pairs = []
        for i, a in enumerate(boxes):
            CONTACTS.check(what, len(names))
            for b in boxes[i + 1 :]:
                first, second = int(self.solid_mover[b]), int(self.solid_mover[a])
                if first == second:
                    continue
                box_pairs.append((b, a))
                for slot in range(SLOTS):
                    names.append(f"{solid_names[b]}/{solid_names[a]}.{slot}")
                    table.append(min(frictions[a], frictions[b]))
                    movers.append((first, second))
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.box_pairs = np.array(box_pairs, dtype=np.int64).reshape(-1, 2)
        self.movers = np.array(movers, dtype=np.int64).reshape(-1, 2)
        sizes = [2 * float(min(self.solids[b, 4:7])) for b in boxes]
        self.thinnest = min([self._ground.thinnest(), *sizes])
        self._limits()
        count, ends = len(names), self._limit_names
        self.table = ContactTable.of(
            names=(*names, *ends),
            kinds=(POINT,) * count + (LIMIT,) * len(ends),
            tangents=np.array([2] * count + [0] * len(ends)),
            friction=np.array([*table, *([0.0] * len(ends))]),
            restitution=np.array(
                [self._ground.restitution] * count + [0.0] * len(ends)
            ),
        )

    def _own_friction(self, mover: int) -> float:
        """Of a body; the robot's feet are as rough as what they touch."""
        k = mover - self._first_body_mover()
        own = self._bodies[k].friction if k >= 0 else None
        return np.inf if own is None else own

    def _first_body_mover(self) -> int:
        return len(self.joints) - len(self._bodies)

    def _is_ball(self, feature: int) -> bool:
        return bool(self.balls[feature] > 0.0)

    def _limits(self) -> None:
        """Ends of the robot's joints."""
        names, of, sign, value = [], [], [], []
        if self._robot is not None:
            for j, joint in enumerate(self._robot.joint_names):
                for end, s, limits in (
                    ("lower", 1.0, self._robot.lower_limits),
                    ("upper", -1.0, self._robot.upper_limits),
                ):
                    if np.isfinite(limits[j]):
                        names.append(f"{joint}/{end}")
                        of.append(6 + j)
                        sign.append(s)
                        value.append(float(limits[j]))
        self._limit_names = names
        self.limit_of = np.array(of, dtype=np.int64)
        self.limit_sign, self.limit_value = np.array(sign), np.array(value)
