# SPDX-License-Identifier: Apache-2.0
r"""Whether a body feels what it wears: admittances at the points that carry it.

The body's is :math:`[J (j \omega M)^{-1} J^T]^{-1}` with the joints that are not
locked, along the direction in which it gives way most. A piece that hangs on the point
by springs (K, Z in all) is its whole mass behind them: no softer part of it loads the
body more, but near :math:`\sqrt{K / m}`. Feet on a floor and feedback make the body
stiffer, so the error is rather less than predicted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from humans_sim.soft.coupling.admittance import in_a_row, of_inertia, of_link, of_mass
from humans_sim.soft.coupling.influence import Influence, classify
from humans_sim.soft.errors import CouplingError

if TYPE_CHECKING:
    from humans_sim.soft.coats.coat import Coat, Piece

BAND = (0.5, 5.0)
"""Frequencies of a body's motion, lowest and highest [Hz]."""
_FREQUENCIES = 40


@dataclass(frozen=True)
class CoatInfluence:
    """What a piece does to the link that carries it.

    Attributes:
        piece: its name.
        link: that carries it.
        mass: of the piece [kg].
        carried_by: mass that the body has at the point, where it is least [kg].
        influence: the verdict, with the errors expected.
    """

    piece: str
    link: str
    mass: float
    carried_by: float
    influence: Influence

    @property
    def one_way(self) -> bool:
        """Whether the body may do without it."""
        return self.influence.verdict in ("first drives", "independent")

    def report(self) -> str:
        """A line."""
        return (
            f"{self.piece} ({self.mass:g} kg) on {self.link}, which has "
            f"{self.carried_by:.3g} kg there: "
            + self.influence.report("the body", self.piece)
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "report": self.report()}


def coat_influences(
    system: Any, q: np.ndarray, coat: Coat
) -> tuple[CoatInfluence, ...]:
    """Look at all pieces of a coat.

    Args:
        system: the biped, with its locks.
        q: a configuration.
        coat: what it wears.
    """
    model = system.model
    free = np.setdiff1d(np.arange(model.nv), system.locked)
    inertia = model.inertia(q)[np.ix_(free, free)]
    omega = 2 * np.pi * np.geomspace(*BAND, _FREQUENCIES)
    found = []
    for piece in coat.pieces:
        jacobian = point_jacobian(model, q, piece.link, np.array(piece.at))[:, free]
        mobility = jacobian @ np.linalg.solve(inertia, jacobian.T)
        along = np.linalg.eigh(mobility)[1][:, -1]
        body = of_inertia(inertia, along @ jacobian, omega)[:, 0, 0]
        load = piece_admittance(piece, omega)
        influence = classify(body, load, omega, tolerance=coat.tolerance)
        least = 1.0 / float(along @ mobility @ along)
        found.append(
            CoatInfluence(piece.name, piece.link, piece.mass, least, influence)
        )
    return tuple(found)


def piece_admittance(piece: Piece, omega: np.ndarray) -> np.ndarray:
    """Of a piece at what carries it: its mass behind the links that hold it."""
    across = piece.points().shape[1]
    held = [pair for pair in piece.pairs() if pair[0] < across <= pair[1]]
    link = of_link(len(held) * piece.stiffness, len(held) * piece.viscosity, omega)
    return in_a_row(link, of_mass(piece.mass, omega))


def refuse_two_way(influences: tuple[CoatInfluence, ...]) -> None:
    """Refuse to drive a coat one way where the body would feel it.

    Raises:
        CouplingError: the report of why.
    """
    heavy = [one for one in influences if not one.one_way]
    if heavy:
        reasons = "; ".join(one.report() for one in heavy)
        raise CouplingError(
            f"the coat cannot be a stage of its own: {reasons}. Use coupling: two_way"
        )


def point_jacobian(
    model: Any, q: np.ndarray, link: str, place: np.ndarray
) -> np.ndarray:
    """Of the velocity in the world of a point of a link (3, nv)."""
    data = model.data()
    pin.computeJointJacobians(model.pin, data, q)
    pin.updateFramePlacements(model.pin, data)
    frame = model.pin.getFrameId(link)
    full = pin.getFrameJacobian(
        model.pin, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    offset = data.oMf[frame].rotation @ place
    return np.asarray(full[:3] - pin.skew(offset) @ full[3:])
