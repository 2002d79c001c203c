# SPDX-License-Identifier: Apache-2.0
"""Configurations without penetration."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.valley_kernels import ABSENT
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.system import TouchingBodies

_TOLERATED = 1e-6
"""Penetration that is corrected without a word [m, rad]; more is an error."""
_CORRECTED = 1e-13
_ITERATIONS = 8


def project_out_of_penetration(
    system: TouchingBodies,
    q: np.ndarray,
    closed: np.ndarray | None = None,
    deep: bool = False,
) -> np.ndarray:
    """The nearest configuration (in the mass metric) without penetration.

    Args:
        system: the system.
        q: configuration.
        closed: contacts whose gaps shall be zero; others shall not be negative.
        deep: accept any depth.

    Raises:
        ConfigurationError: something is deeper inside than rounding can explain.
    """
    for attempt in range(_ITERATIONS):
        gap = system.gaps(q)
        wrong = gap < 0.0
        if closed is not None:
            wrong[:] = False
            wrong[closed] = (np.abs(gap[closed]) > 0.0) & (gap[closed] < ABSENT)
        if attempt == 0 and not deep and gap.size and gap.min() < -_TOLERATED:
            worst = int(np.argmin(gap))
            table = system.contacts
            raise ConfigurationError(
                f"{table.names[worst]} is {-gap[worst]:.3g} {table.units[worst]} "
                "inside what it may only touch: raise the model or bend its joints"
            )
        if not wrong.any() or np.abs(gap[wrong]).max() <= _CORRECTED:
            return q
        which = np.flatnonzero(wrong)
        terms = system.terms(q, np.zeros(system.nv), which)
        normals = terms.jacobian[:, 0]
        mobility = np.linalg.solve(terms.mass, normals.T)
        impulses = np.linalg.lstsq(normals @ mobility, -terms.gap, rcond=1e-12)[0]
        chart = system.chart(q)
        q = chart.configuration(chart.rates(np.zeros(system.nv), mobility @ impulses))
    return q
