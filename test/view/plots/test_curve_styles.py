# SPDX-License-Identifier: Apache-2.0
"""Names, sides, colours and dashes of curves."""

from __future__ import annotations

import pytest

from humans_sim.view.plots.figure_panels import (
    DASHED,
    PALETTE,
    CurveStyles,
    part_and_side,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("l_knee", ("knee", "l")),
        ("right_hip_pitch_joint", ("hip_pitch_joint", "r")),
        ("ankle_l", ("ankle", "l")),
        ("suspension_rear_right", ("suspension_rear", "r")),
        ("RHipYaw", ("HipYaw", "r")),
        ("LeftKnee", ("Knee", "l")),
        ("r_foot_toe_left", ("foot_toe_left", "r")),
        ("leg_right_1_joint", ("leg_1_joint", "r")),
        ("thorax_pitch", ("thorax_pitch", "")),
        ("lumbar_roll", ("lumbar_roll", "")),
        ("Roll", ("Roll", "")),
        ("l_", ("l_", "")),
    ],
)
def test_sides(name: str, expected: tuple[str, str]) -> None:
    """A side at the beginning, at the end or between; words that look like one."""
    assert part_and_side(name) == expected


def test_twins_share_a_colour() -> None:
    """Left solid, right dashed, the middle solid; others have other colours."""
    styles = CurveStyles(["l_hip", "l_knee", "trunk", "r_hip", "r_knee"])
    assert styles.of("l_knee") == {"color": PALETTE[1], "linestyle": "-"}
    assert styles.of("r_knee") == {"color": PALETTE[1], "linestyle": DASHED}
    assert styles.of("trunk") == {"color": PALETTE[2], "linestyle": "-"}


def test_curves_without_sides() -> None:
    """They may lie on each other: every second one is dashed."""
    styles = CurveStyles(["kinetic", "potential", "x"])
    dashes = [styles.of(name)["linestyle"] for name in ("kinetic", "potential", "x")]
    assert dashes == ["-", DASHED, "-"]


def test_more_curves_than_colours() -> None:
    """The palette begins again."""
    names = [f"joint{k}" for k in range(len(PALETTE) + 1)]
    assert CurveStyles(names).of(names[-1])["color"] == PALETTE[0]
    assert len(set(PALETTE)) == len(PALETTE)
