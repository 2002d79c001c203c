# SPDX-License-Identifier: Apache-2.0
"""Tables of reconstructions: what is odd in a file is printed."""

from __future__ import annotations

import io

from rich.console import Console

from humans_sim.applications.batch.trial import DONE, FAILED, Outcome
from humans_sim.cli.reconstruct import print_outcomes


def test_notes_are_printed() -> None:
    """Each note stands under the table, with its trial, as plain text."""
    frame = {"frame": 1, "time": 0.0, "rms": 0.01, "marker": "a", "largest": 0.02}
    summary = {
        **{"frames": 3, "rms": 0.01, "worst_marker": "a", "worst_marker_mean": None},
        **{"occluded": 0.0, "rejected": 0.0, "worst_frames": [frame | {"used": 4}]},
        **{"verdict": "doubtful", "reasons": ["the rms distance is 31 mm"]},
        "notes": ["POINT:Y_SCREEN: the file says that -z is up", "[red]\x1b[2J"],
    }
    console = Console(file=io.StringIO(), width=80)
    outcomes = [
        Outcome("walk1", "walk1.c3d", DONE, summary=summary),
        Outcome("walk2", "walk2.c3d", FAILED, "no markers"),
    ]
    print_outcomes(console, outcomes)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "walk1: POINT:Y_SCREEN: the file says that -z is up" in text
    assert "walk1: doubtful: the rms distance is 31 mm" in text and "??" in text
    assert "walk1: [red]" in text and "\x1b" not in text
