# SPDX-License-Identifier: Apache-2.0
"""No node ends by what others send."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.ros
@pytest.mark.study
def test_hostile_messages_end_no_node(start: Callable[..., Any]) -> None:
    """Topics, services and actions of the bridge to emulated boards, and its page."""
    process = start(
        str(ROOT / "benchmarks" / "fuzz_graphs.py"), "kondo", "--count", "10"
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert "0 faults, 0 topics without a count" in output
