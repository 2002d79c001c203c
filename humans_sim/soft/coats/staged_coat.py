# SPDX-License-Identifier: Apache-2.0
"""A coat as a stage after the body: driven by the recorded motion of a run.

Between two samples of the run, what the coat hangs on moves along cubic polynomials
through its places and velocities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicHermiteSpline

from humans_sim.core.budget import SAMPLES
from humans_sim.results.run import Run
from humans_sim.soft.coats.coat import Coat
from humans_sim.soft.coats.coat_influence import coat_influences, refuse_two_way
from humans_sim.soft.errors import SoftError

_STEP = 1e-6
"""Time of a difference that gives velocities [s]."""


def refuse_heavy(system: Any, q: np.ndarray, coat: Coat) -> None:
    """Refuse a coat that cannot come after the body, before anything is simulated.

    Raises:
        CouplingError: the report of why.
    """
    refuse_two_way(coat_influences(system, q, coat))


def with_coat(run: Run, system: Any, coat: Coat) -> Run:
    """A run whose body wears a coat that it does not feel.

    Args:
        run: of the body alone.
        system: the biped, with its locks.
        coat: one way.

    Raises:
        CouplingError: the body would feel it.
    """
    reaction = coat.reaction(system)
    reaction.put_on(run.q[0])
    reaction.keep(float(run.t[0]))
    track = _track(run, reaction)
    samples = np.floor((run.t[-1] - run.t[0]) / coat.period + 1e-9)
    steps = SAMPLES.check(coat.name, samples, error=SoftError)
    times = run.t[0] + coat.period * np.arange(1, steps + 1)
    due = 1
    for t, places in zip(times, track(times), strict=True):
        reaction.follow(places)
        if due < len(run) and t >= run.t[due] - 0.5 * coat.period:
            reaction.keep(float(run.t[due]))
            due += 1
    return replace(run, info={**run.info, coat.record_key: coat.record()})


def _track(run: Run, reaction: Any) -> CubicHermiteSpline:
    """Places of what is driven over the time of a run."""
    tree = reaction.system.model.pin
    places, rates = [], []
    for q, v in zip(run.q, run.v, strict=True):
        here = reaction.places(q)
        ahead = reaction.places(pin.integrate(tree, q, _STEP * v))
        places.append(here)
        rates.append((ahead - here) / _STEP)
    return CubicHermiteSpline(run.t, np.array(places), np.array(rates))
