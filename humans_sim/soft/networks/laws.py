# SPDX-License-Identifier: Apache-2.0
r"""Laws of links: what two masses do to each other along the line between them.

A law is a finite automaton (Habibi, thesis, Grenoble 1997, section 1.5.5). In state i
the force on the second mass, positive where it repels, is

.. math:: f = -k_i (d - d_i) - z_i \dot d

with the distance d. The printed law has :math:`|d - d_0|`, with which a stop would
attract; here it is signed. The laws of dry friction, plasticity and cohesion are named
in the thesis and not given: the first two are elastic up to a limit and then slide
(Jenkin's element), cohesion is the continuous law of its three states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from humans_sim.soft.errors import SoftError

Variable = Literal["distance", "force", "rate"]
VARIABLES: tuple[Variable, ...] = ("distance", "force", "rate")


@dataclass(frozen=True)
class Transition:
    """A state is left for another where a variable of the link passes a threshold.

    It is above or below the threshold: distance [m], force [N] or rate [m/s].
    """

    target: int
    variable: Variable
    above: bool
    threshold: float


@dataclass(frozen=True)
class LinkState:
    """One state of a link.

    Attributes:
        stiffness: k; negative where a displacement grows [N/m].
        viscosity: z [N s/m].
        rest: distance without elastic force [m].
        limit: elastic force beyond which the rest length follows [N].
        hardening: growth of the limit with the distance yielded [N/m].
        anchored: the rest length is the distance at which the state is entered.
        sign: 1 for forces that repel alone, -1 for those that attract, 0 for both.
        potential: elastic energy where d is the rest length [J].
        transitions: tried in their order.
    """

    stiffness: float = 0.0
    viscosity: float = 0.0
    rest: float = 0.0
    limit: float = math.inf
    hardening: float = 0.0
    anchored: bool = False
    sign: int = 0
    potential: float = 0.0
    transitions: tuple[Transition, ...] = ()


@dataclass(frozen=True)
class Automaton:
    """A conditional link of any states; links begin in the first."""

    states: tuple[LinkState, ...]

    def automaton(self) -> Automaton:
        """Itself."""
        return self


class LinkLaw(Protocol):
    """The law of a link."""

    def automaton(self) -> Automaton:
        """Its states and transitions."""
        ...


def check_automaton(automaton: Automaton) -> None:
    """Refuse automata with no states, targets that are none, or no numbers."""
    count = len(automaton.states)
    if not count:
        raise SoftError("a link has no states")
    for index, state in enumerate(automaton.states):
        where = f"state {index} of a link"
        numbers = (state.stiffness, state.viscosity, state.rest, state.hardening)
        if not all(map(math.isfinite, (*numbers, state.potential))):
            raise SoftError(f"{where}: its parameters must be finite")
        if state.viscosity < 0 or state.hardening < 0 or not state.limit > 0:
            raise SoftError(
                f"{where}: viscosity and hardening must be 0 or more, its limit above 0"
            )
        if state.limit < math.inf and not state.stiffness > 0:
            raise SoftError(f"{where}: a link that yields needs a stiffness above 0")
        for transition in state.transitions:
            if not 0 <= transition.target < count:
                raise SoftError(
                    f"{where}: leads to state {transition.target}, no state"
                )
            if transition.variable not in VARIABLES:
                raise SoftError(f"{where}: '{transition.variable}' is no variable")


def _positive(law: object, *names: str) -> None:
    for name in names:
        value = getattr(law, name)
        if not (math.isfinite(value) and value >= 0.0):
            kind = type(law).__name__
            raise SoftError(f"{kind}: {name} is {value:g}, must be 0 or more")


def _two_zones(
    inside: LinkState, outside: LinkState, reach: float
) -> tuple[LinkState, LinkState]:
    """States on both sides of a distance."""
    away = Transition(1, "distance", True, reach)
    near = Transition(0, "distance", False, reach)
    return replace(inside, transitions=(away,)), replace(outside, transitions=(near,))


@dataclass(frozen=True)
class ViscoSpring:
    """Spring [N/m] and damper [N s/m] side by side, of a rest length [m], (1.10).

    The force is that of (1.11).
    """

    stiffness: float = 0.0
    viscosity: float = 0.0
    rest: float = 0.0

    def automaton(self) -> Automaton:
        """One state."""
        _positive(self, "stiffness", "viscosity", "rest")
        return Automaton((LinkState(self.stiffness, self.viscosity, self.rest),))


@dataclass(frozen=True)
class Stop:
    """Elastic, viscous or visco-elastic stop, (1.13), (1.15): acts below a distance.

    With a reach [m], a stiffness [N/m] and a viscosity [N s/m]: it pulls where masses
    part fast, unless unilateral; the thesis' law has no such clamp.
    """

    reach: float
    stiffness: float = 0.0
    viscosity: float = 0.0
    unilateral: bool = False

    def automaton(self) -> Automaton:
        """In touch, and apart."""
        _positive(self, "reach", "stiffness", "viscosity")
        sign = 1 if self.unilateral else 0
        inside = LinkState(self.stiffness, self.viscosity, self.reach, sign=sign)
        return Automaton(_two_zones(inside, LinkState(), self.reach))


@dataclass(frozen=True)
class HollowStop:
    """Hollow stop, (1.14): a slack cable or ligament, taut above a distance [m].

    With a stiffness [N/m] and a viscosity [N s/m]; unilateral: it never pushes.
    """

    reach: float
    stiffness: float
    viscosity: float = 0.0
    unilateral: bool = False

    def automaton(self) -> Automaton:
        """Slack, and taut."""
        _positive(self, "reach", "stiffness", "viscosity")
        sign = -1 if self.unilateral else 0
        taut = LinkState(self.stiffness, self.viscosity, self.reach, sign=sign)
        return Automaton(_two_zones(LinkState(), taut, self.reach))


@dataclass(frozen=True)
class Cohesion:
    """Repels near, attracts farther off, is nothing beyond.

    The force is continuous: :math:`-k_2 (S_2 - d)` between the thresholds,
    :math:`k_3 (d_0 - d)` below, with :attr:`equilibrium` as :math:`d_0`.

    Attributes:
        inner: S1, below which the force grows towards repulsion [m].
        outer: S2, beyond which there is none [m].
        attraction: k2, a stiffness [N/m].
        repulsion: k3, a stiffness [N/m].
        viscosity: within the outer threshold [N s/m].
    """

    inner: float
    outer: float
    attraction: float
    repulsion: float
    viscosity: float = 0.0

    @property
    def equilibrium(self) -> float:
        """Distance without force [m]."""
        width = self.outer - self.inner
        return self.inner - self.attraction / self.repulsion * width

    def automaton(self) -> Automaton:
        """Near, between, beyond."""
        _positive(self, "inner", "attraction", "viscosity")
        if not (self.outer > self.inner and self.repulsion > 0):
            raise SoftError("Cohesion: needs inner < outer and a repulsion above 0")
        width, depth = self.outer - self.inner, self.inner - self.equilibrium
        floor = -0.5 * self.attraction * width**2 - 0.5 * self.repulsion * depth**2
        nearer = Transition(0, "distance", False, self.inner)
        farther = Transition(2, "distance", True, self.outer)
        between_again = (Transition(1, "distance", True, self.inner),)
        back = Transition(1, "distance", False, self.outer)
        near = LinkState(self.repulsion, self.viscosity, self.equilibrium)
        near = replace(near, potential=floor, transitions=between_again)
        between = LinkState(-self.attraction, self.viscosity, self.outer)
        between = replace(between, transitions=(nearer, farther))
        return Automaton((near, between, LinkState(transitions=(back,))))


@dataclass(frozen=True)
class DryFriction:
    """Coulomb friction along the line of two masses within a reach.

    It sticks like a spring at the distance where the masses came near, and slides with
    a constant force once the spring would exceed it.

    Attributes:
        limit: force of sliding [N].
        stiffness: of sticking; as large as the period allows [N/m].
        reach: distance below which there is friction [m].
        viscosity: while there is friction [N s/m].
    """

    limit: float
    stiffness: float
    reach: float = math.inf
    viscosity: float = 0.0

    def automaton(self) -> Automaton:
        """Apart, or in touch with an anchor."""
        _positive(self, "viscosity")
        away = Transition(0, "distance", True, self.reach)
        near = Transition(1, "distance", False, self.reach)
        touching = LinkState(self.stiffness, self.viscosity, limit=self.limit)
        touching = replace(touching, anchored=True, transitions=(away,))
        return Automaton((LinkState(transitions=(near,)), touching))


@dataclass(frozen=True)
class Plastic:
    """A spring that yields, hardens, and may tear.

    Attributes:
        stiffness: [N/m].
        limit: force at which it yields [N].
        rest: length without force at first [m].
        hardening: growth of the limit with the distance yielded [N/m].
        viscosity: [N s/m].
        tears_at: distance beyond which it is gone for good [m].
    """

    stiffness: float
    limit: float
    rest: float = 0.0
    hardening: float = 0.0
    viscosity: float = 0.0
    tears_at: float = math.inf

    def automaton(self) -> Automaton:
        """Whole, and torn."""
        _positive(self, "stiffness", "rest")
        torn = Transition(1, "distance", True, self.tears_at)
        whole = LinkState(
            self.stiffness, self.viscosity, self.rest, self.limit, self.hardening
        )
        if self.tears_at < math.inf:
            whole = replace(whole, transitions=(torn,))
        return Automaton((whole, LinkState()))
