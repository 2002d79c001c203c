# SPDX-License-Identifier: Apache-2.0
"""Functions of layers above that records offer as methods, loaded when called.

A record (a run, a reconstruction) knows nothing of plots, pages and reports: it asks
for them by name, here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

REGISTRY = {
    "run_text": "humans_sim.analysis.summary",
    "plot_run": "humans_sim.view.plots.run_plots",
    "run_topics": "humans_sim.view.run_topics",
    "posture_topics": "humans_sim.view.run_topics",
    "animate": "humans_sim.view.film.animation",
    "write_posture_report": "humans_sim.view.reports.posture_report",
}
"""The module of each function."""


def registered(name: str) -> Callable[..., Any]:
    """A function of :data:`REGISTRY`; its module is imported now."""
    function: Callable[..., Any] = getattr(import_module(REGISTRY[name]), name)
    return function
