# SPDX-License-Identifier: Apache-2.0
"""What can be the reference of an observer: soles on the ground, and a suspension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pinocchio as pin

from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.link_coordinates import SUSPENSION_PREFIX

THRESHOLDS = {"bip": 40.0}
"""Force above which a foot of a model is on the ground [N] (manual, section 7.1)."""
THRESHOLD_FRACTION = 0.3
"""The same for other models, as a share of the weight (assumed)."""
RELEASE = 0.8
"""Share of the threshold below which a foot is off the ground again (assumed)."""
FIRST_SOLE = "r_sole"
"""Sole that is asked first (manual, section 7.1; the name is REP-120's)."""

SUSPENSION = "suspension"
DEAD_RECKONING = "dead_reckoning"
"""References that are no sole."""


@dataclass
class Body:
    """A sole, or the link that hangs: something that can be the reference."""

    name: str
    frame: int
    in_base: pin.SE3
    force: float = 0.0
    loaded: bool = False
    on_ground: bool = False
    calls: int = 0
    reference: pin.SE3 | None = None

    def load(self, force: float, threshold: float, release: float) -> None:
        """Take the force of a new call."""
        before, self.loaded, self.force = self.loaded, force > threshold, force
        held = self.on_ground and force > release * threshold
        self.on_ground = held or (before and self.loaded)
        if not self.on_ground:
            self.reference, self.calls = None, 0


def default_threshold(model: Model) -> float:
    """Force above which a foot of a model is on the ground [N]."""
    share = THRESHOLD_FRACTION * model.mass * GRAVITY
    return THRESHOLDS.get(model.name, share)


def ordered_soles(model: Model, order: Sequence[str] | None) -> tuple[str, ...]:
    """The soles of a model in the order of trust."""
    names = tuple(sole.name for sole in model.soles)
    if order is None:
        return tuple(sorted(names, key=lambda name: name != FIRST_SOLE))
    if sorted(order) != sorted(names):
        raise ParameterError(
            f"order names each sole of {model.name} once: {', '.join(names)}; "
            f"not {list(order)}"
        )
    return tuple(order)


def suspension_link(model: Model, tags: Sequence[str] | None) -> str | None:
    """The one link that carries the tags a model hangs by."""
    links = {tag.name: tag.link for tag in model.parts.tags}
    if tags is None:
        tags = [name for name in links if name.startswith(SUSPENSION_PREFIX)]
    for name in tags:
        if name not in links:
            raise ParameterError(f"{model.name} has no tag called '{name}'")
    names = sorted({links[name] for name in tags})
    if len(names) > 1:
        raise ParameterError(
            f"tags of a suspension are on one link, not on {' and '.join(names)}"
        )
    return names[0] if names else None
