# SPDX-License-Identifier: Apache-2.0
"""Rows of contacts: those of a foot or a body together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from humans_sim.results.records import IMPACT, ContactTable, Event
from humans_sim.view.plots.run_plots import contact_rows, draw_contacts

NAMES = ("r_heel", "l_heel", "trunk.0", "r_toe", "l_toe", "trunk.1", "l_knee/lower")
KINDS = ("point",) * 6 + ("limit",)


def run_of(contacts: np.ndarray) -> Any:
    """What is needed of a run: modes over time."""
    tangents = [2] * 6 + [0]
    table = ContactTable.of(NAMES, KINDS, tangents, 0.5, 0.0)
    return SimpleNamespace(t=np.arange(len(contacts), dtype=float), contacts=contacts,
                           table=table, events=[])  # fmt: skip


def test_groups() -> None:
    """Right foot, left foot, trunk in one row, limits; a gap between two groups."""
    rows = contact_rows(run_of(np.ones((3, 7), dtype=int)), [])
    names = [row.name for row in rows]
    assert names == ["r_heel", "r_toe", "l_heel", "l_toe", "trunk: 2 points",
                     "l_knee/lower"]  # fmt: skip
    groups = [row.group for row in rows]
    assert len(set(groups)) == 4
    steps = np.diff([row.place for row in rows])
    changes = [a != b for a, b in zip(groups, groups[1:], strict=False)]
    assert steps.tolist() == [1.5 if change else 1.0 for change in changes]


def test_contacts_that_are_only_hit() -> None:
    """An impact gives a contact its row, and its line."""
    run = run_of(np.zeros((3, 7), dtype=int))
    impacts = [Event(1.0, IMPACT, "l_toe,trunk.1")]
    rows = contact_rows(run, impacts)
    assert [row.name for row in rows] == ["l_toe", "trunk"]
    panel = Figure().subplots()
    draw_contacts(panel, run, rows, impacts)
    marks = [c.get_segments()[0] for c in panel.collections if len(c.get_segments())]
    assert [(mark[0][0], mark.mean(axis=0)[1]) for mark in marks] == [
        (1.0, row.place) for row in rows
    ]


def test_points_of_a_body_share_a_row() -> None:
    """It slides where one of them slides, and sticks where one does and none slides."""
    contacts = np.zeros((5, 7), dtype=int)
    contacts[:, 2], contacts[:, 5] = [0, 1, 1, 0, 0], [0, 0, 2, 2, 0]
    run = run_of(contacts)
    panel = Figure().subplots()
    draw_contacts(panel, run, contact_rows(run, []), [])
    spans = {
        entry.get_text(): [
            (path.get_extents().x0, path.get_extents().x1)
            for path in collection.get_paths()
        ]
        for entry, collection in zip(
            panel.get_legend().get_texts(),
            [c for c in panel.collections if len(c.get_facecolor())],
            strict=True,
        )
    }
    assert spans == {"sticking": [(1.0, 2.0)], "sliding": [(2.0, 4.0)]}
