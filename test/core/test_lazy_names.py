# SPDX-License-Identifier: Apache-2.0
"""Functions that records offer as methods are where the registry says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from humans_sim.core.lazy_names import REGISTRY, registered


@pytest.mark.parametrize("name", REGISTRY)
def test_each_function_is_in_its_module(name: str) -> None:
    """It is defined there, not passed on."""
    function = registered(name)
    assert (function.__name__, function.__module__) == (name, REGISTRY[name])


def test_records_load_no_plots() -> None:
    """A run is loaded without what draws and describes it."""
    code = "import sys, humans_sim.results.run; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    loaded = set(result.stdout.decode().split())
    assert "humans_sim.core.lazy_names" in loaded
    assert not loaded & {"matplotlib", *REGISTRY.values()}
