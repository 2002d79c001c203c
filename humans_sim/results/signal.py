# SPDX-License-Identifier: Apache-2.0
"""Named numbers that a run keeps beside its state: of sensors, actuation, observer."""

from __future__ import annotations

from typing import NamedTuple


class Signal(NamedTuple):
    """One number over time.

    Attributes:
        name: e.g. ``imu/specific_force_x``.
        unit: of its values; ``1`` where it has none.
    """

    name: str
    unit: str
