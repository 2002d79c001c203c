# SPDX-License-Identifier: Apache-2.0
"""Units that a recording has against what its file says."""

from __future__ import annotations

import math

from humans_sim.observation.screening.findings import Finding, Severity, Topic

_SMALLEST, _LARGEST = 0.45, 1.9
"""Sizes of people over that of the model; others are units."""
_ALIKE = 1.35
"""Largest factor that a unit leaves, once it is right."""
_OTHER, _NOBODY = 1.12, 1.25
"""Factors from which a recording may be, and is, of somebody else than the model."""
FACTORS = {
    1000.0: "m, not mm",
    100.0: "m, not cm",
    10.0: "cm, not mm",
    25.4: "inches, not mm",
    2.54: "inches, not cm",
    1e-3: "mm, not m",
    1e-2: "cm, not m",
    0.1: "mm, not cm",
    0.0254: "inches, not m",
    1 / 25.4: "mm, not inches",
    1 / 0.0254: "m, not inches",
}
"""Factors that a wrong unit takes, and what it is."""


def screen_scale(
    scale: float, given: bool, height: float | None
) -> tuple[float, list[Finding]]:
    """The factor that positions need, and why.

    Args:
        scale: size of the recording over that of the model; NaN: not known.
        given: whether the user gave the unit, which is then not changed.
        height: stature of the model; None: it has none [m].
    """
    if math.isnan(scale):
        return 1.0, []
    size = f"the recording is {scale:.3g} times as large as the person"
    if _SMALLEST < scale < _LARGEST:
        return 1.0, _another_person(size, scale, height)
    factor = min(FACTORS, key=lambda each: abs(math.log(each * scale)))
    others = sorted(abs(math.log(each * scale)) for each in FACTORS)
    clear = others[0] < math.log(_ALIKE) and others[1] > 2 * others[0]
    if given or not clear:
        hint = f": are positions in {FACTORS[factor]}?" if clear else ""
        return 1.0, [Finding(Topic.UNIT, size + hint, Severity.REFUSAL)]
    text = f"{size}: read as {FACTORS[factor]} (--units confirms it)"
    return factor, [Finding(Topic.UNIT, text, Severity.CORRECTED)]


def _another_person(size: str, scale: float, height: float | None) -> list[Finding]:
    if 1 / _OTHER < scale < _OTHER:
        return []
    stature = "" if height is None else f" {scale * height:.2f}"
    text = f"{size}: give --height{stature}, or calibrate"
    near = 1 / _NOBODY < scale < _NOBODY
    return [Finding(Topic.SIZE, text, Severity.DOUBT if near else Severity.REFUSAL)]
