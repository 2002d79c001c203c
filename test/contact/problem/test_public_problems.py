# SPDX-License-Identifier: Apache-2.0
"""Contact problems of other people, where their files are at hand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from contact_law import law_error

from humans_sim.contact.problem.contact_problem import solve_contact

BOARD = Path(__file__).resolve().parents[3] / "benchmarks" / "contact_problems.py"
MOST = 100_000
"""Size of the files that are read [bytes]; the board has them all."""


def test_public_problems(shared_data: Path) -> None:
    """Rovers, capsules, boxes and spheres of other simulators, each to 1e-8."""
    files = sorted((shared_data / "contact_problems").glob("*.npz"))
    files = [path for path in files if path.stat().st_size <= MOST]
    if not files:
        pytest.skip("the public contact problems of Siconos are not at hand")
    read = runpy.run_path(str(BOARD))["read"]
    sizes = []
    for path in files:
        name, w, b, tangents, friction = read(path)
        forces = solve_contact(w, b, tangents, friction).forces
        assert law_error(w, b, friction, forces) < 1e-8, name
        sizes.append(len(b))
    assert max(sizes) > 80
