# SPDX-License-Identifier: Apache-2.0
"""Analogue channels of a C3D file, in their units."""

from __future__ import annotations

import numpy as np

from humans_sim.observation.markers.analog import AnalogChannels
from humans_sim.observation.markers.assemble import numbered_names
from humans_sim.observation.markers.c3d_layout import C3dLayout
from humans_sim.observation.markers.c3d_parameters import C3dHead

_FAR_OFFSET = -(1 << 14)
"""No board with signs is set off so far."""


def read_analog(
    head: C3dHead, layout: C3dLayout, data: bytes, rate: float
) -> AnalogChannels | None:
    """All channels, scaled: (number - OFFSET) x SCALE x GEN_SCALE.

    Args:
        head: header and parameters.
        layout: where the numbers lie.
        data: the file.
        rate: of the frames [Hz].

    Returns:
        The channels, or None where there are none.
    """
    channels, each = layout.channels, layout.subframes
    if channels == 0 or each == 0:
        return None
    form = head.text("ANALOG:FORMAT").upper()
    offsets = _filled(head, "ANALOG:OFFSET", channels, 0.0)
    size, width = layout.size, layout.width
    stored = np.frombuffer(data, np.uint8, layout.bytes, layout.begin)
    stored = stored.reshape(layout.count, width * size)[:, 4 * layout.points * size :]
    raw = stored.tobytes()
    with np.errstate(all="ignore"):  # damaged reals; they are looked at below
        if size == 4:
            values = head.reals(raw)
            # Reals of a board without signs are never negative; its offsets seem so.
            guess = not form and offsets.min() <= _FAR_OFFSET and values.min() >= 0
            unsigned = form == "UNSIGNED" or guess
        else:
            unsigned = form == "UNSIGNED"
            values = _signless(head.integers(raw), unsigned).astype(float)
        values = values.reshape(layout.count * each, channels)
        general = head.number("ANALOG:GEN_SCALE")
        values -= _signless(offsets, unsigned)
        values *= _filled(head, "ANALOG:SCALE", channels, 1.0)
        values *= 1.0 if general is None else general
    bad = ~np.isfinite(values)
    if bad.any():
        values[bad] = np.nan
        head.note(f"{bad.sum()} analogue values are no numbers", "ANALOG")
    labels = head.texts("ANALOG:LABELS")[:channels]
    labels += [""] * (channels - len(labels))
    units = head.texts("ANALOG:UNITS")[:channels]
    _compare_rate(head, rate * each)
    return AnalogChannels(
        numbered_names(
            labels, "channel", lambda text: head.note(text, "ANALOG:LABELS")
        ),
        tuple(units + [""] * (channels - len(units))),
        rate * each,
        values,
    )


def _signless(numbers: np.ndarray, unsigned: bool) -> np.ndarray:
    """16-bit numbers without a sign, where the file says that they have none."""
    return np.where(numbers < 0, numbers + 65536, numbers) if unsigned else numbers


def _filled(head: C3dHead, name: str, count: int, usual: float) -> np.ndarray:
    """A number for each channel; the usual one where the file has none."""
    numbers = head.all_numbers(name)[:count]
    if len(numbers) < count:
        head.note(f"{len(numbers)} numbers for {count} channels", name)
    return np.concatenate([numbers, np.full(count - len(numbers), usual)])


def _compare_rate(head: C3dHead, rate: float) -> None:
    said = head.number("ANALOG:RATE")
    if said and abs(said - rate) > 1e-3 * rate:
        head.note(f"{said:g} Hz, but the samples come at {rate:g} Hz", "ANALOG:RATE")
