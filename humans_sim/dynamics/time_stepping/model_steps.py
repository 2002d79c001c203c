# SPDX-License-Identifier: Apache-2.0
"""Time steps of models in compiled calls: one, or all up to the next command."""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.dynamics.drive_kernels import DriveTable
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    StepGeometry,
    model_energies,
    model_step,
)
from humans_sim.dynamics.time_stepping.step_series_kernels import model_series
from humans_sim.dynamics.tree_kernels import TreeTable
from humans_sim.results.contact_table import LINK


class ModelSteps:
    """Makes the steps of a model.

    Args:
        system: the model in its scene.
        tree: its links.
    """

    def __init__(self, system: ModelSystem, tree: TreeTable) -> None:
        """Put the arrays together that the kernels read and write."""
        table = system.contacts
        moving, _, _, joints = system.contact_arrays
        self._system, self._has_links = system, LINK in table.kinds
        self._far = system.own_links.far_arrays
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._tree = tuple(tree)
        self._geometry = tuple(
            StepGeometry(
                moving=moving,
                links=np.array(joints, dtype=np.int64) - 1,
                restitution=table.restitution,
                tangents=table.tangents,
                friction=table.friction,
            )
        )

    @classmethod
    def of(cls, system: System) -> ModelSteps | None:
        """For a model whose joints have one axis each; None for other systems."""
        if not isinstance(system, ModelSystem):
            return None
        tree = system.tree
        return None if tree is None else cls(system, tree)

    def serves(self, q: np.ndarray, v: np.ndarray, h: float) -> bool:
        """Whether a step has only contacts that the kernel knows: no links touch."""
        return not self._has_links or self._system.are_links_apart(q, v, 0.5 * h)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic, potential = model_energies(self._tree, q, v)
        return float(kinetic), float(potential)

    def step(
        self,
        start: tuple[np.ndarray, ...],
        applied: np.ndarray,
        h: float,
        energies: tuple[float, float, float],
    ) -> tuple[Any, ...]:
        """What :func:`model_step` returns; its arguments, as plain tuples."""
        result: tuple[Any, ...] = model_step(
            self._tree, self._geometry, start, applied, h, energies
        )
        return result

    def series(
        self, drives: DriveTable, start: tuple[Any, ...], clock: tuple[float, ...]
    ) -> tuple[Any, ...]:
        """What :func:`model_series` returns; its arguments, as plain tuples."""
        result: tuple[Any, ...] = model_series(
            self._tree, self._geometry, self._far, tuple(drives), start, clock
        )
        if result[1] and self._has_links:
            self._system.own_links.note_far()
        return result
