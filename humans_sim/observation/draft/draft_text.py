# SPDX-License-Identifier: Apache-2.0
"""A draft of a marker set as a file that people read and correct."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.core.errors import printable

if TYPE_CHECKING:  # a draft writes itself by this file
    from humans_sim.models.model import Model
    from humans_sim.observation.draft.draft_marker import DraftMarker
    from humans_sim.observation.draft.draft_set import MarkerSetDraft
    from humans_sim.observation.markers.marker_set import SetMarker

_LENGTHS = {
    "thigh": (None, "yfemur", None),
    "shank": (None, "ytibia", None),
    "foot": (None, "yfoot", None),
    "arm": (None, "yhumerus", None),
    "forearm": (None, "yforearm", None),
    "hand": (None, "yhand", None),
    "head": (None, "yhead", None),
}
"""Length that a coordinate on a segment grows with; None, or others: the stature."""
_SHOULDER = ("-xshoulder", "yshoulder", "zshoulder")
"""The joint of the arm on the shoulder blade, from which its markers are counted."""
_LONGEST_COMMENT = 160
_HEAD = """\
# A draft of a marker set, from a recording: correct it, then use it as any set
# (humans-sim calibrate --marker-set FILE). Each marker says why it is where it is:
# name, place on a standing person, rigidity (it moves with the others of the segment).
# Uncertain ones serve calibration only: delete 'calibration: true' where they are
# right. Lines that begin with '#-' were left out.
# HuMAnS axes in the segment's frame: x forward, y up, z right; lengths by their names,
# h is the stature, here {height:.3f} m. The markers lie {rms:.0f} mm from their places.
title: {title}
model: {model}
spread: 0.03                     # m, of a place that was estimated

markers:
"""


def draft_text(draft: MarkerSetDraft) -> str:
    """The YAML of a draft."""
    lines = [
        _HEAD.format(
            height=draft.model.height,
            rms=1e3 * draft.rms,
            title=_quoted(draft.title),
            model=draft.model.name,
        )
    ]
    used = [entry for entry in draft.markers if entry.marker is not None]
    order = list(dict.fromkeys(e.marker.segment for e in used if e.marker is not None))
    for segment in order:
        lines.append(f"  # {segment}\n")
        for entry in used:
            if entry.marker is not None and entry.marker.segment == segment:
                lines.append(_line(draft.model, entry, entry.marker))
    left = [entry for entry in draft.markers if entry.marker is None]
    if left:
        lines.append("  # Left out\n")
    for entry in left:
        lines.append(f"  #- {{name: {_quoted(entry.name)}}}  # {_comment(entry)}\n")
    return "".join(lines)


def _line(model: Model, entry: DraftMarker, marker: SetMarker) -> str:
    fields = [
        f"name: {_quoted(marker.name)}",
        f"segment: {marker.segment}",
        f"at: [{', '.join(_expressions(model, marker))}]",
    ]
    spread = marker.spread
    if np.ptp(spread) > 0:
        fields.append(f"spread: [{', '.join(f'{x:g}' for x in spread)}]")
    elif spread[0] != 0.03:
        fields.append(f"spread: {spread[0]:g}")
    if marker.weight != 1.0:
        fields.append(f"weight: {marker.weight:g}")
    if marker.calibration:
        fields.append("calibration: true")
    return f"  - {{{', '.join(fields)}}}  # {_comment(entry)}\n"


def _comment(entry: DraftMarker) -> str:
    text = printable(f"{entry.certainty.value}; {entry.comment}")
    return text[:_LONGEST_COMMENT]


def _expressions(model: Model, marker: SetMarker) -> list[str]:
    """A place as shares of lengths, so that it grows with the person."""
    side = marker.segment[:2] if marker.segment[:2] in ("r_", "l_") else ""
    part = marker.segment.removeprefix(side)
    words = []
    if part == "scapula":
        signs = (1.0, 1.0, 1.0 if side == "r_" else -1.0)
        for value, name, sign in zip(marker.at, _SHOULDER, signs, strict=True):
            own = -1.0 if name[0] == "-" else 1.0
            length = own * sign * model.lengths[side + name.lstrip("-")]
            start = f"{'-' if own * sign < 0 else ''}{name.lstrip('-')}"
            share = round((float(value) - length) / model.height, 4)
            words.append(f"{start} {'-' if share < 0 else '+'} {abs(share):g}*h")
        return words
    for value, length_name in zip(
        marker.at, _LENGTHS.get(part, (None, None, None)), strict=True
    ):
        name, size = "h", model.height
        if length_name is not None:
            name, size = length_name, model.lengths[side + length_name]
        share = round(float(value) / size, 4)
        words.append("0" if share == 0 else f"{share:g}*{name}")
    return words


def _quoted(text: str) -> str:
    """A label as YAML takes it, whatever it holds."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9._]*", text) and text.lower() not in (
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf",
    ):  # fmt: skip
        return text
    return json.dumps(text)
