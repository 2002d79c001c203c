# SPDX-License-Identifier: Apache-2.0
"""One colour a joint in all panels: left solid, right dashed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

LEFT_SIDE, RIGHT_SIDE, NO_SIDE = "l", "r", ""
PALETTE = (
    *(f"C{k}" for k in range(7)),
    *("C8", "C9", "#1b3a93", "#8c1d40", "#0b6e4f", "#b8860b", "#6a3d9a", "#555555"),
)
"""Colours of joints, in their order; grey is left to what has no name."""
DASHED: Any = (0, (4, 1.6))
"""Line style of what is on the right."""
_PLACES = (
    r"(?P<side>left|right|l|r)[_./ -](?P<rest>.+)",
    r"(?P<rest>.+)[_./ -](?P<side>left|right|l|r)",
    r"(?P<first>.+_)(?P<side>left|right|l|r)_(?P<rest>.+)",
)
_CAMEL = re.compile(r"(?P<side>Left|Right|L|R)(?P<rest>[A-Z].*)")
_SIDES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PLACES)


def part_and_side(name: str) -> tuple[str, str]:
    """A name without its side, and the side: ``l``, ``r`` or nothing.

    ``l_knee``, ``left_knee_joint``, ``knee_l`` and ``LKnee`` are on the left; where a
    name has two sides (``r_foot_toe_left``), the first counts.
    """
    for pattern in (_CAMEL, *_SIDES):
        match = pattern.fullmatch(name)
        if match:
            found = match.groupdict()
            part = f"{found.get('first') or ''}{found['rest']}"
            return part, found["side"][0].lower()
    return name, NO_SIDE


class CurveStyles:
    """Colours and dashes of curves by their names.

    Where no name has a side, every second curve is dashed: two may lie on each other.

    Args:
        names: of all curves that get a colour, whatever panel they are in.
    """

    def __init__(self, names: Iterable[str]) -> None:
        known = [part_and_side(name) for name in names]
        self._sided = any(side for _, side in known)
        parts = dict.fromkeys(part for part, _ in known)
        self._places = {part: k for k, part in enumerate(parts)}

    def colour(self, part: str) -> str:
        """Colour of a part of the body."""
        return PALETTE[self._places[part] % len(PALETTE)]

    def of(self, name: str) -> dict[str, Any]:
        """How a curve is drawn, as keywords of matplotlib."""
        part, side = part_and_side(name)
        dashed = side == RIGHT_SIDE if self._sided else self._places[part] % 2
        style = DASHED if dashed else "-"
        return {"color": self.colour(part), "linestyle": style}
