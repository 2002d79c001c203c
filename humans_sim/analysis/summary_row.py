# SPDX-License-Identifier: Apache-2.0
"""A line of a summary for people."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A line of a summary for people: where it belongs, what, how much."""

    section: str
    name: str
    value: str
