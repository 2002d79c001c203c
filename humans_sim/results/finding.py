# SPDX-License-Identifier: Apache-2.0
"""One thing that the check of a run looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what.
        value: the worst that was found.
        limit: what it may be.
        unit: of both.
        where: time and contact of the worst.
        ok: whether it holds; None where there was nothing to look at.
    """

    name: str
    value: float
    limit: float
    unit: str
    where: str
    ok: bool | None

    @property
    def word(self) -> str:
        """``ok``, ``no`` or ``n/a``."""
        return "n/a" if self.ok is None else "ok" if self.ok else "no"

    @property
    def value_text(self) -> str:
        """The worst as a person reads it; empty where there was nothing to look at."""
        if self.ok is None:
            return ""
        plain = self.value == 0.0 or 0.1 <= abs(self.value) < 1e4
        return f"{self.value + 0.0:.3g}" if plain else f"{self.value:.2e}"

    @property
    def limit_text(self) -> str:
        """What it may be, as a person reads it."""
        return f"{self.limit + 0.0:.3g}"
