"""A bad line: what arrives over a real pseudo-terminal, boards in another process."""

from __future__ import annotations

import numpy as np

from humans_sim.kondo.line_faults import LineFaults
from humans_sim.kondo.line_trial import try_line

SECONDS = 6.0


def test_a_bad_line_delivers() -> None:
    """50 Hz, 1 % lost and 1 % corrupted: set points arrive, servos are not led astray.

    benchmarks/kondo_line.py measures a minute of it on a quiet machine; here others
    may work at the same time.
    """
    trial = try_line(SECONDS, LineFaults(lost=0.01, corrupted=0.01, seed=4))
    assert trial.given == 50 * SECONDS
    assert trial.delivered <= trial.taken
    assert trial.taken > 0.85 * trial.given
    assert trial.repeated > 0.2 * trial.frames
    assert len(trial.latencies) == trial.delivered
    assert np.median(trial.latencies) < 0.02
    assert trial.wrong < 0.005 * trial.frames
    assert trial.deviation < 5.0
