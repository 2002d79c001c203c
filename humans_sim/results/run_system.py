# SPDX-License-Identifier: Apache-2.0
"""What a run needs of the system that was simulated."""

from __future__ import annotations

from typing import Protocol

from humans_sim.results.contact_table import ContactTable


class RunSystem(Protocol):
    """A system whose samples make a run.

    Attributes:
        contacts: the contacts it may have.
        position_names: names of the entries of q.
        velocity_names: names of the entries of v.
    """

    contacts: ContactTable
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
