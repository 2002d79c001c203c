# SPDX-License-Identifier: Apache-2.0
r"""A hoist that a robot hangs on by its tags, and that lets it down.

A cable goes from each tag to an anchor straight above the place of the tag at the
start. Its tension is that of a spring and a damper that pull, and never push,

.. math:: T = \max(0,\; k s + c \dot s), \qquad s = |a - p| - l_0 - l(t) > 0

with the anchor a, the tag p, and l(t) what the hoist has paid out. The lengths
:math:`l_0` are such that the robot hangs in balance at the start, where it can. The
manual has Bip hang by its tags 22 to 25 before it stands (sections 6.1.2 and 7.1); the
cables are not in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.optimize import nnls

from humans_sim.actuation.composite_actuation import CompositeActuation
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.models import Model
from humans_sim.models.links import SUSPENSION_PREFIX
from humans_sim.models.points import frame_index
from humans_sim.results.records import Event, Signal

CABLE_TAUT = "cable_taut"
CABLE_SLACK = "cable_slack"
"""Kinds of events."""
CABLES = "cables"
"""Where runs keep the anchors."""
LENGTH = 1.5
"""Of a cable at the start [m] (assumed)."""
STIFFNESS = 2.5e4
"""Of a cable [N/m] (assumed: Bip stretches four of them by a centimetre)."""
DAMPING = 800.0
"""Of a cable [N s/m] (assumed: a half of the critical one under Bip)."""
_GUARD = 1e-9
"""Stretch at which a cable is taut, and below which it is slack [m]."""


class Hoist(Actuation):
    """Cables at tags of one link, paid out by a schedule; it takes no commands.

    Args:
        model: what hangs.
        schedule: times [s] and what is paid out by then [m], in the order of time. It
            rests at each of them; between them it goes from rest to rest.
        tags: where the cables are; by default those called ``suspension_...``.
        length: of the cables at the start [m].
        stiffness: of a cable [N/m].
        damping: of a cable [N s/m].

    Attributes:
        tags, stiffness: the same.
    """

    def __init__(
        self,
        model: Model,
        schedule: Sequence[tuple[float, float]] = ((0.0, 0.0),),
        *,
        tags: Sequence[str] | None = None,
        length: float = LENGTH,
        stiffness: float = STIFFNESS,
        damping: float = DAMPING,
    ) -> None:
        links = {tag.name: tag.link for tag in model.parts.tags}
        if tags is None:
            tags = [name for name in links if name.startswith(SUSPENSION_PREFIX)]
        for name in tags:
            if name not in links:
                raise ParameterError(f"{model.name} has no tag called '{name}'")
        if len({links[name] for name in tags}) != 1:
            raise ParameterError(
                f"a hoist holds one link of {model.name} by its tags, not "
                f"{', '.join(tags) or 'none'}"
            )
        for word, value in (("length", length), ("stiffness", stiffness)):
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(f"{word} of a cable is above 0, not {value}")
        if not (math.isfinite(damping) and damping >= 0):
            raise ParameterError(f"damping of a cable is 0 or more, not {damping}")
        knots = np.array(schedule, dtype=float).reshape(-1, 2)
        if not len(knots) or not np.isfinite(knots).all():
            raise ParameterError("a schedule has times [s] and lengths [m]")
        if (np.diff(knots[:, 0]) <= 0).any():
            raise ParameterError("times of a schedule come one after the other")
        self.tags = tuple(tags)
        self._model, self._length = model, length
        self.stiffness, self._damping = stiffness, damping
        self._times, self._paid = knots.T
        tree = model.pin
        self._frame = frame_index(tree, links[self.tags[0]])
        zero, data = model.neutral(), model.data()
        pin.framesForwardKinematics(tree, data, zero)
        rows = [model.tag_names.index(name) for name in self.tags]
        self._rows = rows
        self._local = np.array(
            [data.oMf[self._frame].actInv(place) for place in model.tags(zero)[rows]]
        )
        count = len(rows)
        self._anchors, self._slack_lengths = np.zeros((count, 3)), np.zeros(count)
        self._taut = np.ones(count, dtype=bool)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hang it up: anchors above the tags, cables stretched by the weight."""
        model = self._model
        q = q[: model.nq]
        places = model.tags(q)[self._rows]
        self._anchors = places + [0.0, 0.0, self._length]
        weight = GRAVITY * model.mass
        sums = np.vstack([np.ones(len(places)), places[:, :2].T])
        balance = weight * np.array([1.0, *model.com(q)[:2]])
        # Next to nothing for the size of a tension, so that all cables pull alike.
        small = 1e-6 * np.eye(len(places))
        tensions, _ = nnls(
            np.vstack([sums, small]), np.concatenate([balance, np.zeros(len(places))])
        )
        self._slack_lengths = (
            self._length - tensions / self.stiffness - self.paid_out(t)[0]
        )
        self._taut = tensions > 0.0
        return np.zeros(0)

    def paid_out(self, t: float) -> tuple[float, float]:
        """Length that is paid out [m], and its rate [m/s]."""
        k = int(np.searchsorted(self._times, t, side="right"))
        if k == 0 or k == len(self._times):
            return float(self._paid[min(k, len(self._paid) - 1)]), 0.0
        begin, span = self._times[k - 1], self._times[k] - self._times[k - 1]
        change, u = self._paid[k] - self._paid[k - 1], (t - begin) / span
        # The curve of least jerk from rest to rest.
        share = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        rate = 30.0 * u**2 * (1.0 - u) ** 2 / span
        return float(self._paid[k - 1] + share * change), float(rate * change)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Generalised force of the cables."""
        force = np.zeros(len(v))
        force[: self._model.nv] = self._pull(t, q, v)[0]
        return force, z

    def tensions(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Of each cable (ntags,) [N]."""
        return self._pull(t, q, v)[1]

    def _pull(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Generalised force (nv,), tensions and stretches of the cables."""
        tree, data = self._model.pin, self._model.buffers
        jacobian = pin.computeFrameJacobian(
            tree, data, q[: tree.nq], self._frame, pin.LOCAL_WORLD_ALIGNED
        )
        pose = pin.updateFramePlacement(tree, data, self._frame)
        moving = jacobian @ v[: tree.nv]
        arms = self._local @ pose.rotation.T
        along = self._anchors - pose.translation - arms
        lengths = np.sqrt((along**2).sum(axis=1))
        along /= lengths[:, None]
        speeds = moving[:3] + np.cross(moving[3:], arms)
        paid, rate = self.paid_out(t)
        stretch = lengths - self._slack_lengths - paid
        growth = -(along * speeds).sum(axis=1) - rate
        tension = self.stiffness * stretch + self._damping * growth
        tension = np.where(stretch > 0.0, np.maximum(tension, 0.0), 0.0)
        pulls = tension[:, None] * along
        moment = np.cross(arms, pulls).sum(axis=0)
        force: np.ndarray = jacobian[:3].T @ pulls.sum(axis=0) + jacobian[3:].T @ moment
        return force, tension, stretch

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Negative where a cable has become slack, or taut (ntags,) [m]."""
        stretch = self._pull(t, q, v)[2]
        return np.where(self._taut, stretch, -stretch) + _GUARD

    def next_time(self, t: float) -> float:
        """The next knot of the schedule, where its third derivative jumps [s]."""
        later = self._times[self._times > t]
        return float(later[0]) if len(later) else math.inf

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Note which cables pull."""
        self._taut[fired] = ~self._taut[fired]
        kinds = [CABLE_TAUT if taut else CABLE_SLACK for taut in self._taut]
        return z, [Event(t, kinds[k], self.tags[k]) for k in np.flatnonzero(fired)]

    def signals(self) -> tuple[Signal, ...]:
        """Length that is paid out, and the tensions."""
        names = [Signal(f"hoist/{name}/tension", "N") for name in self.tags]
        return (Signal("hoist/paid_out", "m"), *names)

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals`."""
        return np.concatenate([[self.paid_out(t)[0]], self.tensions(t, q, v)])

    def record(self) -> dict[str, dict[str, Any]]:
        """The anchors of the cables by their tags [m]."""
        return {CABLES: dict(zip(self.tags, self._anchors.tolist(), strict=True))}


class SuspendedActuation(CompositeActuation):
    """The actuation of a robot that hangs on a hoist; commands are the actuation's.

    Args:
        actuation: of the robot.
        hoist: what it hangs on.
    """

    def __init__(self, actuation: Actuation, hoist: Hoist) -> None:
        super().__init__([actuation, hoist])

    def command(self, t: float, command: object) -> None:
        """Give the actuation its command."""
        self.parts[0].command(t, command)
