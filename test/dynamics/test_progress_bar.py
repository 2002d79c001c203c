# SPDX-License-Identifier: Apache-2.0
"""How far a simulation is: told to a function, shown on the terminal, or not."""

from __future__ import annotations

import pytest

from humans_sim.dynamics.recording import progress_bar


def test_a_function_is_told_each_step() -> None:
    """The steps done, of all steps."""
    told: list[tuple[int, int]] = []
    with progress_bar(lambda done, steps: told.append((done, steps)), 3) as advance:
        for _ in range(3):
            advance()
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("shown", "steps", "seen"),
    [(True, 10, True), (None, 500, True), (None, 10, False), (False, 500, False)],
)
def test_a_bar_on_a_terminal(
    shown: bool | None,
    steps: int,
    seen: bool,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On standard error, where asked for; where nobody says, for long runs."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, to rich
    with progress_bar(shown, steps) as advance:
        advance()
    output = capfd.readouterr()
    assert ("simulating" in output.err) == seen and not output.out
