# SPDX-License-Identifier: Apache-2.0
"""A model may be used from several threads at once: each has its own buffers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import humans_sim as hs


def test_threads_do_not_disturb_each_other(
    human: hs.Model, rng: np.random.Generator
) -> None:
    """Results from eight threads equal those of one."""
    qs = [human.random_configuration(rng) for _ in range(200)]

    def terms(q: np.ndarray) -> np.ndarray:
        jacobian = human.contact_jacobian(q).ravel()
        return np.concatenate([human.inertia(q).ravel(), jacobian])

    expected = [terms(q) for q in qs]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(terms, qs))
    np.testing.assert_array_equal(results, expected)
