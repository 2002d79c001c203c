# SPDX-License-Identifier: Apache-2.0
"""A model whose right-hand side and gaps are one compiled call each."""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.dynamics.chart import FreeBaseChart
from humans_sim.dynamics.event_driven.model_rates_kernels import (
    RatesModel,
    model_gap_rates,
    model_gaps,
    model_terms,
    smooth_rates,
)
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System, Terms
from humans_sim.dynamics.tree_kernels import TreeTable


class CompiledModel:
    """What the kernels know of a model in its scene.

    Args:
        system: the model in its scene.
        tree: its links.

    Attributes:
        arrays: fields of a :class:`RatesModel`, as a plain tuple.
        nv: number of velocities.
        contacts: the contacts that it may have.
    """

    def __init__(self, system: ModelSystem, tree: TreeTable) -> None:
        """Put the arrays together that the kernels read and write."""
        moving, poses, motions, joints = system.contact_arrays
        self._model, self.nv, self.contacts = system.model, system.nv, system.contacts
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self.arrays = tuple(
            RatesModel(
                tree=tuple(tree),
                moving=moving,
                poses=poses,
                motions=motions,
                links=np.array(joints, dtype=np.int64) - 1,
                damping=np.array(system.dissipation.damping, dtype=float),
            )
        )

    @classmethod
    def of(cls, system: System) -> CompiledModel | None:
        """For a model whose joints have one axis each; None for other systems."""
        if not isinstance(system, ModelSystem):
            return None
        tree = system.tree
        return None if tree is None else cls(system, tree)

    def rates(
        self,
        closed: tuple[Any, ...],
        centre: np.ndarray,
        y: np.ndarray,
        applied: np.ndarray,
    ) -> tuple[Any, ...]:
        """What :func:`smooth_rates` returns; its arguments, as plain tuples.

        Raises:
            ConfigurationError: the posture is beyond the reach of the model's drives.
        """
        result: tuple[Any, ...] = smooth_rates(self.arrays, closed, centre, y, applied)
        self._model.check_reach(result[4] != -1.0)
        return result

    def chart(self, q: np.ndarray) -> FreeBaseChart:
        """Coordinates around a configuration."""
        return FreeBaseChart(q)

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        fields, reach = model_terms(self.arrays, q, v, which)
        self._model.check_reach(reach)
        return Terms(*fields)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        gaps: np.ndarray = model_gaps(self.arrays, q)
        return gaps

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates [m, m/s; rad, rad/s]."""
        rates: tuple[np.ndarray, np.ndarray] = model_gap_rates(self.arrays, q, v)
        return rates
